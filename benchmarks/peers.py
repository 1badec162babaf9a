"""Plans on any network: beside two other planners, what each construction takes, and how that grows.

    make bench                        these too
    python benchmarks/peers.py        these alone

What the others need was measured with their own code, on one core of a machine with two of 2.5 GHz, and stands here as data.
What treecast needs is measured now: processor seconds of a whole plan, once compiled, the least of several runs that remember
nothing. A repair knows the plan from before, but has not seen the faults: the median of several sets of faults.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from typing import NamedTuple

from treecast.compiled import policy
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans import plan
from treecast.plans.after.repairs import repair
from treecast.plans.ways.trees.packed import pack, packed_trees
from treecast.verification.verifier import verify


class Peer(NamedTuple):
    """What others need for an allgather on a network, of one message and of ``messages``; None where it was not measured.

    Parameters
    ----------
    spec : str
        The network.
    messages : int
        As many messages as links of a node, or as arcs into the corner of a mesh.
    bounds : tuple of int
        The least steps of one message, and of so many.
    tacos : tuple of int or None
        Steps that TACOS (Won et al. 2024) takes of one message, and, the best of ten runs, of so many.
    tacos_seconds : float
        Processor seconds of TACOS for one message; 0 where they are less than 0.01.
    height : int, optional
        The depth of the deepest tree of ForestColl (Zhao et al. 2024). Its rate is that of the bound on all of these.
    forest_seconds : float, optional
        Processor seconds of ForestColl.
    """

    spec: str
    messages: int
    bounds: tuple[int, int]
    tacos: tuple[int, int | None]
    tacos_seconds: float
    height: int | None
    forest_seconds: float | None


PEERS = (
    Peer("hypercube:3", 3, (3, 7), (3, 8), 0, 6, 0.04),
    Peer("hypercube:4", 4, (4, 15), (4, 16), 0, 10, 0.45),
    Peer("hypercube:5", 5, (7, 31), (7, 32), 0.01, 14, 5.7),
    Peer("hypercube:6", 6, (11, 63), (11, 63), 0.13, 17, 33),
    Peer("hypercube:7", 7, (19, 127), (19, 128), 1.6, None, None),
    Peer("hypercube:9", 9, (57, 511), (57, None), 2.1, None, None),
    Peer("star:4", 3, (8, 23), (9, 24), 0, 16, 1.2),
    Peer("star:5", 4, (30, 119), (31, 120), 0.7, 26, 329),
    Peer("star:6", 5, (144, 719), (144, None), 12, None, None),
    Peer("torus:3x3x3", 6, (5, 26), (5, 26), 0, 7, 3.1),
    Peer("torus:4x4x4", 6, (11, 63), (11, 64), 0.12, 12, 41),
    Peer("mesh:4x4x4", 3, (21, 63), (21, 63), 0.04, 13, 14.5),
    Peer("torus:8x8x8", 6, (86, 511), (86, None), 2.9, None, None),
)


RUNS, WITHIN = 5, 0.5
"""How many runs there are at least, and for how many seconds: the fastest counts, as what else the machine does only adds."""


class Ours(NamedTuple):
    """What treecast needs for the same: steps of both allgathers, the depth of its trees, and seconds for each of the three."""

    steps: tuple[int, int]
    depth: int
    allgather_seconds: float
    trees_seconds: float


def ours(peer: Peer, within: float = WITHIN) -> Ours:
    """Plan, verify and measure what a peer was measured for; the trees are those of a broadcast of 600 messages."""
    steps = list[int]()
    for messages in (1, peer.messages):
        report = verify(plan("allgather", peer.spec, messages=messages))
        if not report.holds:
            raise SystemExit(f"the allgather on {peer.spec} is wrong")
        steps.append(report.steps)
    trees = plan("broadcast", peer.spec, messages=600)
    one, all_trees = (
        processor_seconds(lambda: plan("allgather", peer.spec), within),
        processor_seconds(lambda: plan("broadcast", peer.spec, messages=600), within),
    )
    return Ours((steps[0], steps[1]), verify(trees).depth, one, all_trees)


def processor_seconds(work: Callable[[], object], within: float = WITHIN) -> float:
    """Return the least processor seconds of several runs, each with nothing remembered."""
    taken = list[float]()
    with policy("compile"):
        work()
        end = time.perf_counter() + within
        while len(taken) < RUNS or time.perf_counter() < end:
            forget()
            began = time.process_time()
            work()
            taken.append(time.process_time() - began)
    return min(taken)


def forget() -> None:
    """Clear what treecast remembers of networks, trees and plans."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("treecast.networks", "treecast.plans.", "treecast.lower_bounds")):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear") and getattr(value, "__module__", "") not in _KEPT:
                    value.cache_clear()


_KEPT = (
    "treecast.discovery",
    "treecast.networks.family",
    "treecast.plans.registry",
    "treecast.plans.ways.trees.disjoint",
)
"""Modules that remember what is registered, not what was asked."""


COLUMNS = (
    "network", "M", "least steps", "TACOS", "treecast", "depth, ForestColl", "treecast", "seconds, TACOS", "treecast, allgather",
    "seconds, ForestColl", "treecast, trees", "times",
)  # fmt: skip


def beside_peers(peers: Sequence[Peer] = PEERS, within: float = WITHIN) -> None:
    """Print the allgathers and trees of two other planners beside treecast's, as a table in Markdown."""
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    for peer in peers:
        found = ours(peer, within)
        times = f"{peer.forest_seconds / found.trees_seconds:,.0f}" if peer.forest_seconds else "-"
        seconds = f"{found.allgather_seconds:.4f}", _cell(peer.forest_seconds), f"{found.trees_seconds:.4f}", times
        print("| " + " | ".join([*figures(peer, found), *seconds]) + " |", flush=True)


def figures(peer: Peer, found: Ours) -> list[str]:
    """Return the cells of a row up to the seconds that treecast takes."""
    steps = [_pair(each) for each in ((1, peer.messages), peer.bounds, peer.tacos, found.steps)]
    return [peer.spec, *steps, _cell(peer.height), str(found.depth), str(peer.tacos_seconds or "< 0.01")]


def _pair(values: tuple[int, int | None]) -> str:
    return ", ".join(map(_cell, values))


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value}"


PACKED = (
    ("petersen", 1), ("random-regular:23,4,1", 1), ("torus:4x4x4", 1), ("torus:8x8x8", 15), ("dragonfly:8,4", 15),
    ("slim-fly:13", 200), ("torus:64x64", 400), ("torus:16x16x16", 400),
)  # fmt: skip
"""Networks, and the milliseconds in which trees are to be packed."""
SHORTENED = ("random-regular:1000,4,1", "dragonfly:8,4", "random-regular:10000,4,1")
LESS = "torus:8x8x8 without links 1,1,1-1,1,2 2,2,2-2,2,3 3,3,3-3,3,4"
MATCHED = (("mesh:4x4x4", 1), ("random-regular:64,6,1", 1), (LESS, 80))
"""Networks, and the milliseconds in which every node is to hear everything."""


def constructions(
    packed: Sequence[tuple[str, int]] = PACKED,
    shortened: Sequence[str] = SHORTENED,
    matched: Sequence[tuple[str, int]] = MATCHED,
) -> None:
    """Print what packing, shortening, matching and repair take, beside what they are to take."""
    for spec, most in packed:
        where = network(spec)
        trees = fewest_ways(where, 0).ways
        seconds = processor_seconds(lambda: pack(where, 0, trees, 1))  # noqa: B023
        _against(f"pack {trees} trees on {spec}", seconds, most)
    for spec in shortened:
        where = network(spec)
        seconds = processor_seconds(lambda: packed_trees(where, 0, fewest_ways(where, 0).ways))  # noqa: B023
        _against(f"pack and shorten trees on {spec}", seconds, 5000)
    for spec, most in matched:
        where = network(spec)
        seconds = processor_seconds(lambda: plan("allgather", where, builder="spread"))  # noqa: B023
        _against(
            f"allgather chunk by chunk on {spec.partition(' ')[0]}{' less 3 links' * (' ' in spec)}", seconds, most
        )
    _against("repair a broadcast on torus:8x8x8 less 3 links", median(repairs()), 2)


def repairs() -> list[float]:
    """Return the seconds in which a broadcast on torus:8x8x8 is repaired, for each of several sets of three dead links."""
    before, chance, taken = plan("broadcast", "torus:8x8x8", messages=600), Random(1), list[float]()
    label, where = before.network.label, before.network
    with policy("compile"):
        for _ in range(4 * RUNS + 1):
            tails = chance.sample(range(where.nodes), 3)
            links = [f"{label(u)}-{label(chance.choice(where.neighbors(u)))}" for u in tails]
            began = time.process_time()
            repair(before, cut_links=links)
            taken.append(time.process_time() - began)
    return taken[1:]  # the first loads what is compiled


def _against(what: str, seconds: float, most: float) -> None:
    print(f"{what:<58}{1e3 * seconds:>21.2f} ms   {1e3 * seconds / most:.2f} x {most:g} ms", flush=True)


GROWTH = (
    ("torus:8x8", "torus:16x16", "torus:32x32", "torus:64x64"),
    ("torus:4x4x4", "torus:8x8x8", "torus:16x16x16"),
    tuple(f"random-regular:{nodes},4,1" for nodes in (100, 1000, 10000)),
)
_ALONE = """
import time
from treecast import plan, verify
plan("broadcast", "random-regular:24,4,1", messages=600)
began = time.process_time()
schedule = plan("broadcast", {!r}, messages=600)
planned = time.process_time()
report = verify(schedule)
checked = time.process_time()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")).split()[1]
bound = max(each.value for each in report.bounds if each.of == "steps")
print(schedule.network.nodes, planned - began, checked - planned, int(peak) / 2**20, report.steps, bound, report.holds)
"""


def growth(rows: Sequence[Sequence[str]] = GROWTH) -> None:
    """Plan and verify broadcasts of 600 messages on ever larger networks, each in a process of its own."""
    for specs in rows:
        before = None
        for spec in specs:
            done = subprocess.run(
                [sys.executable, "-c", _ALONE.format(spec)], capture_output=True, check=True, text=True
            )
            nodes, planned, checked, peak, steps, bound, holds = done.stdout.split()
            if holds != "True":
                raise SystemExit(f"the broadcast on {spec} is wrong")
            each = (float(planned) + float(checked)) / int(nodes)
            compared = f", {each / before:.2f} x the time per node of the size before" if before else ""
            before = each
            print(
                f"{f'broadcast on {spec}':<58}{float(planned) + float(checked):>22.2f} s   {steps} steps of {bound}; "
                f"{float(planned):.2f} s plan, {float(checked):.2f} s verify, {float(peak):.2f} GiB{compared}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    beside_peers()
    constructions()
    growth()
