"""Measure treecast, and print each figure as a ratio to a limit measured in the same run.

    make bench                 everything that takes less than a minute
    make bench ARGS=--large    S_11 too: all its trees, one by one, and a walk from every node of each; mesh:100x100
    make bench ARGS=--quick    the same on small networks, in seconds: no figure to quote, but every line runs

Figures are the best of several runs; the machine may be shared, so look at the ratios.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from peers import GROWTH, MATCHED, PACKED, PEERS, SHORTENED, WITHIN, beside_peers, constructions, growth
from sockets import main as sockets

from treecast.compiled import in_parallel
from treecast.networks import Graph, Network, Star, network
from treecast.networks.kernels.star import fill_trees, walk_trees
from treecast.networks.over_time import quickest
from treecast.networks.permutations import place_values
from treecast.papers.mesh.builders.bisection import divide, transform
from treecast.plans import plan
from treecast.plans.ways.trees import star as star_trees
from treecast.plans.ways.trees.independent import independent_trees
from treecast.schedule import Schedule
from treecast.simulation.bit_replay import gossip
from treecast.simulation.faults import random_faults
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


class Sizes(NamedTuple):
    """What is measured: the names of networks, their sizes, and how many nodes, rows and sets there are."""

    graph: int = 10**5
    verified: str = "star:9"
    allgathers: tuple[str, ...] = ("star:6", "star:7", "star:8", *(f"hypercube:{d}" for d in range(10, 15)))
    alltoall: str = "star:8"
    alltoall_copies: tuple[int, ...] = (1, 7)
    torus: int = 8
    anywhere: tuple[tuple[str, int], ...] = (
        ("mesh:8x8", 1), ("mesh:4x4x4", 1), ("dragonfly:8,4", 1), ("slim-fly:13", 1), ("torus:4x4x4", 2), ("dragonfly:4,2", 2)
    )  # fmt: skip
    scattered: tuple[str, ...] = ("torus:8x8x8", "random-regular:256,6,1", "slim-fly:13")
    exchanged: tuple[str, ...] = ("mesh:8x8", "random-regular:32,4,1")
    peers: int = len(PEERS)
    within: float = WITHIN
    packed: tuple[tuple[str, int], ...] = PACKED
    shortened: tuple[str, ...] = SHORTENED
    matched: tuple[tuple[str, int], ...] = MATCHED
    growth: tuple[tuple[str, ...], ...] = GROWTH
    gossips: tuple[int, int] = (16, 12)
    swept: str = "star:5"
    meshes: tuple[tuple[int, ...], ...] = ((64, 64), (128, 128), (256, 256), (64, 64, 64), (20, 20), (48, 40))
    mesh: str = "mesh:1024x1024"
    trees: tuple[str, ...] = ("path:100000", "tree:30000,1", "100000")
    star: int = 10
    one_by_one: int = 0


LARGE = Sizes(
    meshes=(*Sizes().meshes, (100, 100)), trees=("path:100000", "tree:30000,1", "1000000"), one_by_one=11
)  # fmt: skip
QUICK = Sizes(
    graph=100, verified="star:5", allgathers=("star:4", "hypercube:5"), alltoall="star:4", alltoall_copies=(1,), torus=3,
    anywhere=(("mesh:3x3", 1), ("torus:3x3", 2)), scattered=("torus:3x3",), exchanged=("mesh:3x3",), peers=1, within=0,
    packed=(("petersen", 1),), shortened=("petersen",), matched=(("mesh:3x3", 1),), growth=(("torus:4x4",),),
    gossips=(6, 5), swept="star:4", meshes=((8, 8),), mesh="mesh:16x16", trees=("path:100", "50"), star=6, one_by_one=5,
)  # fmt: skip


def best(work: Callable[[], object], runs: int = 5) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def line(what: str, figure: str, against: str = "") -> None:
    """Print one result."""
    print(f"{what:<58}{figure:>24}   {against}", flush=True)


def trees_as_arrays(n: int) -> None:
    """All trees of S_n as arrays, on one core and on all, against a copy of the arrays."""
    star, places = Star(n), place_values(n)
    arcs = star.ports * star.nodes
    parents, ports = np.zeros((star.ports, star.nodes), np.int32), np.zeros((star.ports, star.nodes), np.int8)
    more = parents.copy(), ports.copy()

    def copy() -> None:
        np.copyto(more[0], parents)
        np.copyto(more[1], ports)

    def fill(start: int, stop: int) -> None:
        fill_trees(start, stop, places, 1, False, parents, ports)

    fill(0, 24)
    one, two, limit = (
        best(lambda: fill(0, star.nodes), 3),
        best(lambda: in_parallel(fill, star.nodes, 24 << 12), 3),
        best(copy),
    )
    what = f"all {star.ports} trees of S_{n} as arrays, {arcs / 1e6:.1f} M arcs"
    line(f"{what}, one core", f"{one / arcs * 1e9:.1f} ns/arc", f"{one / limit:.1f} x a memory copy of the result")
    line(f"{what}, {os.cpu_count()} cores", f"{two / arcs * 1e9:.1f} ns/arc", f"{one / two:.2f} x faster than one")


def trees_one_by_one(n: int) -> None:
    """All trees of S_n, each as an array by itself."""
    star = Star(n)
    began = time.perf_counter()
    for tree in range(star.ports):
        star_trees.disjoint_tree(star, tree)
    taken, arcs = time.perf_counter() - began, star.ports * star.nodes
    line(
        f"the {star.ports} trees of S_{n}, one at a time, {arcs / 1e6:.0f} M arcs",
        f"{taken:.1f} s",
        f"{taken / arcs * 1e9:.1f} ns/arc, {peak()}",
    )


def walk(n: int) -> None:
    """Walk from every node of every tree of S_n to the root, storing nothing per node."""
    star, places = Star(n), place_values(n)
    walk_trees(0, 10, places, 40, False)
    began, cpu = time.perf_counter(), time.process_time()
    parts = in_parallel(lambda a, b: walk_trees(a, b, places, 40, False), star.nodes, 1 << 15)
    taken, used = time.perf_counter() - began, time.process_time() - cpu
    hops = sum(int(part[0]) for part in parts)
    line(
        f"walk every node of every tree of S_{n}, {hops / 1e9:.2f} G arcs",
        f"{taken:.1f} s",
        f"{used / hops * 1e9:.1f} ns per arc and core (compiled, unoptimised: 4.3)",
    )


def verification(spec: str) -> None:
    """Verify a broadcast on a star network, with one copy and with as many as ports, against a copy of its columns."""
    for copies in (1, network(spec).ports):
        began = time.perf_counter()
        schedule = plan("broadcast", spec, messages=800, copies=copies)
        planned = time.perf_counter() - began
        columns = list(schedule.rows.columns().values())
        limit = best(lambda: [column.copy() for column in columns])  # noqa: B023
        verify(schedule)
        taken = best(lambda: verify(schedule))  # noqa: B023
        what = f"verify broadcast on {spec}, x = {copies}, {len(schedule) / 1e6:.1f} M rows"
        line(
            what,
            f"{len(schedule) / taken / 1e6:.1f} M rows/s",
            f"{taken / limit:.0f} x a memory copy; planned in {planned:.2f} s, {peak()}",
        )


def all_sources(sizes: Sizes) -> None:
    """Plan and verify allgather with every node a source, with as many copies as ports, and alltoall on S_8."""
    for spec in sizes.allgathers:
        all_source("allgather", spec, network(spec).ports)
    for copies in sizes.alltoall_copies:
        all_source("alltoall", sizes.alltoall, copies)


def on_any_network(sizes: Sizes) -> None:
    """Plan and verify allgather on networks that do not look the same from every node, and in copies."""
    less: Any = nx.convert_node_labels_to_integers(nx.grid_graph([sizes.torus] * 3, periodic=True), ordering="sorted")
    less.remove_edges_from(list(less.edges)[:: less.number_of_edges() // 3 + 1])
    for spec, copies in sizes.anywhere:
        all_source("allgather", spec, copies)
    all_source("allgather", network(less), 1)


def all_source(kind: str, spec: str | Network, copies: int) -> None:
    """Plan and verify one schedule in which every node is a source; of an orbit, node 0's part."""

    def planned() -> Schedule:
        independent_trees.cache_clear()
        return plan(kind, spec, copies=copies)

    schedule = planned()
    bound = next(b.value for b in sorted(verify(schedule).bounds, key=lambda b: -b.value) if b.of == "steps")
    columns = list(schedule.rows.columns().values())
    limit = best(lambda: [column.copy() for column in columns])
    planning, checking = best(planned, 3), best(lambda: verify(schedule), 3)
    taken = planning + checking
    line(
        f"{kind} on {schedule.network.spec}, x = {copies}: {len(schedule):,} rows for {schedule.transmissions:,}",
        f"{taken:.2f} s",
        f"{schedule.steps:,} steps of {bound:,}; "
        f"{taken / len(schedule) * 1e9:.0f} ns/row ({planning:.2f} s plan, {checking:.2f} s verify); "
        f"{taken / limit:.0f} x a memory copy, {peak()}",
    )


def personal(sizes: Sizes) -> None:
    """Plan scatters and alltoalls on any network, in one copy and in two, against the bounds."""
    jobs = [("scatter", name, copies) for name in sizes.scattered for copies in (1, 2)]
    jobs += [("alltoall", name, copies) for name in sizes.exchanged for copies in (1, 2)]
    for kind, name, copies in jobs:
        where = network(name)
        plan(kind, where, copies=copies, root=0 if kind == "scatter" else None)  # compile, and find what is known of it
        quickest.cache_clear()
        began = time.perf_counter()
        schedule = plan(kind, where, copies=copies)
        taken = time.perf_counter() - began
        least = max(bound.value for bound in verify(schedule).bounds if bound.of == "steps")
        line(f"{kind} on {name}, x = {copies}", f"{taken:.2f} s", f"{schedule.steps} steps, the bound is {least}")


def gossips(large: int, small: int) -> None:
    """Plan, verify and replay fault-tolerant gossip on hypercubes: by symmetry, and under as many faults as it survives."""
    for d, model in ((large, "whispering"), (large, "shouting"), (small, "whispering"), (small, "shouting")):
        began = time.perf_counter()
        schedule = plan("allgather", f"hypercube:{d}", survive=d - 1, model=model)
        planned = time.perf_counter() - began
        verify(schedule)
        taken = best(lambda: verify(schedule), 2)  # noqa: B023
        line(
            f"{model} gossip on Q_{d}, k = {d - 1}, {len(schedule):,} rows",
            f"{planned + taken:.2f} s",
            f"{planned:.2f} s plan, {taken:.2f} s verify, {peak()}",
        )
        if d == small:
            dead = random_faults(schedule.network, d - 1, 1)
            gossip(schedule, dead)
            replayed = best(lambda: gossip(schedule, dead), 3)  # noqa: B023
            sends = gossip(schedule, dead).transmissions
            line(
                f"  replayed for all {2**d:,} sources under {d - 1} random dead nodes",
                f"{replayed:.2f} s",
                f"{sends / 1e6:.0f} M sends, {sends / replayed / 1e9:.1f} G sends/s, {peak()}",
            )


def bisection(shapes: tuple[tuple[int, ...], ...], spec: str) -> None:
    """Tables of all sources of meshes, against distance sweeps of the whole mesh, and growth with N; one large schedule."""
    before = 0.0
    for shape in shapes:
        nodes, field = prod(shape), np.zeros(shape, np.int64)
        transform(field)
        limit = best(lambda: transform(field))  # noqa: B023
        began = time.perf_counter()
        tables, _ = divide(shape)
        taken = time.perf_counter() - began
        growth = f", {taken / nodes / before:.2f} x the time per node of the first" if before else ""
        before = before or taken / nodes
        line(
            f"least distances on {'x'.join(map(str, shape))}, all sources",
            f"{taken:.2f} s",
            f"{taken / nodes * 1e9:.0f} ns/node, {taken / limit:.0f} x a sweep of all{growth}; "
            f"{len(tables.tables):,} sets, {peak()}",
        )
    began = time.perf_counter()
    schedule = plan("broadcast", spec, model="wormhole")
    planned = time.perf_counter() - began
    columns = list(schedule.rows.columns().values())
    limit = best(lambda: [column.copy() for column in columns])
    began = time.perf_counter()
    verify(schedule)
    checked = time.perf_counter() - began
    line(
        f"broadcast on {spec}, {len(schedule):,} rows",
        f"{planned:.2f} s",
        f"{planned / len(schedule) * 1e9:.0f} ns/row, {planned / limit:.0f} x a memory copy; "
        f"verified in {checked:.2f} s, {peak()}",
    )


def without_buffers(specs: tuple[str, ...]) -> None:
    """Scatterv and gatherv of uneven lengths on deep, wide and random trees, against a copy of the rows' columns."""
    rng = np.random.default_rng(1)
    for spec in specs:
        where = network(spec) if ":" in spec else random_tree(int(spec), rng)
        lengths = rng.integers(0, 10, where.nodes) * (rng.random(where.nodes) < 0.7)
        for kind in ("scatterv", "gatherv"):
            plan(kind, "tree:2,2", lengths=1)  # compile
            began = time.perf_counter()
            schedule = plan(kind, where, lengths=lengths)
            planned = time.perf_counter() - began
            began = time.perf_counter()
            report = verify(schedule)
            checked = time.perf_counter() - began
            columns = list(schedule.rows.columns().values())
            limit = best(lambda: [column.copy() for column in columns])  # noqa: B023
            bound = max(b.value for b in report.bounds if b.of == "steps")
            line(
                f"{kind} on {spec if ':' in spec else f'a random tree of {int(spec):,}'}, {len(schedule):,} rows",
                f"{planned:.2f} s",
                f"{planned / limit:.0f} x a memory copy; verified in {checked:.2f} s; "
                f"{schedule.steps / bound:.4f} x the bound, {peak()}",
            )


def random_tree(nodes: int, rng: np.random.Generator) -> Graph:
    """Return a tree in which each node hangs below a random one before it."""
    above = (rng.random(nodes - 1) * np.arange(1, nodes)).astype(np.int64)
    edges = np.stack([above, np.arange(1, nodes)], axis=1)
    return Graph(f"graph:{nodes}", [str(u) for u in range(nodes)], np.concatenate([edges, edges[:, ::-1]]))


def faults(spec: str) -> None:
    """Replay a broadcast on a star network under every set of as many dead nodes as it survives."""
    schedule = plan("broadcast", spec, messages=400, copies=network(spec).ports)
    sweep(schedule, 1)
    taken = best(lambda: sweep(schedule))
    sets = sweep(schedule).sets
    line(
        f"sweep {spec} under all {sets:,} sets of ≤ {schedule.copies - 1} dead nodes",
        f"{taken:.3f} s",
        f"{sets / taken / 1e6:.1f} M sets/s",
    )


def graphs(nodes: int) -> None:
    """Read a GraphML file of some nodes and three times as many links, each in a process of its own: treecast, and networkx."""
    degree = 6
    targets = np.random.default_rng(1).permuted(np.tile(np.arange(nodes), (degree // 2, 1)), axis=1).T
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.graphml"
        with path.open("w") as file:
            file.write('<graphml><graph edgedefault="undirected">\n')
            file.writelines(f'<node id="{u}"/>\n' for u in range(nodes))
            links = ((u, v) for u, there in enumerate(targets.tolist()) for v in there if u != v)
            file.writelines(f'<edge source="{u}" target="{v}"/>\n' for u, v in links)
            file.write("</graph></graphml>\n")
        ours, theirs = (
            _read_alone(words.format(str(path)))
            for words in ("import treecast; treecast.network({!r})", "import networkx; networkx.read_graphml({!r})")
        )
    against = f"{ours[0] / theirs[0]:.2f} x networkx; {ours[1]:.2f} GiB, networkx {theirs[1]:.2f} GiB"
    line(f"read a GraphML of {nodes:,} nodes", f"{ours[0]:.2f} s", against)


def _read_alone(code: str) -> tuple[float, float]:
    """Return the processor seconds and the peak memory, in GiB, of a program."""
    measured = (
        "import resource\n{}\nfound = resource.getrusage(resource.RUSAGE_SELF)\nprint(found.ru_utime, found.ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", measured.format(code)], capture_output=True, check=True, text=True)
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory / 2**20


def start() -> None:
    """Answer --help, against a bare interpreter."""

    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    run("-m", "treecast", "--help")
    taken, bare = (
        best(lambda: run("-m", "treecast", "--help")),
        best(lambda: run("-c", "import cyclopts, rich.console")),
    )
    line("treecast --help", f"{taken:.2f} s", f"{taken / bare:.1f} x Python with cyclopts and rich imported")


def over_sockets() -> None:
    """Collectives over sockets beside gloo's, and Open MPI's, where torch is installed."""
    if find_spec("torch") is not None:
        sockets(["--turns", "1"])


def peak() -> str:
    """Return the greatest memory used so far."""
    return f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB"


def measure(sizes: Sizes) -> None:
    """Measure everything on networks of these sizes."""
    start()
    graphs(sizes.graph)
    verification(sizes.verified)
    all_sources(sizes)
    on_any_network(sizes)
    personal(sizes)
    beside_peers(PEERS[: sizes.peers], sizes.within)
    constructions(sizes.packed, sizes.shortened, sizes.matched)
    growth(sizes.growth)
    gossips(*sizes.gossips)
    faults(sizes.swept)
    bisection(sizes.meshes, sizes.mesh)
    without_buffers(sizes.trees)
    trees_as_arrays(sizes.star)
    walk(sizes.star)
    if sizes.one_by_one:
        trees_one_by_one(sizes.one_by_one)
        walk(sizes.one_by_one)
    over_sockets()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = options.add_mutually_exclusive_group()
    size.add_argument("--large", action="store_true", help="S_11, a mesh of 100x100 and a tree of 10^6 nodes too")
    size.add_argument("--quick", action="store_true", help="small networks only: whether it runs, in seconds")
    asked = options.parse_args()
    measure(LARGE if asked.large else QUICK if asked.quick else Sizes())
