"""Every kernel does the same interpreted and compiled: on what small jobs give it, and on random input.

Those that take long to compile are held to this by the long tests.
"""

import io
import os
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import treecast
from treecast.cli import main
from treecast.cli.verbs.warm_up import COMMANDS
from treecast.compiled import Kernel, policy
from treecast.discovery import import_all
from treecast.networks import Star, network, permutations
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import split
from treecast.networks.permutations import place_values

CALLS = 40  # of each kernel


def all_kernels():
    found = {}
    package = Path(treecast.__file__).parent
    for file in [package / "compiled.py", *sorted(package.rglob("kernels/*.py"))]:
        module = import_module(".".join(["treecast", *file.relative_to(package).with_suffix("").parts]))
        for value in vars(module).values():
            if isinstance(value, Kernel):
                found[f"{value.__module__.split('.')[-1]}.{value.__name__}"] = value
    return found


KERNELS = all_kernels()
"""Those that small jobs do not run."""


def copy_of(array):
    copy = array.copy()
    copy.flags.writeable = array.flags.writeable
    return copy


def copied(arguments):
    return [copy_of(a) if isinstance(a, np.ndarray) else a for a in arguments]


def kind(argument):
    """Return what the compiler tells arguments apart by."""
    if isinstance(argument, np.ndarray):
        return argument.dtype.str, argument.ndim, argument.flags.c_contiguous, argument.flags.writeable
    if isinstance(argument, tuple):
        return tuple(map(kind, argument))
    return type(argument.item() if isinstance(argument, np.generic) else argument)


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


def interpreted(kernel, arguments):
    """Run a kernel as Python; return what it returns and what it leaves in its arrays."""
    plain = copied(arguments)
    return kernel.interpret(*plain), plain


def agree(kernel, arguments, found=None):
    """Run a kernel compiled; compare what it returns, and all that it leaves in its arrays, with the interpreted run."""
    shown, plain = found or interpreted(kernel, arguments)
    fast = copied(arguments)
    with policy("compile"):
        assert same(shown, kernel(*fast)), kernel
    assert all(map(same, plain, fast)), kernel


def forget_results():
    """Clear the caches of all modules: what another test has computed would not run a kernel again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("treecast."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear") and value is not import_all:
                    value.cache_clear()


def listened(jobs, folder):
    """Run jobs interpreted; return by kernel its first calls, and the kinds of arguments that occur.

    Of a call: the arguments, what came of it, and the arguments afterwards.
    """
    found, seen = defaultdict(list), defaultdict(set)
    run = Kernel.__call__

    def note(kernel, *arguments):
        name = f"{kernel.__module__.split('.')[-1]}.{kernel.__name__}"
        seen[name].add(tuple(map(kind, arguments)))
        if len(found[name]) >= CALLS:
            return run(kernel, *arguments)
        before, result = copied(arguments), run(kernel, *arguments)
        kept = copied(result) if isinstance(result, tuple) else copied([result])[0]
        found[name].append((before, tuple(kept) if isinstance(result, tuple) else kept, copied(arguments)))
        return result

    forget_results()
    here = os.getcwd()
    with pytest.MonkeyPatch.context() as patch, policy("interpret"), redirect_stdout(io.StringIO()):
        patch.setattr(Kernel, "__call__", note)
        os.chdir(folder)
        try:
            for job in jobs:
                assert main(job) in (0, 1), job
        finally:
            os.chdir(here)
    return found, seen


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """What is heard when small jobs are run."""
    return listened(COMMANDS, tmp_path_factory.mktemp("jobs"))


def test_pairs_without_order():
    random = np.random.default_rng(5)
    for messages in (1, 5, 30):
        last = np.minimum(np.arange(messages) + random.integers(0, 3, messages), messages - 1)
        channel, message = np.sort(random.integers(0, 4, 40)), random.integers(0, messages, 40)
        order = np.lexsort((message, channel))
        channel, message = channel[order], message[order]
        start = np.concatenate(([0], np.cumsum(np.bincount(message, minlength=messages))))
        entry = np.argsort(message, kind="stable")
        agree(KERNELS["contention.unordered_pairs"], (channel, message, last, start, entry))


def test_neighbors_of_stars():
    star, table = Star(5), np.empty((48, 4), np.int32)
    agree(KERNELS["star.fill_neighbors"], (24, 72, place_values(5), table))
    KERNELS["star.fill_neighbors"].interpret(24, 72, place_values(5), table)
    assert table.tolist() == [[star.neighbor(node, port) for port in range(4)] for node in range(24, 72)]


def test_additions_that_tell_what_they_lose():
    random = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        row = (random.standard_normal(500) * 10.0 ** random.integers(-30, 30, 500)).astype(dtype)
        high = random.standard_normal(500) * 10.0 ** random.integers(-60, 60, 500)
        lost = np.where(random.random(500) < 0.1, high, 0)
        for name in ("begin_sums", "add_row"):
            agree(KERNELS[f"sums.{name}"], (row, high, high * 1e-20, lost))
        agree(KERNELS["sums.end_sums"], (high, high * 1e-16, lost))
        whole, mine = np.round(8 * random.standard_normal(500)).astype(dtype), np.zeros(500, np.bool_)
        agree(KERNELS["sums.add_held"], (whole, np.where(random.random(500) < 0.5, whole, row).astype(dtype), mine))
    rows = (8 * random.standard_normal((4, 2100))).astype(np.float32)  # of three blocks: narrow, held, lost
    rows[:, 1024:2048] = np.round(rows[:, 1024:2048])
    rows[0, 1024:2048] *= 2.0**-40
    rows[0, 2048:] *= 1e-30
    for ranks in (1, 2, 4):
        total, lost = np.zeros(2100, np.float32), np.zeros(3, np.bool_)  # what is not written is compared, too
        agree(KERNELS["sums.add_narrow"], (rows[:ranks], total, lost, 27))
    assert KERNELS["sums.add_narrow"].interpret(rows, total, lost, 27) == 1
    assert lost.tolist() == [False, False, True]


@pytest.mark.parametrize("bridges", [1, 2])
def test_worst_cuts(bridges):
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(7))
    graph.add_edges_from((i, 5 + i) for i in range(bridges))
    inside, arcs = np.zeros(12, np.bool_), arcs_of(network(graph))
    assert KERNELS["cuts.worst_cut"].interpret(*arcs[:5], np.arange(12), 11, 4, inside) == (7, bridges)
    assert np.flatnonzero(inside).tolist() == list(range(5))


@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.long)])
def test_least_cuts(both):
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(7))
    graph.add_edges_from([(0, 5), (1, 6)])
    inside, every = np.zeros(12, np.bool_), np.arange(12)
    asked = (*arcs_of(network(graph))[:5], every == 3, every == 9, 1)
    if both:
        agree(KERNELS["cuts.fill_still"], (*asked, 3, inside))
    assert KERNELS["cuts.fill_still"].interpret(*asked, 2, inside)
    assert not KERNELS["cuts.fill_still"].interpret(*asked, 3, inside)
    assert np.flatnonzero(inside).tolist() == list(range(5, 12))


def test_large_numbers():
    """Sets of faults use every bit of a word; bits are counted modulo 2^64; times go up to 10^18."""
    random = np.random.default_rng(3)
    nodes, rows = 9, 40
    src, dst = random.integers(0, nodes, rows), random.integers(0, nodes, rows)
    everyone, arcs = np.arange(nodes), np.arange(rows)
    sets = np.sort(random.integers(0, nodes, (200, 2)), axis=1)
    elements = np.full((nodes, 2), -1)
    atoms, none = np.array([0, rows]), np.zeros(0, np.int64)
    time = np.sort(random.integers(0, 10**18, rows))
    given, wanted = (np.array([0, 1]), np.zeros(1, np.int64)), (np.array([0, nodes]), everyone)
    agree(
        KERNELS["replay.first_failing"],
        (
            sets,
            (everyone, elements),
            (atoms, arcs, time, src, dst, arcs, np.ones(rows, np.int64), arcs),
            (nodes, rows),
            none,
            np.zeros(1, np.int64),
            0,
            given,
            wanted,
            np.zeros(len(sets), np.int64),
        ),
    )
    has = random.integers(0, 2**64, (128, 2), np.uint64)
    masks = random.integers(0, 2**64, (2, 64, 2), np.uint64)
    port, dies, arc_dies = np.array([0, 6]), np.full(128, 9), np.full((128, 7), 9)
    gone, saying = random.integers(0, 2**64, (7, 128, 2), np.uint64), np.zeros((2, 128, 2), np.uint64)
    agree(KERNELS["bit_replay.say"], (0, 128, port, masks, has, gone, dies, 1, saying))
    KERNELS["bit_replay.say"].interpret(0, 128, port, masks, has, gone, dies, 1, saying)
    agree(KERNELS["bit_replay.hear"], (0, 128, port, has, gone, dies, arc_dies, 1, saying))


DEAR = 1.0  # seconds of compiling, with all that is called, beyond which a kernel is compiled for its own sake in long tests


DIRECTLY = {
    "contention.unordered_pairs",
    "cuts.worst_cut",
    "star.fill_neighbors",
    "star.walk_trees",
    "disjoint_paths.arcs_of_paths",
    "hanging.hang",
    "plain.parse",
    "plain.tabulate",
    "sums.add_all",
    "sums.add_held",
    "sums.add_narrow",
    "sums.add_row",
    "sums.begin_sums",
    "sums.end_sums",
}


@pytest.mark.slow
def test_kernels_have_one_signature(tour):
    """For each further one a kernel would be compiled anew."""
    assert {name: kinds for name, kinds in tour[1].items() if len(kinds) > 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if KERNELS[name].compile_seconds > DEAR else ())
        for name in sorted(set(KERNELS) - DIRECTLY)
    ],
)
def test_what_small_jobs_ask(tour, name):
    kernel, calls = KERNELS[name], tour[0]
    mine = calls.get(name, [])
    for arguments, *result in mine:
        agree(kernel, arguments, result)
    above = [KERNELS[other] for other in {*calls, *DIRECTLY} if calls.get(other) or other in DIRECTLY]
    assert mine or any(kernel.function in other._called() for other in above), f"no small job runs {name}"


LARGER = """
plan allgather star:4 --copies 2 --search 1
plan broadcast torus:5x5 --messages 90 --builder packed-trees
plan broadcast torus:5x5 --messages 9 --copies 2 --builder packed-trees
theorems star --up-to 4
theorems hypercube --up-to 3
"""


@pytest.mark.long
def test_larger_jobs(tour, tmp_path):
    calls, seen = listened([line.split() for line in LARGER.strip().split("\n")], tmp_path)
    assert {name: kinds for name, kinds in seen.items() if len(kinds | tour[1].get(name, kinds)) > 1} == {}
    for name, mine in calls.items():
        for arguments, *result in mine:
            agree(KERNELS[name], arguments, result)


@pytest.mark.long
@pytest.mark.parametrize("paper", [False, True])
def test_walks_up_the_trees_of_a_star(paper):
    agree(KERNELS["star.walk_trees"], (0, 24, permutations.place_values(4), 8, paper))


@pytest.mark.long
@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_ways(copies):
    arcs = split(arcs_of(network("star:4")))
    price, used = np.ones(len(arcs.head), np.int64), np.zeros(len(arcs.head), np.bool_)
    agree(KERNELS["disjoint_paths.arcs_of_paths"], (*arcs[:5], 24, 23, price, used, copies))


@pytest.mark.long
@pytest.mark.parametrize("bridges", [1, 2])
def test_worst_cuts_compiled(bridges):
    graph = nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(7))
    graph.add_edges_from((i, 5 + i) for i in range(bridges))
    agree(
        KERNELS["cuts.worst_cut"],
        (*arcs_of(network(graph))[:5], np.arange(12), 11, 4, np.zeros(12, np.bool_)),
    )
