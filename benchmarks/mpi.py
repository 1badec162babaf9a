"""Measure collectives over MPI: treecast.mpi beside MPI's own, in the same run. Columns as in nccl-tests.

    treecast launch -n 8 -- python benchmarks/mpi.py -b 1M -e 64M -f 4     sizes from 1 MiB to 64 MiB, each 4 times the last
    python benchmarks/mpi.py --kill                                        who survives two deaths: treecast, and MPI_Bcast

Time is that of the slowest, the average and the fastest rank, the best of several runs; algbw: size / slowest time; eff: the time
of N - 1 copies of the data by one processor, in the same run, as a share of it: the limit of any algorithm in shared memory on
one core. ``measure(comm, …)`` can be called from elsewhere, and returns the lines.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Line(NamedTuple):
    """One measurement: seconds of the slowest, average and fastest rank; steps of the plan (0 of MPI's own); wrong bytes."""

    what: str
    size: int
    steps: int
    slowest: float
    average: float
    fastest: float
    bound: float
    wrong: int


def measure(
    comm: Any,
    collective: str,
    sizes: list[int],
    runs: int = 5,
    survive: int = 0,
    bound: Callable[[int], float] | None = None,
) -> list[Line]:
    """Measure broadcast, allgather or allreduce of ``sizes`` bytes on a communicator, ours and MPI's in turn.

    ``bound(size)``: the least seconds it can take; by default the time of copying the data N - 1 times here.
    """
    lines: list[Line] = []
    for size in sizes:
        least = (bound or (lambda size: copying(size, comm.size - 1)))(size)
        for what, work, check, steps in _jobs(comm, collective, size, survive):
            best = (float("inf"), 0.0, 0.0)
            for _ in range(runs):
                comm.Barrier()
                began = time.perf_counter()
                work()
                took = time.perf_counter() - began
                times = comm.allgather(took)
                best = min(best, (max(times), sum(times) / len(times), min(times)))
            wrong = sum(comm.allgather(int(check())))
            lines.append(Line(what, size, steps, *best, least, wrong))
    return lines


def _jobs(
    comm: Any, collective: str, size: int, survive: int
) -> Iterator[tuple[str, Callable[[], object], Callable[[], int], int]]:
    import treecast.mpi as ours
    from treecast.execute.mpi.choose import messages_of, network_of
    from treecast.plans import plan

    n, rank = comm.size, comm.rank
    block = max(1, size // n)
    count = messages_of(collective, n, size if collective == "broadcast" else block, survive)
    try:
        steps = plan(collective, network_of(n), messages=count, survive=survive).steps
    except ValueError:
        steps = 0
    if collective == "broadcast":
        true = np.arange(size, dtype=np.uint8)
        buffer = true.copy() if rank == 0 else np.zeros(size, np.uint8)
        pair = (lambda: ours.Bcast(comm, buffer, survive=survive)), (lambda: comm.Bcast(buffer))
    elif collective == "allgather":
        own, buffer = np.full(block, rank, np.uint8), np.zeros(block * n, np.uint8)
        true = np.repeat(np.arange(n, dtype=np.uint8), block)
        pair = (lambda: ours.Allgather(comm, own, buffer, survive=survive)), (lambda: comm.Allgather(own, buffer))
    else:
        own, buffer = np.full(max(1, size // 8), rank + 1, np.int64), np.zeros(max(1, size // 8), np.int64)
        true = np.full_like(own, n * (n + 1) // 2)
        pair = (lambda: ours.Allreduce(comm, own, buffer)), (lambda: comm.Allreduce(own, buffer))
    for what, work, taken in (("treecast", pair[0], steps), ("MPI", pair[1], 0)):
        if not (collective == "broadcast" and rank == 0):
            buffer[:] = 0
        yield f"{collective} {what}", work, (lambda: np.count_nonzero(buffer != true)), taken


def copying(size: int, times: int) -> float:
    """Return the seconds in which one processor copies ``size`` bytes so many times."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - began)
    return best * times


def show(lines: list[Line]) -> None:
    """Print measurements, and the ratio of each of ours to MPI's below it."""
    print(
        f"{'':<20}{'size':>12}{'steps':>8}{'min ms':>10}{'avg ms':>10}{'max ms':>10}{'algbw GB/s':>12}{'#wrong':>8}{'eff':>7}"
    )
    for line in lines:
        print(
            f"{line.what:<20}{line.size:>12,}{line.steps or '':>8}{line.fastest * 1e3:>10.2f}{line.average * 1e3:>10.2f}"
            f"{line.slowest * 1e3:>10.2f}{line.size / line.slowest / 1e9:>12.2f}{line.wrong:>8}{line.bound / line.slowest:>7.2f}"
        )
    for ours, theirs in zip(lines[::2], lines[1::2], strict=True):
        print(
            f"{ours.what} at {ours.size:,} bytes takes {ours.slowest / theirs.slowest:.2f} times as long as MPI's own"
        )


def kill() -> None:
    """Kill two of 8 ranks in the middle of a broadcast of 8 MiB: by treecast, and by MPI_Bcast under the same launcher."""
    from treecast.execute.mpi.launch import launch

    with tempfile.TemporaryDirectory() as folder:
        plan, data = Path(folder, "plan.tc"), Path(folder, "data")
        data.write_bytes(np.random.default_rng(1).bytes(8 << 20))
        treecast = [sys.executable, "-m", "treecast"]
        ask = [*treecast, "plan", "broadcast", "hypercube:3", "--messages", "24", "--survive", "2", "-o", str(plan)]
        subprocess.run(ask, check=True, capture_output=True)
        ask = [*treecast, "run", str(plan), "--mpi", "--input", str(data), "--kill", "3@3,6@4", "--json"]
        done = subprocess.run(ask, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        plain = launch(8, [sys.executable, __file__, "--plain-with-deaths", "3,6"], timeout=60)
    print(f"{'two of 8 ranks are killed':<30}{'ends by itself':>16}{'status':>8}{'survivors with all of it':>28}")
    print(f"{'treecast, survive=2':<30}{'yes':>16}{done.returncode:>8}{found['delivered']:>24} of 6")
    print(f"{'MPI_Bcast':<30}{'no' if plain == 124 else 'yes':>16}{plain:>8}{'the job fails' if plain else '':>28}")


def plain_with_deaths(victims: list[int]) -> None:
    """Broadcast by MPI_Bcast, again and again, while the victims kill themselves in the third."""
    import os
    import signal
    import threading

    from mpi4py import MPI

    comm, buffer = MPI.COMM_WORLD, np.ones(8 << 20, np.uint8)
    for turn in range(5):
        if turn == 2 and comm.rank in victims:
            threading.Timer(0.002, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        try:
            comm.Bcast(buffer)
        except MPI.Exception:  # what a program does that knows of no failures: it ends
            sys.exit(1)


def _bytes(text: str) -> int:
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper(), 1)
    return int(text.rstrip("KMGkmg")) * unit


def main() -> None:
    """Parse the command line, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-b", type=_bytes, default=1 << 20, help="the first size")
    parser.add_argument("-e", type=_bytes, default=64 << 20, help="the last size")
    parser.add_argument("-f", type=int, default=4, help="the factor from one to the next")
    parser.add_argument("-n", type=int, default=5, help="runs of each")
    parser.add_argument("--collectives", default="broadcast,allgather,allreduce")
    parser.add_argument("--survive", type=int, default=0)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--plain-with-deaths", default="")
    given = parser.parse_args()
    if given.plain_with_deaths:
        plain_with_deaths([int(rank) for rank in given.plain_with_deaths.split(",")])
        return
    if given.kill:
        kill()
        return
    from mpi4py import MPI

    sizes = [given.b]
    while sizes[-1] * given.f <= given.e and given.f > 1:
        sizes.append(sizes[-1] * given.f)
    for collective in given.collectives.split(","):
        lines = measure(MPI.COMM_WORLD, collective, sizes, given.n, given.survive if collective != "allreduce" else 0)
        if MPI.COMM_WORLD.rank == 0:
            show(lines)


if __name__ == "__main__":
    main()
