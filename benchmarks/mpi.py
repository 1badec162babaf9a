"""Measure collectives over MPI: treecast beside every algorithm of Open MPI's component ``tuned``, in one run.

    python benchmarks/mpi.py -n 8 -b 1M -e 64M -f 4                     8 ranks, from 1 MiB to 64 MiB, each size 4 times the last
    treecast lab run hypercube:3 -- python benchmarks/mpi.py -b 12.5e6  the same across an emulated network
    python benchmarks/mpi.py --kill 30                                  who outlives two deaths: treecast, and MPI_Bcast

Columns as in nccl-tests. size: bytes in all, the data of a root, the receive buffer of an allgather or alltoall, the vector of an
allreduce; of an allgatherv rank 0 has half of them, and the others equal parts of the rest. steps: of the schedule. min, avg,
max: milliseconds from the moment when the first rank begins until a rank is done, where ranks share a clock, of the run whose
slowest rank is fastest. algbw: size / max. eff: bound / max. The fastest is marked.

The bound, in a lab: bytes that have to cross the links of one node, headers with them, less what its buckets hold. Elsewhere a
yardstick: as many bytes as the ranks have to get, copied by all of them at once, measured in the same run. Where all read the
same bytes, as in a broadcast, caches can make a collective a little faster than that.
Every algorithm is tried with whole messages and with segments of 64 KiB (--segments), which some of them ignore; the faster is
shown. One whose first run takes more than twice as long as treecast is not run again.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

COLLECTIVES = ("broadcast", "scatter", "gather", "allgather", "alltoall", "allreduce")
SEGMENTS = "0,64K"
HOPELESS = 2.0  # times the time of treecast in the first run, after which an algorithm is not run again
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
FRAME, DATA = 1514, 1448  # bytes of an Ethernet frame, and of what TCP carries in it


class Line(NamedTuple):
    """One measurement: who, bytes, steps of the schedule (0 of MPI's), seconds, the bound in seconds, and wrong bytes."""

    what: str
    size: int
    steps: int
    fastest: float
    average: float
    slowest: float
    bound: float
    wrong: int


class Job(NamedTuple):
    """One collective of one size on one rank: by treecast, by MPI on any communicator, what to do before, and the truth."""

    ours: Callable[[], object]
    theirs: Callable[[Any], object]
    clear: Callable[[], None]
    wrong: Callable[[], int]
    steps: int


def measure(
    comm: Any,
    collective: str,
    size: int,
    runs: int,
    survive: int = 0,
    network: str | None = None,
    segments: str = SEGMENTS,
) -> list[Line]:
    """Measure one collective of one size on all ranks of a communicator; the lines are the same on all of them."""
    import tuned

    if collective not in ("broadcast", "allgatherv"):
        size = max(1, size // comm.size) * comm.size  # as many bytes to each rank
    job, least = prepared(comm, collective, size, survive, network), bound(comm, collective, size)
    lines = [timed(comm, f"treecast{f', survive {survive}' if survive else ''}", size, job, job.ours, runs, least)]
    slow = HOPELESS * lines[0].slowest
    lines.append(timed(comm, "MPI, its own choice", size, job, lambda: job.theirs(comm), runs, least, slow))
    for number, name in tuned.algorithms(collective).items():
        if name == "two_proc" and comm.size != 2:
            continue
        tried: list[Line] = []
        for segment in map(_bytes, segments.split(",")):
            with tuned.chosen(comm, collective, number, segment) as other:
                what = f"MPI {name}{f', {segment >> 10} KiB' if segment else ''}"
                tried.append(timed(comm, what, size, job, lambda other=other: job.theirs(other), runs, least, slow))
        lines.append(min(tried, key=lambda line: line.slowest))
    return lines


def timed(
    comm: Any, what: str, size: int, job: Job, work: Callable[[], object], runs: int, least: float, slow: float = float("inf")
) -> Line:  # fmt: skip
    """Run once to open connections, and then ``runs`` times, but not again what took longer than ``slow`` seconds."""
    best, wrong = (float("inf"), 0.0, 0.0), 0
    one_clock = len(set(comm.allgather(Path("/proc/sys/kernel/random/boot_id").read_text()))) == 1
    for run in range(runs + 1):
        job.clear()
        comm.Barrier()
        began = time.monotonic()
        work()
        ended = time.monotonic()
        found = comm.allgather((began, ended))
        first = min(b for b, _ in found)
        times = [e - (first if one_clock else b) for b, e in found]
        ends = not run and max(times) > slow
        if run or ends:
            best = min(best, (max(times), sum(times) / len(times), min(times)))
        wrong += sum(comm.allgather(job.wrong()))
        if ends:
            break
    slowest, average, fastest = best
    return Line(what, size, job.steps if what.startswith("treecast") else 0, fastest, average, slowest, least, wrong)


def prepared(comm: Any, collective: str, size: int, survive: int, network: str | None) -> Job:
    """Return a job with its buffers; what rank s has for rank t are numbers that follow from s and t."""
    import treecast.mpi as ours

    n, me = comm.size, comm.rank
    block = -(-size // n)
    options: Any = {"survive": survive, "network": network}

    def data(source: int, target: int = 0) -> np.ndarray:
        return np.random.default_rng((source, target)).integers(0, 256, block, np.uint8)

    mine, here = np.concatenate([data(0, t) for t in range(n)])[:size], me == 0
    into, out, true = np.zeros(len(mine), np.uint8), mine, mine
    one, own = np.zeros(block, np.uint8), data(me)
    if collective == "broadcast":
        pair = (lambda: ours.Bcast(comm, into, **options)), (lambda c: c.Bcast(into))
    elif collective == "scatter":
        true, result = data(0, me), one
        pair = (
            lambda: ours.Scatter(comm, out if here else None, one, **options),
            lambda c: c.Scatter(out if here else None, one),
        )  # fmt: skip
    elif collective == "gather":
        true = np.concatenate([data(s) for s in range(n)]) if here else own
        into = np.zeros(block * n, np.uint8)
        pair = (
            lambda: ours.Gather(comm, own, into if here else None, **options),
            lambda c: c.Gather(own, into if here else None),
        )  # fmt: skip
    elif collective == "allgather":
        true, into = np.concatenate([data(s) for s in range(n)]), np.zeros(block * n, np.uint8)
        pair = (lambda: ours.Allgather(comm, own, into, **options)), (lambda c: c.Allgather(own, into))
    elif collective == "allgatherv":
        counts = unequal(size, n)
        true, into = (np.random.default_rng(0).integers(0, 256, size, np.uint8), np.zeros(size, np.uint8))
        own = true[sum(counts[:me]) : sum(counts[: me + 1])].copy()
        from mpi4py import MPI

        where = [into, counts, None, MPI.BYTE]
        wrapped = ours.wrap(comm, **options)
        pair = (lambda: wrapped.Allgatherv(own, where)), (lambda c: c.Allgatherv(own, where))
    elif collective == "alltoall":
        out, into = np.concatenate([data(me, t) for t in range(n)]), np.zeros(block * n, np.uint8)
        true = np.concatenate([data(s, me) for s in range(n)])
        pair = (lambda: ours.Alltoall(comm, out, into, **options)), (lambda c: c.Alltoall(out, into))
    else:
        numbers = np.arange(max(1, size // 8)) * (me + 1)
        sums, options["survive"] = np.zeros_like(numbers), 0
        true, into = np.arange(len(numbers)) * (n * (n + 1) // 2), sums
        pair = (lambda: ours.Allreduce(comm, numbers, sums, **options)), (lambda c: c.Allreduce(numbers, sums))
    result = one if collective == "scatter" else own if collective == "gather" and not here else into

    def clear() -> None:
        one[:] = 0
        into[:] = 0
        if collective == "broadcast" and here:
            into[:] = mine

    return Job(*pair, clear, lambda: int(np.count_nonzero(result != true)), steps_of(comm, collective, size, options))


def unequal(size: int, ranks: int) -> list[int]:
    """Return the bytes of each rank's block where rank 0 has half of all."""
    others = [size // 2 // (ranks - 1)] * (ranks - 1)
    return [size - sum(others), *others]


def steps_of(comm: Any, collective: str, size: int, options: Any) -> int:
    """Return the steps of the schedule that treecast takes."""
    from treecast.mpi.comm.state import state_of
    from treecast.running.engine.choose import schedule_of

    state, data = state_of(comm), size if collective == "broadcast" else size // comm.size
    ours = state.plans
    named = options["network"] or (
        f"complete:{comm.size}" if state.base.near else None
    )  # in one memory it goes straight
    if collective == "allgatherv":
        return schedule_of(ours.operation(collective, 0, unequal(size, comm.size), options["survive"], named)[0]).steps
    return schedule_of(ours.operation(collective, 0, [data], options["survive"], named)[0]).steps


def bound(comm: Any, collective: str, size: int) -> float:
    """Return the least seconds that it can take: over the wires of a lab, or by copying in memory."""
    n = comm.size
    block, rate = max(1, size // n), float(os.environ.get("TREECAST_RATE", 0))
    if not rate:
        each = {"broadcast": size, "scatter": block, "gather": block, "allreduce": 2 * size * (n - 1) // n}
        return copying(comm, each.get(collective, (n - 1) * block))
    import treecast
    from treecast.running.lab.wiring import bucket

    name = os.environ.get("TREECAST_NETWORK")  # none behind a switch, where a host has one port
    where = treecast.network(name or f"complete:{n}")
    degrees = [where.degree_at(u) if name else 1 for u in range(where.nodes)]
    most = min(degrees) if collective in ("allgather", "allgatherv", "allreduce") else degrees[0]
    across = {
        "broadcast": size / most, "scatter": (n - 1) * block / most, "gather": (n - 1) * block / most,
        "allgatherv": (size - min(unequal(size, n))) / most,
        "allgather": (n - 1) * block / most, "allreduce": 2 * (n - 1) * block / most,
        "alltoall": block * sum(int(where.distance(u, np.arange(n)).sum()) for u in range(n)) / sum(degrees),
    }[collective]  # fmt: skip
    return max(0.0, (across * FRAME / DATA - bucket(int(rate))) * 8 / rate)


def copying(comm: Any, size: int) -> float:
    """Return the seconds in which every rank copies ``size`` bytes, all at once."""
    source, target, best = np.ones(size, np.uint8), np.zeros(size, np.uint8), float("inf")
    for _ in range(4):
        comm.Barrier()
        began = time.monotonic()
        np.copyto(target, source)
        found = comm.allgather((began, time.monotonic()))
        best = min(best, max(e for _, e in found) - min(b for b, _ in found))
    return best


def show(collective: str, lines: list[Line]) -> None:
    """Print the measurements of one collective and size, and how they compare."""
    columns = "".join(f"{column:>10}" for column in ("min ms", "avg ms", "max ms"))
    print(f"{collective:<36}{'size':>12}{'steps':>7}{columns}{'algbw GB/s':>12}{'#wrong':>8}{'eff':>8}")
    best = min(lines, key=lambda line: line.slowest)
    for line in lines:
        times = "".join(f"{1e3 * t:>10.2f}" for t in (line.fastest, line.average, line.slowest))
        mark = "  fastest" if line is best else ""
        print(
            f"{line.what:<36}{line.size:>12,}{line.steps or '':>7}{times}{line.size / line.slowest / 1e9:>12.4g}{line.wrong:>8}"
            f"{line.bound / line.slowest:>8.1%}{mark}"
        )
    ours, own, others = lines[0], lines[1], lines[2:]
    said = [f"{ours.slowest / own.slowest:.2f} of MPI's own choice"]
    if others:
        least = min(others, key=lambda line: line.slowest)
        said.append(f"{ours.slowest / least.slowest:.2f} of its best algorithm ({least.what[4:]})")
    print(f"{ours.what} takes {', '.join(said)}\n", flush=True)


def outlived(runs: int) -> None:
    """Kill two ranks, at random, in the middle of a broadcast of 8 MiB: by treecast, and by MPI_Bcast under the same launcher."""
    columns = ("runs", "end by themselves", "status 0", "all survivors right")
    print(f"{'two ranks are killed in mid-transfer':<40}", *(f"{column:>20}" for column in columns))
    with tempfile.TemporaryDirectory() as folder:
        plan, data = Path(folder, "plan.tc"), Path(folder, "data")
        data.write_bytes(np.random.default_rng(1).bytes(8 << 20))
        for network, ranks in (("hypercube:3", 8), ("star:4", 24)):
            treecast = [sys.executable, "-m", "treecast"]
            ask = [*treecast, "plan", "broadcast", network, "--messages", "24", "--survive", "2", "-o", str(plan)]
            subprocess.run(ask, check=True, capture_output=True)
            for who, once in (("treecast, survive 2", by_treecast), ("MPI_Bcast", by_mpi)):
                ended = well = right = 0
                for seed in range(runs):
                    status, intact = once(ranks, random.Random(seed), str(plan), str(data))
                    ended, well, right = ended + (status != 124), well + (status == 0), right + intact
                print(
                    f"{f'{network}, {ranks} ranks, {who}':<40}",
                    *(f"{number:>20}" for number in (runs, ended, well, right)),
                    flush=True,
                )


def by_treecast(ranks: int, draw: random.Random, plan: str, data: str) -> tuple[int, bool]:
    """Return the exit status of one run, and whether every survivor has all of it."""
    victims = draw.sample(range(1, ranks), 2)
    kill = ",".join(f"{victim}@{draw.randrange(1, 20)}" for victim in victims)
    ask = [
        sys.executable,
        "-m",
        "treecast",
        "run",
        plan,
        "--mpi",
        "--input",
        data,
        "--dead-nodes",
        kill,
        "--timeout",
        "120",
        "--json",
    ]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    if not done.stdout:
        return done.returncode, False
    found = json.loads(done.stdout)
    return done.returncode, found["delivered"] == found["living"] == ranks - 2


def by_mpi(ranks: int, draw: random.Random, plan: str, data: str) -> tuple[int, bool]:
    """The same by MPI_Bcast."""
    from treecast.mpi.job.launch import launch

    victims = ",".join(map(str, draw.sample(range(1, ranks), 2)))
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, __file__, "--plain-with-deaths", victims, "--witness", folder]
        status = launch(ranks, program, timeout=60, stderr=subprocess.DEVNULL).status
        return status, len(os.listdir(folder)) == ranks - 2


def plain_with_deaths(victims: list[int], witness: str) -> None:
    """Broadcast by MPI_Bcast, again and again, while the victims kill themselves in the third; who gets all says so."""
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
    Path(witness, str(comm.rank)).touch()


def _bytes(text: str) -> int:
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper(), 1)
    return int(float(text.rstrip("KMGkmg")) * unit)


def main() -> None:
    """Parse the command line; measure, here or in ranks that are started for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=8, help="ranks, where no mpirun has started this")
    parser.add_argument("-b", type=_bytes, default=1 << 20, help="the first size")
    parser.add_argument("-e", type=_bytes, default=0, help="the last size; by default the first")
    parser.add_argument("-f", type=int, default=4, help="the factor from one to the next")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, after one that does not count")
    parser.add_argument("--collectives", default=",".join(COLLECTIVES), help="these, and allgatherv")
    parser.add_argument("--survive", type=int, default=0)
    parser.add_argument(
        "--segments", default=SEGMENTS, help="of MPI's algorithms, in bytes, behind commas; 0: whole messages"
    )
    parser.add_argument(
        "--network", default=os.environ.get("TREECAST_NETWORK"), help="by default what treecast chooses"
    )
    parser.add_argument("--json", action="store_true", help="a line of JSON for each measurement")
    parser.add_argument("--kill", type=int, default=0, metavar="RUNS", help="so many runs with two deaths each")
    parser.add_argument("--busy", type=int, default=0, help="with --kill: so many endless loops keep the machine busy")
    parser.add_argument("--plain-with-deaths", default="", help=argparse.SUPPRESS)
    parser.add_argument("--witness", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    from treecast.mpi.job.launch import launch
    from treecast.mpi.library import inside_mpirun

    if given.plain_with_deaths:
        plain_with_deaths([int(rank) for rank in given.plain_with_deaths.split(",")], given.witness)
    elif given.kill:
        loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
        try:
            outlived(given.kill)
        finally:
            for load in loads:
                load.kill()
    elif not inside_mpirun():
        sys.exit(launch(given.n, [sys.executable, *sys.argv]).status)
    else:
        sweep(given)


def sweep(given: argparse.Namespace) -> None:
    """Measure what was asked for, and print it on rank 0."""
    os.environ[DYNAMIC] = "1"  # before MPI starts
    from mpi4py import MPI

    sizes = [max(1, given.b)]
    while sizes[-1] * given.f <= given.e and given.f > 1:
        sizes.append(sizes[-1] * given.f)
    for collective in given.collectives.split(","):
        for size in sizes:
            survive = given.survive if collective != "allreduce" else 0
            lines = measure(MPI.COMM_WORLD, collective, size, given.runs, survive, given.network, given.segments)
            if MPI.COMM_WORLD.rank == 0 and given.json:
                print(
                    *(json.dumps({"collective": collective, **line._asdict()}) for line in lines), sep="\n", flush=True
                )
            elif MPI.COMM_WORLD.rank == 0:
                show(collective, lines)


if __name__ == "__main__":
    main()
