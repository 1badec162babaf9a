"""How many trees a broadcast goes over on networks that people have, how deep they are, and the steps of 600 messages.

No depth can be less: it meets the bound, or a solver has ruled out all that are less (tests/plans/all_port/test_exact_trees.py).
"""

import networkx as nx
import pytest

from treecast.networks import network
from treecast.plans import facts, plan
from treecast.plans.trees import exact
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
]
LARGER = [(less_three_links("torus:8x8x8"), 5, 13, 132), ("star:6", 5, 9, 128), ("slim-fly:13", 19, 4, 35)]


def assert_met(where, trees, depth, steps, **options):
    schedule = plan("broadcast", where, messages=600, **options)
    report = verify(schedule)
    assert report.holds, report.violations
    found = facts(schedule, report.depth)
    assert (schedule.trees, report.depth, report.steps, schedule.claims.steps) == (trees, depth, steps, steps)
    assert found.figures["ways"] == trees
    assert found.figures["depth_lower_bound"] <= depth


@pytest.mark.parametrize(("where", "trees", "depth", "steps"), TARGETS, ids=[spelled(row[0]) for row in TARGETS])
def test_trees_depth_and_steps(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


@pytest.mark.parametrize(("where", "trees", "depth", "steps"), LARGER, ids=[spelled(row[0]) for row in LARGER])
@pytest.mark.long
def test_trees_depth_and_steps_of_larger_networks(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


@pytest.mark.long
def test_dragonfly():
    if reason := exact.lacks_solver():
        assert_met("dragonfly:8,4", 11, 6, 60)
        pytest.skip(f"the least depth of trees on a dragonfly {reason}")
    assert_met("dragonfly:8,4", 11, 5, 59, tree_depth="exact")
