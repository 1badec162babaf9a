"""Figures of networks that people have: trees of a broadcast, their depth, the steps of 600 messages, and of other collectives.

No depth can be less: it meets the bound, or a solver (OR-Tools) has ruled out all that are less.
An allgather, scatter and alltoall of one message takes the steps of its bound, but for one alltoall.
"""

import networkx as nx
import pytest

from treecast.lower_bounds import best
from treecast.lower_bounds.depths import least_depth
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans import facts, plan
from treecast.plans.ways.trees.packed import packed_trees
from treecast.verification.verifier import verify

RANDOM = nx.random_regular_graph(4, 23, seed=1)
RANDOM.name = "a random graph of 23 nodes"


def less_three_links(spec):
    """A torus less three links that share no node."""
    graph = nx.Graph(network(spec).to_networkx())
    links = [(0, 1), (graph.number_of_nodes() // 2, graph.number_of_nodes() // 2 + 1)]
    last = graph.number_of_nodes() - 1
    graph.remove_edges_from([*links, (last, last - 1)])
    graph.graph["name"] = f"{spec} less three links"
    return graph


def spelled(where):
    return where if isinstance(where, str) else where.name


def assert_met(where, trees, depth, steps, **options):
    schedule = plan("broadcast", where, messages=600, **options)
    report = verify(schedule)
    assert report.holds, report.violations
    found = facts(schedule, report.depth)
    assert (schedule.trees, report.depth, report.steps, schedule.claims.steps) == (trees, depth, steps, steps)
    assert found.figures["ways"] == trees
    assert found.figures["depth_lower_bound"] <= depth


"""Networks, and the steps of an allgather, a scatter and an alltoall of one message."""


def assert_at_the_bound(where, *steps):
    for kind, fewest in zip(("allgather", "scatter", "alltoall"), steps, strict=True):
        if fewest is not None:
            schedule = plan(kind, where)
            report = verify(schedule)
            assert report.holds, report.violations
            assert report.steps == schedule.claims.steps == best(list(report.bounds), "steps").value == fewest


def test_the_alltoall_that_is_above_its_bound():
    report = verify(plan("alltoall", RANDOM))
    assert report.holds
    assert best(list(report.bounds), "steps").value == 21 <= report.steps <= 23


def test_allreduce_on_a_torus():
    report = verify(plan("allreduce", "torus:4x4x4"))
    assert report.holds
    assert best(list(report.bounds), "steps").value == 21 <= report.steps <= 22


TARGETS = [
    ("torus:4x4x4", 6, 7, 106),
    ("torus:8x8x8", 6, 13, 112),
    (less_three_links("torus:4x4x4"), 5, 7, 126),
    ("torus:4x8", 4, 7, 156),
    ("torus:3x5x7", 6, 7, 106),
    ("mesh:4x4", 2, 6, 305),
    ("mesh:8x8", 2, 14, 313),
    ("mesh:4x4x4", 3, 9, 208),
    ("hypercube:6", 6, 7, 106),
    ("hypercube:8", 8, 9, 83),
    ("petersen", 3, 4, 203),
    (RANDOM, 4, 7, 156),
    ("star:4", 3, 6, 205),
    ("star:5", 4, 8, 157),
    ("dragonfly:8,4", 11, 5, 59),
    ("torus:5x5x5", 6, 7, 106),
    ("torus:5x5x5x5", 8, 9, 83),
]


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize(("where", "trees", "depth", "steps"), TARGETS, ids=[spelled(row[0]) for row in TARGETS])
def test_trees_depth_and_steps(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


LESS_4 = "torus:4x4x4 without links 1,1,1-1,1,2 2,2,2-2,2,3 3,3,0-3,3,3"


STEPS = [
    ("torus:4x4", 4, None, None),
    ("torus:4x4x4", 11, 11, 32),
    (LESS_4, 13, 11, 35),
    ("torus:4x8", 8, 8, 32),
    ("torus:3x5x7", 18, 18, 90),
    ("mesh:4x4", 8, 8, 16),
    ("mesh:8x8", 32, 32, None),
    ("mesh:4x4x4", 21, 21, None),
    ("hypercube:6", 11, 11, 32),
    ("hypercube:8", 32, 32, None),
    ("petersen", 3, 3, 5),
    (RANDOM, 6, 6, None),
    ("star:4", 8, 8, 21),
    ("star:5", 30, 30, None),
    ("star:6", 144, 144, None),
    ("dragonfly:8,4", 24, 24, None),
    ("slim-fly:13", 18, 18, None),
]


@pytest.mark.slow
@pytest.mark.each(7)
@pytest.mark.parametrize("row", STEPS, ids=lambda row: spelled(row[0]))
def test_steps_of_one_message(row):
    assert_at_the_bound(*row)


# Figures of networks that people have, larger ones: trees of a broadcast, their depth, the steps of 600 messages.


LARGER = [
    (less_three_links("torus:8x8x8"), 5, 13, 132),
    ("star:6", 5, 9, 128),
    ("slim-fly:13", 19, 4, 35),
    ("torus:3x40x40", 6, 42, 141),
    ("torus:48x80", 4, 65, 214),
]


@pytest.mark.long
@pytest.mark.parametrize(("where", "trees", "depth", "steps"), LARGER, ids=[spelled(row[0]) for row in LARGER])
def test_trees_depth_and_steps_of_larger_networks(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "depth", "least"), [("random-regular:100,6,1", 6, 5), ("random-regular:1000,4,1", 10, 9)]
)
def test_depths_that_are_open(spec, depth, least):
    where = network(spec)
    ways = fewest_ways(where, 0).ways
    assert (packed_trees(where, 0, ways).height, least_depth(where, 0, ways)) == (depth, least)


LESS_8 = "torus:8x8x8 without links 1,1,1-1,1,2 2,2,2-2,2,3 3,3,3-3,3,4"


LONG = [
    ("torus:8x8x8", 86, 86, None),
    (LESS_8, 103, 86, None),
    ("mesh:8x8", None, None, 128),
    ("mesh:4x4x4", None, None, 64),
]


@pytest.mark.long
@pytest.mark.parametrize("row", LONG, ids=lambda row: spelled(row[0]))
def test_steps_of_one_message_that_take_longer(row):
    assert_at_the_bound(*row)
