"""Collectives over sockets beside Open MPI's, in memory and over its own sockets, by turns of one run: ratios of medians.

    sockets.py [-n RANKS] [--turns TURNS]

The slowest rank counts. ``survive`` is 1 on the side of treecast; Open MPI survives nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

SIZES = {8: "8 B", 1 << 16: "64 KiB", 1 << 20: "1 MiB", 1 << 24: "16 MiB"}
REPEATS = {8: 200, 1 << 16: 60, 1 << 20: 20, 1 << 24: 6}
SIDES = {"sockets": [], "Open MPI, memory": [], "Open MPI, tcp": ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]}


def measure(comm):
    """Return the median seconds of each call and size, of the slowest rank."""
    found = {}
    for size in SIZES:
        count = size // 8
        whole, total, block = np.ones(count), np.zeros(count), np.ones(max(1, count // comm.size))
        blocks = np.zeros((comm.size, len(block)))
        calls = {
            "Bcast": lambda whole=whole: comm.Bcast(whole, 0),
            "Allgather": lambda block=block, blocks=blocks: comm.Allgather(block, blocks),
            "Allreduce": lambda whole=whole, total=total: comm.Allreduce(whole, total),
        }
        for name, call in calls.items():
            call()
            times = []
            for _ in range(REPEATS[size]):
                comm.Barrier()
                began = time.perf_counter()
                call()
                times.append(time.perf_counter() - began)
            found[f"{name} {size}"] = max(comm.allgather(statistics.median(times)))
    return found


def be_rank(side):
    """Measure as a rank of a side; rank 0 prints what all found."""
    if side == "sockets":
        import treecast

        comm = treecast.connect(survive=1)
    else:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    found = measure(comm)
    if comm.rank == 0:
        print(json.dumps(found))


def run(side, ranks):
    """Return what the ranks of a side found."""
    own = [sys.executable, __file__, "--side", side]
    if side == "sockets":
        line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", str(ranks), "--", *own]
    else:
        from treecast.mpi.job.launch import find_mpirun

        line = [find_mpirun(), "--oversubscribe", *SIDES[side], "-n", str(ranks), *own]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run(line, env={**os.environ, **root}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main():
    """Run the sides by turns, and print medians and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side")
    given = parser.parse_args()
    if given.side:
        return be_rank(given.side)
    turns = {side: [] for side in SIDES}
    for _ in range(given.turns):
        for side, found in turns.items():
            found.append(run(side, given.n))
    medians = {
        side: {key: statistics.median(t[key] for t in found) for key in found[0]} for side, found in turns.items()
    }
    print(f"{given.n} ranks; ms, and ratios of Open MPI's time to it")
    print(f"{'':20}{'sockets':>12}{'memory':>12}{'its tcp':>12}")
    for name in ("Bcast", "Allgather", "Allreduce"):
        for size, words in SIZES.items():
            own, memory, tcp = (medians[side][f"{name} {size}"] for side in SIDES)
            print(f"{name:10}{words:>10}{own * 1e3:12.2f}{memory / own:12.2f}{tcp / own:12.2f}")
    return None


if __name__ == "__main__":
    main()
