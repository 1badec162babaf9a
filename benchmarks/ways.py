"""Measure the straight ways of collectives over MPI beside MPI's own calls, in one run: `make bench-mpi`.

    python benchmarks/ways.py                   4 and 8 ranks, 8 B to 64 MiB
    python benchmarks/ways.py -n 8 -e 1M        8 ranks, up to 1 MiB
    python benchmarks/ways.py -n 2 -e 8 --row 50    50 calls in a row, as loops of programs make them

Each figure is a ratio of medians, in brackets of the least times, which a loaded machine disturbs less: one call at a time, or a
row of them, after a barrier, the slowest rank counts, the ways take turns in any order.
All go by the methods of communicators. ``survive 0`` is what a program gets: below the threshold MPI's call itself, and the
column ``way`` says so. ``own`` is the straight way at any size.
Sizes are bytes: the buffer of a Bcast or a sum, all blocks of a rank together of the others.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

SIZES = tuple(8 << k for k in (0, 7, 13, 17, 21, 23))  # 8 B, 1 KiB, 64 KiB, 1 MiB, 16 MiB, 64 MiB
NAMES = (
    *("Bcast", "Allgather", "Allreduce", "Alltoall", "Scatter", "Gather", "Reduce", "Scan", "Exscan"),
    *(
        "Reduce_scatter",
        "Reduce_scatter_block",
        "Allgatherv",
        "Alltoallv",
        "Alltoallw",
        "Gatherv",
        "Scatterv",
        "Barrier",
    ),
)


def ways_of(mpi: Any, comms: dict[str, Any], what: tuple[str, int]) -> dict[str, Callable[[], object]]:
    """Return one collective as each communicator carries it out, on the same buffers."""
    (name, size), n, me = what, comms["MPI"].size, comms["MPI"].rank
    blocks = name not in ("Bcast", "Allreduce", "Reduce", "Scan", "Exscan", "Barrier")
    block, count = (-(-size // (8 * n)) * 8, -(-size // (8 * n)) * 8 * n) if blocks else (size, size)
    a, b = mpi.buffer.allocate(count, clear=True), mpi.buffer.allocate(count, clear=True)
    one, many, into = [a[:block], mpi.BYTE], [a, block, mpi.BYTE], [b, block, mpi.BYTE]
    whole = ([a, size // 8, mpi.INT64_T], [b, size // 8, mpi.INT64_T])
    counts, places, types = [block] * n, [block * k for k in range(n)], [mpi.BYTE] * n
    sent, received = [a, (counts, places), mpi.BYTE], [b, (counts, places), mpi.BYTE]
    rows, own = [a, count // 8, mpi.INT64_T], [b, block // 8, mpi.INT64_T]
    methods: dict[str, Callable[[Any], object]] = {
        "Bcast": lambda comm: comm.Bcast([a, mpi.BYTE]),
        "Allgather": lambda comm: comm.Allgather(one, into),
        "Allreduce": lambda comm: comm.Allreduce(*whole),
        "Alltoall": lambda comm: comm.Alltoall(many, into),
        "Scatter": lambda comm: comm.Scatter(many if not me else None, [b[:block], mpi.BYTE]),
        "Gather": lambda comm: comm.Gather(one, into if not me else None),
        "Reduce": lambda comm: comm.Reduce(whole[0], whole[1] if not me else None),
        "Scan": lambda comm: comm.Scan(*whole),
        "Exscan": lambda comm: comm.Exscan(*whole),
        "Reduce_scatter": lambda comm: comm.Reduce_scatter(rows, own, [block // 8] * n),
        "Reduce_scatter_block": lambda comm: comm.Reduce_scatter_block([a, block // 8, mpi.INT64_T], own),
        "Allgatherv": lambda comm: comm.Allgatherv(one, [b, counts, mpi.BYTE]),
        "Alltoallv": lambda comm: comm.Alltoallv(sent, received),
        "Alltoallw": lambda comm: comm.Alltoallw([a, counts, places, types], [b, counts, places, types]),
        "Gatherv": lambda comm: comm.Gatherv(one, received if not me else None),
        "Scatterv": lambda comm: comm.Scatterv(sent if not me else None, [b[:block], mpi.BYTE]),
        "Barrier": lambda comm: comm.Barrier(),
    }
    return {way: partial(methods[name], comm) for way, comm in comms.items()}


def measured(
    mpi: Any, comm: Any, ways: dict[str, Callable[[], object]], runs: int, repeat: int, row: int = 1
) -> dict[str, list[float]]:
    """Return the seconds of a call in each run of each way, in ascending order; the same on all ranks.

    ``row``: calls behind one another.
    """
    times: dict[str, list[float]] = {what: [] for what in ways}
    order, draw = [*ways], random.Random(1)
    for run in range(runs + 1):
        draw.shuffle(order)  # what a way comes after can matter as much as what it is
        for what in order:
            call = ways[what]
            for _ in range(repeat):
                comm.Barrier()
                began = time.perf_counter()
                for _ in range(row):
                    call()
                slowest = comm.allreduce((time.perf_counter() - began) / row, mpi.MAX)
                if run:
                    times[what].append(slowest)
    return {what: sorted(found) for what, found in times.items()}


def sweep(given: argparse.Namespace) -> None:
    """Measure in the ranks that mpirun has started, and print on rank 0."""
    from mpi4py import MPI

    import treecast.mpi

    comm = MPI.COMM_WORLD
    wrapped = treecast.mpi.wrap(comm)
    comms = {
        "MPI": comm,
        "survive 0": wrapped,
        "own": treecast.mpi.wrap(comm.Dup(), own=True),
        "survive 2": treecast.mpi.wrap(comm.Dup(), survive=2),
    }
    if comm.rank == 0:
        print(f"{comm.size} ranks, {given.runs} runs; load {os.getloadavg()[0]:.1f}")
        columns = ("", "bytes", "MPI, µs", "survive 0", "way", "own", "survive 2", "µs more")
        print("{:20} {:>9} {:>18} {:>14}  {:9} {:>16} {:>14} {:>9}".format(*columns))
    for name in given.names.split(","):
        for size in SIZES:
            if size > given.e:
                continue
            found = measured(
                MPI,
                comm,
                ways_of(MPI, comms, (name, size)),
                given.runs,
                10 if size <= 1 << 16 else 3 if size <= 1 << 20 else 1,
                given.row,
            )
            if comm.rank == 0:
                ours = wrapped.last.way
                show(name, size, "MPI's" if ours == "MPI" else ours, found)
    if comm.rank == 0:
        print(f"load {os.getloadavg()[0]:.1f}", flush=True)


def show(name: str, size: int, way: str, found: dict[str, list[float]]) -> None:
    """Print a line: ratios of medians, and of the least times in brackets."""
    middle = {what: statistics.median(times) for what, times in found.items()}
    least = {what: times[0] for what, times in found.items()}

    def ratio(what: str) -> str:
        return f"{middle[what] / middle['MPI']:.2f} ({least[what] / least['MPI']:.2f})"

    mpi, more = (f"{middle['MPI'] * 1e6:.1f} ({least['MPI'] * 1e6:.1f})", (middle["survive 2"] - middle["MPI"]) * 1e6)
    ratios = f"{ratio('survive 0'):>14}  {way:9} {ratio('own'):>16} {ratio('survive 2'):>14}"
    print(f"{name:20} {size:>9} {mpi:>18} {ratios} {more:>9.0f}", flush=True)


def main() -> None:
    """Parse the command line; measure, here or in ranks that are started for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", default="4,8", help="ranks, where no mpirun has started this")
    parser.add_argument("-e", type=_bytes, default=SIZES[-1], help="the last size")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--row", type=int, default=1, help="calls in a row")
    parser.add_argument("--names", default=",".join(NAMES), help=f"of {', '.join(NAMES)}")
    given = parser.parse_args()
    from treecast.mpi.job.launch import launch
    from treecast.mpi.library import inside_mpirun

    if inside_mpirun():
        sweep(given)
    else:
        sys.exit(
            max(launch(int(n), [sys.executable, "-m", "mpi4py", *sys.argv], 1800).status for n in given.n.split(","))
        )


def _bytes(text: str) -> int:
    unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1].upper(), 1)
    return int(float(text.rstrip("KMkm")) * unit)


if __name__ == "__main__":
    main()
