"""Measure broadcasts across an emulated network: treecast's disjoint trees against every MPI_Bcast of Open MPI.

    make bench-lab                      as root, on Linux: hypercube:3, star:4, and a link cut in mid-run
    make bench-lab ARGS="--only cut"    one of: hypercube, star, cut

Columns as in nccl-tests: size in bytes; least, mean and greatest time of the ranks that receive, in ms; algbw, size / greatest
time, in MB/s; wrong bytes; eff, the wire bound as part of the greatest time. Of several broadcasts, as many for each algorithm,
the one whose greatest time is least.

Wire bound: each of the k trees carries a k-th of the data over its first link, with 66 bytes of headers to 1448 of data, at the
link's rate, behind the bucket of tokens that a link starts with. No broadcast over k links of the root takes less.

MPI does not know the network: its ranks are the nodes in order, and what it sends to no neighbour is routed over several links.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import treecast
from treecast.errors import LabError
from treecast.execute.lab.outside import run
from treecast.execute.lab.topology import Topology, bucket, parse_cuts, parse_rate, topology

PROGRAM = str(Path(__file__).with_name("lab_program.py"))
ALGORITHMS = {
    1: "linear", 2: "chain", 3: "pipeline", 4: "split-binary", 5: "binary", 6: "binomial", 7: "knomial",
    8: "scatter-allgather", 9: "scatter-allgather-ring",
}  # fmt: skip
FRAME, DATA = 1514, 1448
DYNAMIC = ("--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_bcast_algorithm_segmentsize", "65536")
COLUMNS = f"{'size':>10}  {'algorithm':<36}{'min':>9}{'avg':>9}{'max':>9}{'algbw':>9}{'#wrong':>8}{'eff':>8}"


def measured(
    plan: Topology, program: list[str], options: tuple[str, ...] = (), cut: tuple[str, ...] = ()
) -> list[dict]:
    """Run the program in a lab of its own and return what it printed."""
    with tempfile.TemporaryFile() as out:
        done = run(
            plan, [sys.executable, PROGRAM, plan.network.spec, *program],
            cuts=parse_cuts(plan.network, cut), options=options, timeout=240, stdout=out.fileno(),
        )  # fmt: skip
        out.seek(0)
        lines = [line for line in out.read().decode().splitlines() if line.startswith("[{")]
    if done.status or not lines or len(done.cuts) < len(cut):
        raise LabError(f"{' '.join(program)} ended with status {done.status}")
    return json.loads(lines[0])


def bound(plan: Topology, size: int, trees: int) -> float:
    """Return the wire bound, in seconds."""
    return (size / trees * FRAME / DATA - bucket(plan.rate)) * 8 / plan.rate


def line(size: int, algorithm: str, turns: list[dict], least: float) -> float:
    """Print a line of the table; return the greatest time of the best broadcast."""
    best = min((turn["seconds"][1:] for turn in turns), key=max)  # the root has the data from the start
    wrong, most = sum(sum(turn["wrong"]) for turn in turns), max(best)
    times = "".join(f"{1e3 * t:>9.1f}" for t in (min(best), sum(best) / len(best), most))
    print(f"{size:>10}  {algorithm:<36}{times}{size / most / 1e6:>9.2f}{wrong:>8}{least / most:>8.1%}", flush=True)
    return most


def head(plan: Topology, size: int, trees: int) -> float:
    """Print what is measured, and return the wire bound."""
    least = bound(plan, size, trees)
    print(
        f"\nbroadcast on {plan.network.spec}: {plan.network.nodes} hosts, {len(plan.links)} links of {plan.rate / 1e6:g} Mbit/s"
    )
    full, data = least + 8 * bucket(plan.rate) / plan.rate, 8 * size / plan.rate / trees
    print(
        f"wire bound of {trees} trees {1e3 * least:.1f} ms "
        f"({1e3 * full:.1f} with empty buckets, {1e3 * data:.1f} without headers)\n{COLUMNS}"
    )
    return least


def against_mpi(spec: str, rate: str, size: int, chunk: int, repeats: int) -> None:
    """All broadcasts on one network."""
    plan, trees = topology(treecast.network(spec), parse_rate(rate)), len(treecast.disjoint_trees(spec))
    least = head(plan, size, trees)
    ours = line(size, f"treecast, {chunk} B chunks", measured(plan, [str(size), str(repeats), str(chunk), "1"]), least)
    program = [str(size), str(repeats), "mpi"]
    default = line(size, "MPI_Bcast, default", measured(plan, program), least)
    tuned = {}
    for number, name in ALGORITHMS.items():
        options = (*DYNAMIC, "--mca", "coll_tuned_bcast_algorithm", str(number))
        try:
            tuned[name] = line(size, f"MPI_Bcast, {name} ({number})", measured(plan, program, options), least)
        except LabError as error:
            print(f"{size:>10}  MPI_Bcast, {name} ({number}): {error}", flush=True)
    best = min(tuned, key=lambda name: tuned[name])
    print(f"{ours / least:.3f} x the wire bound; {tuned[best] / ours:.2f} x faster than the best tuned MPI_Bcast ({best}), "
          f"{default / ours:.2f} x faster than the default", flush=True)  # fmt: skip


def with_a_cut(spec: str, rate: str, size: int, chunk: int, link: str, after: float) -> None:
    """Two copies of everything, and a link of the root that fails in mid-run."""
    plan, trees = topology(treecast.network(spec), parse_rate(rate)), len(treecast.disjoint_trees(spec))
    least = head(plan, 2 * size, trees)
    deadline = str(4 * least)
    options = ("--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1")
    turns = measured(plan, [str(size), "3", str(chunk), "2", deadline], options, (f"{link}@mark+{after}",))
    line(size, "treecast, 2 copies, all links", turns[:-1], least)
    line(size, f"treecast, 2 copies, {link} cut at {1e3 * after:.0f} ms", turns[-1:], least)
    whole = sum(not wrong for wrong in turns[-1]["wrong"])
    print(f"{whole} of {plan.network.nodes} hosts have everything; deadline {1e3 * float(deadline):.0f} ms", flush=True)


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["hypercube", "star", "cut"], help="only this")
    parser.add_argument("--nice", type=int, default=-10, help="priority of everything measured, -20 (highest) to 19")
    chosen = parser.parse_args()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, chosen.nice)
        if chosen.only in (None, "hypercube"):
            against_mpi("hypercube:3", "100mbit", 12_500_000, 16 << 10, 5)
        if chosen.only in (None, "star"):
            against_mpi("star:4", "20mbit", 5_000_000, 8 << 10, 1)
        if chosen.only in (None, "cut"):
            with_a_cut("hypercube:3", "100mbit", 12_500_000, 16 << 10, "000-001", 0.2)
            with_a_cut("star:4", "20mbit", 2_500_000, 8 << 10, "1234-2134", 0.2)
    except (LabError, PermissionError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
