"""Collectives over sockets beside gloo's and Open MPI's, in memory and over its own sockets, by turns of one run.

    sockets.py [-n RANKS] [--turns TURNS]

Ratios are of medians, and of the processor time of all ranks together; gloo is measured where torch is installed, Open MPI where
mpi4py is. The slowest rank counts. ``survive`` is 1 on the side of treecast; Open MPI survives nothing.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np

SIZES = {8: "8 B", 1 << 16: "64 KiB", 1 << 20: "1 MiB", 1 << 24: "16 MiB"}
REPEATS = {8: 200, 1 << 16: 60, 1 << 20: 20, 1 << 24: 6}
SIDES = {
    "sockets": [],
    "gloo": [],
    "Open MPI, memory": [],
    "Open MPI, tcp": ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1"],
}


def gloo():
    """Return torch.distributed's collectives over gloo, on arrays, under mpi4py's names."""
    import torch
    import torch.distributed as over

    size = int(os.environ["TREECAST_SIZE"])
    torch.set_num_threads(1)
    over.init_process_group("gloo", rank=int(os.environ["TREECAST_RANK"]), world_size=size)

    def add(mine, out):
        out[:] = mine
        over.all_reduce(torch.from_numpy(out))

    def gather(what):
        found = [None] * size
        over.all_gather_object(found, what)
        return found

    return SimpleNamespace(
        rank=over.get_rank(),
        size=size,
        Barrier=over.barrier,
        Bcast=lambda data, root: over.broadcast(torch.from_numpy(data), root),
        Allgather=lambda mine, out: over.all_gather(list(torch.from_numpy(out)), torch.from_numpy(mine)),
        Allreduce=add,
        allgather=gather,
    )


def measure(comm):
    """Return the median seconds of each call and size, of the slowest rank, and the processor seconds of a call, of all."""
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
            times, used = [], time.process_time()
            for _ in range(REPEATS[size]):
                comm.Barrier()
                began = time.perf_counter()
                call()
                times.append(time.perf_counter() - began)
            used = (time.process_time() - used) / REPEATS[size]
            found[f"{name} {size}"] = max(comm.allgather(statistics.median(times))), sum(comm.allgather(used))
    return found


def be_rank(side):
    """Measure as a rank of a side; rank 0 prints what all found."""
    if side == "sockets":
        import treecast

        comm = treecast.connect(survive=1)
    elif side == "gloo":
        comm = gloo()
    else:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    found = measure(comm)
    if comm.rank == 0:
        print(json.dumps(found))
    if side == "gloo":
        comm.Barrier()


def run(side, ranks):
    """Return what the ranks of a side found."""
    own = [sys.executable, __file__, "--side", side]
    meeting = {}
    if side in ("sockets", "gloo"):
        with socket.create_server(("127.0.0.1", 0)) as free:
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", str(ranks), "--", *own]
    else:
        from treecast.mpi.job.launch import find_mpirun

        line = [find_mpirun(), "--oversubscribe", *SIDES[side], "-n", str(ranks), *own]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run(line, env={**os.environ, **root, **meeting}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main(arguments=None):
    """Run the sides that there are by turns, and print medians and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side")
    given = parser.parse_args(arguments)
    if given.side:
        return be_rank(given.side)
    needs = {"sockets": "treecast", "gloo": "torch"}
    sides = [side for side in SIDES if find_spec(needs.get(side, "mpi4py")) is not None]
    turns = {side: [] for side in sides}
    for _ in range(given.turns):
        for side, found in turns.items():
            found.append(run(side, given.n))
    medians = {
        side: {key: [statistics.median(t[key][k] for t in found) for k in (0, 1)] for key in found[0]}
        for side, found in turns.items()
    }
    print(f"{given.n} ranks; ms of sockets; ratios of others to it: time / processor time")
    print(" " * 20 + f"{'sockets':>12}" + "".join(f"{side:>20}" for side in sides[1:]))
    for name in ("Bcast", "Allgather", "Allreduce"):
        for size, words in SIZES.items():
            own, *others = (medians[side][f"{name} {size}"] for side in sides)
            ratios = (f"{one[0] / own[0]:.2f} / {one[1] / own[1]:.2f}" for one in others)
            print(f"{name:10}{words:>10}{own[0] * 1e3:12.2f}" + "".join(f"{ratio:>20}" for ratio in ratios))
    return None


if __name__ == "__main__":
    main()
