"""Scatters and gathers without buffers: optimal where the paper says so, and right by a simulator that moves single flits."""

from dataclasses import replace
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.bufferless import faults
from tests.strategies import examples
from tests.tree_cases import (
    MODELS,
    ON_PATHS,
    SHAPES,
    WAYS,
    cases,
    changed,
    network_of,
    on_path,
    random_case,
    schedules,
    with_rows,
)
from treecast import plan, verify
from treecast.cli.lengths import parse_lengths
from treecast.collectives import Collective, Lengths
from treecast.errors import PlanError, ScheduleError
from treecast.models import model as model_of
from treecast.networks import network
from treecast.networks.wired import graph_from
from treecast.papers.trees.builders import one_tree
from treecast.plans.built import Job
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule.kernels.streams import shoulder_taps

# --- Theorem 1 ---


@examples(50)
@given(cases(most=12), st.sampled_from(one_tree.ORDERS), st.sampled_from(MODELS))
def test_no_order_is_faster_and_all_are_right(case, first, model):
    parents, root, lengths = case
    where = network_of(parents)
    best, other = (
        plan("scatterv", where, root=root, lengths=lengths, model=model, first=which) for which in ("farthest", first)
    )
    assert verify(other)
    assert not faults(other)
    assert best.steps <= other.steps


@examples(50)
@given(cases(most=12), st.sampled_from(MODELS))
def test_the_ideal_gather_takes_as_long_as_the_scatter(case, model):
    parents, root, lengths = case
    where = network_of(parents)
    there, back = (
        plan(kind, where, root=root, lengths=lengths, model=model, builder=builder)
        for kind, builder in (("scatterv", "farthest-first"), ("gatherv", "nearest-first"))
    )
    assert there.steps == back.steps


# --- Theorem 2 ---


def least_gather(lengths, steps, one_port=True):
    """Whether start times exist by which all data of a path is at its end in fewer steps; a set of taken ports and steps.

    Node i is woken in step i-1, and unless it is the last its one port is taken by passing that on in step i.
    """
    count = len(lengths)
    taken = {(i, i) for i in range(1, count)} if one_port else set()

    def fits(i, used):
        if i == 0:
            return True
        earliest = i if i == count or not one_port else i + 1
        if not lengths[i - 1]:
            return fits(i - 1, used)
        for begin in range(earliest, steps - lengths[i - 1] - i + 1):
            mine = {(v, begin + i - v + c) for v in range(1, i + 1) for c in range(lengths[i - 1])}
            if not mine & used and fits(i - 1, used | mine):
                return True
        return False

    return sum(lengths) > 0 and fits(count, taken)


def data_steps(schedule):
    rows = schedule.rows
    return int((rows.step + rows.steps)[rows.chunks_sent > 0].max(initial=0))


def assert_no_earlier(lengths):
    for model in MODELS:
        schedule = on_path(lengths, model)
        steps, one_port = data_steps(schedule), model == "bufferless"
        assert not faults(schedule)
        assert not least_gather(lengths, steps, one_port)
        assert steps == 0 or least_gather(lengths, steps + 1, one_port)  # the search does find what is there


# --- Theorem 3 ---


def assert_in_time(case):
    """The bounds of phases, of both ways to collect, and over many ports."""
    parents, root, lengths = case
    tree, flits = breadth_first(network_of(parents), root), np.array(lengths)
    flits[root] = 0
    total, height, count = int(flits.sum()), tree.height, len(lengths)
    slots, walk, multiport = (
        certificates(tree, flits, ports, collect)
        for ports, collect in (("one", "slots"), ("one", "walk"), ("all", "slots"))
    )
    assert slots.rest == walk.rest <= max(0, total + slots.tokens + height - 1) if total else slots.rest == 0
    assert slots.done + 1 == slots.tokens + slots.collection <= walk.done + 1 == 2 * (count - 1)
    assert slots.tokens >= height
    branch = np.bincount(tree.branch, flits).max(initial=0)
    assert (multiport.tokens, multiport.collection) == (height, height)
    assert multiport.rest <= (branch + 2 * height - 1 if total else 0)
    assert multiport.done + multiport.rest <= slots.done + slots.rest
    return slots.done + 1 + slots.rest


@pytest.mark.each(7)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [0, pytest.param(1, marks=pytest.mark.long), 7])
def test_shapes(shape, length):
    parents = SHAPES[shape]
    for root in {0, len(parents), len(parents) // 2}:
        for only in (None, len(parents)):
            lengths = [length if only in (None, v) else 0 for v in range(len(parents) + 1)]
            assert_in_time((parents, root, lengths))
            for schedule in schedules((parents, root, lengths)):
                assert verify(schedule)
                assert not faults(schedule)


def test_a_path_has_no_ends_in_its_middle():
    with pytest.raises(PlanError, match="path"):
        plan("gatherv", "path:5", root=2, lengths=1, model="bufferless", builder="shoulder-tap")


@pytest.mark.parametrize("nodes", [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_shoulder_tap_on_a_very_long_path(nodes):
    """Behind messages of one flit there are gaps, too many to write down; behind longer ones there are none."""
    with pytest.raises(PlanError, match="4,999,850,002 runs of flits on the arcs of path:100000 are too many"):
        plan("gatherv", "path:100000", lengths=1, model="bufferless", builder="shoulder-tap")
    schedule = plan("gatherv", f"path:{nodes}", lengths=2, model="bufferless", builder="shoulder-tap")
    assert schedule.steps == 2 * nodes


# --- wrong ones ---


@pytest.mark.slow
@pytest.mark.parametrize(("count", "longest"), [(1, 4), (2, 4), (3, 3), (4, 2)])
def test_shoulder_tap_is_optimal(count, longest):
    for lengths in product(range(longest + 1), repeat=count):
        assert_no_earlier(lengths)


@pytest.mark.slow
@given(st.lists(st.one_of(st.just(0), st.integers(0, 9)), min_size=1, max_size=39))
def test_shoulder_tap_on_any_path(lengths):
    for _, model, _ in ON_PATHS:
        schedule = on_path(lengths, model)
        path, flits = breadth_first(schedule.network, 0), schedule.collective.lengths.flits
        start = shoulder_taps(path.order, flits, int(schedule.model.ports == "one"))
        assert one_tree._count_runs(path, start, flits) == int((~schedule.rows.control).sum())
        assert verify(schedule)
        assert not faults(schedule)
    if sum(lengths):  # certificates take twice the path more, or a step less where the last have nothing
        told = on_path(lengths, builder="transmission-certificate")
        assert told.steps - data_steps(on_path(lengths)) in (2 * len(lengths), 2 * len(lengths) - 1)


@pytest.mark.slow
@examples(80)
@given(cases())
def test_every_way_is_right_and_in_time(case):
    steps = assert_in_time(case)
    for schedule in schedules(case):
        report = verify(schedule)
        assert report, report.violations
        assert not faults(schedule)
    assert next(schedules(case, [("gatherv", MODELS[0], {"collect": "slots"})])).steps == steps


@pytest.mark.slow
def test_the_table_of_spanning_trees_in_the_docs():
    """B and the steps of a gather of lengths ``random:3``, by the tree."""
    networks = [
        "complete:64",
        graph_from(nx.wheel_graph(20)),
        graph_from(nx.barabasi_albert_graph(200, 3, seed=0)),
        "star:5",
        "hypercube:8",
    ]
    page = (Path(__file__).parents[3] / "docs/explanation/trees.md").read_text()
    begin = page.index("| network | breadth-first | broadcast-time | best |")
    rows = [line.strip("| ").split(" | ") for line in page[begin:].splitlines()[2 : 2 + len(networks)]]
    for where, row in zip(map(network, networks), rows, strict=True):
        found = [
            _b_and_steps(where, parse_lengths(where, "random:3", 0), tree)
            for tree in ("breadth-first", "broadcast-time", "best")
        ]
        assert found == row[1:], row[0]


def _b_and_steps(where, lengths, tree):
    schedule = plan("gatherv", where, lengths=lengths, model="bufferless", tree=tree)
    rows = schedule.rows
    first = {}  # in which step each node hears first: that is its token
    for step, dst in zip(rows.step[rows.control].tolist(), rows.dst[rows.control].tolist(), strict=True):
        first[dst] = min(step, first.get(dst, step))
    del first[schedule.collective.root]
    return f"{max(first.values()) + 1} / {schedule.steps}"


MUTATED = [
    (WAYS[0], [0, 0, 1, 1], [0, 2, 1, 0, 3]),
    (WAYS[1], [0, 0, 1, 1], [0, 2, 1, 0, 3]),
    (WAYS[2], [0, 0, 1], [0, 2, 1, 3]),
    (WAYS[3], [0, 0, 1, 1], [0, 1, 0, 2, 2]),
    (WAYS[4], [0, 0, 1, 1], [0, 0, 1, 2, 2]),
    (WAYS[6], [0, 0, 1, 1, 2], [0, 2, 1, 0, 3, 2]),
    (WAYS[7], [0, 0, 1, 1, 2], [0, 2, 1, 0, 3, 2]),
    (ON_PATHS[0], [0, 1, 2], [0, 2, 0, 3]),
    (ON_PATHS[1], [0, 1, 2], [0, 1, 2, 2]),
]


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize(
    "way", MUTATED, ids=lambda way: " ".join(map(str, [way[0][0], way[0][1], *way[0][2].values()]))
)
def test_the_verifier_says_what_the_simulator_says(way, claimed):
    (kind, model, options), parents, lengths = way
    schedule = plan(kind, network_of(parents), lengths=lengths, model=model, **options)
    assert verify(schedule)
    assert not faults(schedule)
    refused = right = 0
    for name, rows in changed(schedule):
        try:
            other = with_rows(schedule if claimed else replace(schedule, claims=None), rows)
        except ScheduleError:
            refused += 1
            continue
        said = faults(other)
        assert bool(verify(other)) == (not said), (name, rows, said)
        refused += bool(said)
        right += not said
    assert refused > 4 * right


def depths_of(parents):
    depth = [0]
    for above in parents:
        depth.append(depth[above] + 1)
    return depth


@lru_cache(8)
def orders_of(count):
    return np.array(list(permutations(range(count)))).reshape(-1, count)


def times_of_orders(depths, lengths):
    """The times of all orders of messages, and which are farthest first.

    The last flit of a message of l flits that is preceded by s is there after s + l + d - 1 steps; null messages need none.
    """
    orders, depth, flits = orders_of(len(depths)), np.array(depths), np.array(lengths)
    times = np.cumsum(flits[orders], axis=1) + depth[orders] - 1
    return np.where(flits[orders] > 0, times, 0).max(axis=1), (np.diff(depth[orders], axis=1) <= 0).all(axis=1)


def assert_farthest_first_is_best(depths, lengths):
    times, farthest = times_of_orders(depths, lengths)
    assert (times[farthest] == times.min()).all()
    return int(times.min())


def scattered(parents, lengths, first="farthest"):
    where = network_of(parents)
    collective = Collective("scatterv", where.nodes, 1, 0, (), Lengths.of([0, *lengths]))
    job = Job(where, collective, model_of("bufferless"), options={"first": first})
    return one_tree.over_one_tree(job).claims.steps


@lru_cache(8)
def rooted_trees(n):
    """One tree, as parents, of each multiset of distances there is: nothing else counts, as other tests show."""
    found = {}
    for parents in product(*(range(v) for v in range(1, n))):
        found.setdefault(tuple(sorted(depths_of(parents))), parents)
    return list(found.values())


@pytest.mark.long
def test_farthest_first_is_the_best_of_all_orders():
    """10^4 different cases, at random, of trees of up to 7 nodes with lengths 0 … 3; equals in any order."""
    rng, seen = np.random.default_rng(1), set()
    while len(seen) < 10_000:
        n = int(rng.choice([3, 4, 5, 6, 7], p=[0.02, 0.03, 0.05, 0.2, 0.7]))
        parents, lengths = [int(rng.integers(v)) for v in range(1, n)], rng.integers(0, 4, n - 1).tolist()
        depths = depths_of(parents)[1:]
        key = tuple(sorted(zip(depths, lengths, strict=True)))
        if key in seen:
            continue
        seen.add(key)
        best = assert_farthest_first_is_best(depths, lengths)
        if len(seen) % 40 == 0:
            assert scattered(parents, lengths) == best


@pytest.mark.long
def test_farthest_first_is_the_best_of_all_orders_everywhere():
    """Every tree of up to 7 nodes, every lengths 0 … 3, up to exchange of nodes at one distance."""
    checked = 0
    for n in range(2, 8):
        for parents in rooted_trees(n):
            depths = sorted(depths_of(parents))[1:]
            groups = [combinations_with_replacement(range(4), depths.count(d)) for d in sorted(set(depths))]
            for parts in product(*groups):
                lengths = [length for part in parts for length in part]
                assert_farthest_first_is_best(depths, lengths)
                checked += 1
    assert checked > 40_000


@pytest.mark.long
def test_shoulder_tap_is_optimal_on_six_nodes():
    for lengths in product((0, 1, 3), repeat=5):
        assert_no_earlier(lengths)


@pytest.mark.long
def test_shoulder_tap_is_optimal_on_longer_paths():
    for lengths in product(range(4), repeat=5):
        assert_no_earlier(lengths)
    for lengths in product(range(3), repeat=6):
        assert_no_earlier(lengths)


@pytest.mark.long
def test_times_on_a_hundred_thousand_trees():
    rng = np.random.default_rng(3)
    for _ in range(100_000):
        assert_in_time(random_case(rng))


@pytest.mark.long
def test_schedules_on_many_trees():
    rng = np.random.default_rng(4)
    for _ in range(2_000):
        for schedule in schedules(random_case(rng)):
            assert verify(schedule)
            assert not faults(schedule)
