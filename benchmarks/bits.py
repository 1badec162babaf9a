"""How many bit patterns a sum has by message size and offset, and what it costs to have one: treecast, gloo and Open MPI.

    bits.py [-n RANKS] [--sizes BYTES …]
    treecast lab run ring:8 --rate 50Mbit/s -- python bits.py --side lab --sizes 2000000

64 numbers of widths far apart stand at three offsets in messages of five sizes; the rest is 1. The first table says how many
patterns of bits their sums have in 15 calls, and in how many they are added in the order of ranks, or are the true sum, rounded
once. The second has medians of whole calls, of the slowest rank, by turns in one run for the lines of a block. gloo is measured
where torch is installed, Open MPI where mpi4py is. On the hosts of a lab times alone are measured, and printed as JSON.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
from sockets import gloo

SIZES = (200, 1_000, 20_000, 300_000, 3_000_000)
BYTES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)
TURNS = {1 << 10: 60, 1 << 16: 40, 1 << 20: 15, 1 << 24: 6}
SUMS = ("any", "by-rank", "exact")
LIMIT = "… that moves alone"  # no sum that is folded by ranks is quicker over Open MPI
TOGETHER = 1 << 16  # bytes of all contributions that go to all


def given(rank):
    """Return the 64 numbers of a rank."""
    random = np.random.default_rng(rank)
    return (random.standard_normal(64) * 10.0 ** random.integers(-6, 6, 64)).astype(np.float32)


def ways_of(side):
    """Return the allreduce of each way of a side, by its name, and a communicator to gather with."""
    if side == "gloo":
        comm = gloo()
        return {side: comm.Allreduce}, comm
    if side == "Open MPI":
        from mpi4py import MPI

        import treecast

        wraps = {f"treecast.mpi {sums}": treecast.mpi.wrap(MPI.COMM_WORLD, sums=sums) for sums in SUMS[1:]}
        ways = {name: comm.Allreduce for name, comm in wraps.items()}
        return {side: MPI.COMM_WORLD.Allreduce, LIMIT: moved} | ways, MPI.COMM_WORLD
    if side == "lab":
        from mpi4py import MPI

        import treecast

        where = os.environ["TREECAST_NETWORK"]
        wraps = {sums: treecast.mpi.wrap(MPI.COMM_WORLD, sums=sums, network=where) for sums in SUMS}
        return {f"{where} {sums}": comm.Allreduce for sums, comm in wraps.items()}, MPI.COMM_WORLD
    import treecast

    comm = treecast.connect(survive=1)

    def on_terms(sums):
        def allreduce(mine, out):  # as a job on these terms would
            comm.terms = comm.group.terms = comm.terms._replace(sums=sums)
            comm._ours = comm._ours._replace(sums=sums)
            comm.Allreduce(mine, out)

        return allreduce

    return {f"{side} {sums}": on_terms(sums) for sums in (SUMS if side != "sockets" else SUMS[1:])}, comm


def moved(mine, out):
    """Bring contributions together by Open MPI's own calls, as a sum that is folded by ranks has to, and add nothing."""
    from mpi4py import MPI

    comm, whole = MPI.COMM_WORLD, np.empty(mine.size * MPI.COMM_WORLD.size, np.float32)
    if whole.nbytes <= TOGETHER:
        comm.Allgather(mine, whole)
    else:
        whole = np.empty(mine.size // comm.size * comm.size, np.float32)
        comm.Alltoall(mine[: whole.size], whole)
        comm.Allgather(whole[: whole.size // comm.size], out[: whole.size])


def patterns(allreduce, comm):
    """Return the bits of the 64 sums in each of 15 calls."""
    found = []
    for size in SIZES:
        for offset in (0, (size - 64) // 2, size - 64):
            mine, out = np.ones(size, np.float32), np.empty(size, np.float32)
            mine[offset : offset + 64] = given(comm.rank)
            allreduce(mine, out)
            found.append(out[offset : offset + 64].tobytes().hex())
    return found


def be_rank(side, sizes):
    """Measure as a rank of a side; rank 0 prints what all found."""
    ways, comm = ways_of(side)
    bits = {name: patterns(way, comm) for name, way in ways.items() if name != LIMIT and side != "lab"}
    alike = [each == bits for each in comm.allgather(bits)]
    times = {}
    for size in sizes:
        mine, out = (
            np.random.default_rng(comm.rank).standard_normal(size // 4).astype(np.float32),
            np.empty(size // 4, "f4"),
        )
        took = {name: [] for name in ways}
        for _ in range(TURNS.get(size, 10) + 1):
            for name, way in ways.items():
                comm.Barrier()
                began = time.perf_counter()
                way(mine, out)
                took[name].append(time.perf_counter() - began)
        every = comm.allgather({name: seconds[1:] for name, seconds in took.items()})
        times[size] = {
            name: statistics.median(map(max, zip(*(each[name] for each in every), strict=True))) for name in ways
        }
    if comm.rank == 0:
        rows = [given(rank) for rank in range(comm.size)]
        in_order = rows[0].copy()
        for row in rows[1:]:
            in_order += row
        true = np.array([math.fsum(column) for column in np.array(rows, float).T.tolist()]).astype(np.float32)
        known = [each.tobytes().hex() for each in (in_order, true)]
        counts = {name: [len(set(said)), *(said.count(each) for each in known)] for name, said in bits.items()}
        print(json.dumps([counts, all(alike), [[size, found] for size, found in times.items()]]))
    comm.Barrier()


def run(side, ranks, sizes):
    """Return what the ranks of a side found."""
    own = [sys.executable, __file__, "--side", side, "--sizes", *map(str, sizes)]
    if side == "Open MPI":
        from treecast.mpi.job.launch import find_mpirun

        line = [find_mpirun(), "--oversubscribe", "-n", str(ranks), *own]
    else:
        named = ["--network", side] if side not in ("gloo", "sockets") else []
        line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", *named, "-n", str(ranks), "--", *own]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run(line, env={**os.environ, **root}, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main(arguments=None):
    """Run the sides that there are, and print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="*", default=BYTES)
    parser.add_argument("--networks", nargs="*")
    parser.add_argument("--side")
    asked = parser.parse_args(arguments)
    if asked.side:
        return be_rank(asked.side, asked.sizes)
    networks = [f"ring:{asked.n}"] if asked.networks is None else asked.networks
    others = [side for side, needs in (("gloo", "torch"), ("Open MPI", "mpi4py")) if find_spec(needs) is not None]
    found = {side: run(side, asked.n, asked.sizes) for side in ("sockets", *networks, *others)}
    print(f"{asked.n} ranks; patterns of 15 calls: how many, in the order of ranks, the true sum; all ranks alike")
    for counts, alike, _ in found.values():
        for name, (many, in_order, true) in counts.items():
            print(f"{name:24}{many:4}{in_order:6}{true:6}   {'yes' if alike else 'NO'}")
    print("ms of a call; ratio to the first line of its block")
    for _, _, times in found.values():
        for name in times[0][1] if times else ():
            each = (f"{at[name] * 1e3:10.3f} {at[name] / next(iter(at.values())):5.2f}" for _, at in times)
            print(f"{name:24}" + "".join(each))
    return None


if __name__ == "__main__":
    main()
