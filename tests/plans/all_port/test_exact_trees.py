"""Trees of the least depth, by a solver; and what is said where there is none."""

from itertools import product

import networkx as nx
import pytest

from tests.networks.test_flows import random_graphs
from tests.plans.trees.test_packed import check
from treecast.errors import PlanError
from treecast.networks import network
from treecast.networks.flows import arcs_of, fewest_ways
from treecast.plans import facts, plan, plan_again
from treecast.plans.trees import exact
from treecast.plans.trees.packed import packed_trees
from treecast.verification.verifier import verify

with_solver = pytest.mark.skipif(bool(exact.lacks_solver()), reason="OR-Tools is not installed: treecast[exact]")


def solved(where, trees, root=0):
    return exact.least_deep(packed_trees(where, root, trees))


def depth_of(parent, root):
    """The depth of a tree given by the parents of nodes; None if it is none."""
    depth = {root: 0}
    while len(depth) <= len(parent):
        found = {v: depth[u] + 1 for v, u in parent.items() if v not in depth and u in depth}
        if not found:
            return None
        depth |= found
    return max(depth.values())


def least_of_two(where, root):
    """The least depth of two arc-disjoint spanning trees, by brute force over all pairs."""
    arcs, others = arcs_of(where), [v for v in range(where.nodes) if v != root]
    entering = [[a for a in range(len(arcs.head)) if arcs.head[a] == v] for v in others]
    trees = []
    for taken in product(*entering):
        depth = depth_of({v: int(arcs.tail[a]) for v, a in zip(others, taken, strict=True)}, root)
        if depth is not None:
            trees.append((depth, frozenset(taken)))
    return min(max(one, two) for one, mine in trees for two, its in trees if not mine & its)


@with_solver
def test_two_trees_are_as_deep_as_by_brute_force():
    tried = 0
    for where, root in random_graphs(40, 6, seed=11):
        if fewest_ways(where, root).ways >= 2 and where.arcs <= 14:
            found = solved(where, 2, root)
            check(found.trees, 2)
            assert found.proved
            assert found.trees.height == least_of_two(where, root)
            tried += 1
    assert tried >= 5


@with_solver
@pytest.mark.parametrize(("spec", "depth"), [("torus:3x7", 7), ("torus:5x5", 6), ("torus:4x8", 7), ("torus:3x4x5", 6)])
def test_least_depths(spec, depth):
    where = network(spec)
    found = solved(where, where.ports)
    check(found.trees, where.ports)
    assert (found.trees.height, found.proved) == (depth, True)


@with_solver
@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "depth"),
    [
        ("torus:5x9", 8),
        ("torus:6x6", 7),
        ("torus:6x10", 9),
        ("torus:4x6x8", 10),
        ("torus:3x5x7", 7),
        ("torus:5x5x5", 7),
        ("torus:6x6x6", 10),
        ("torus:7x7x7", 10),
        ("star:5", 8),
        (nx.random_regular_graph(4, 23, seed=1), 7),
    ],
)
def test_least_depths_of_larger_networks(where, depth):
    where = network(where)
    k = fewest_ways(where, 0).ways
    found = solved(where, k)
    check(found.trees, k)
    assert (found.trees.height, found.proved) == (depth, True)


@with_solver
def test_a_plan_says_that_the_depth_is_the_least():
    schedule = plan("broadcast", "torus:3x7", messages=600, tree_depth="exact")
    report = verify(schedule)
    assert report.holds, report.violations
    assert (schedule.builder, report.steps, schedule.claims.steps) == ("exact-trees", 155, 155)
    assert facts(schedule, report.depth).lines["depth"] == "7: the least, proved"
    assert plan_again(schedule) == schedule
    assert plan("reduce", "torus:3x3", messages=60, tree_depth="exact").steps == 17
    assert plan("broadcast", "torus:3x3", tree_depth="exact").steps == 2
    assert len(plan("broadcast", "mesh:1x1", tree_depth="exact").rows) == 0


@with_solver
def test_what_is_too_large_is_refused():
    with pytest.raises(PlanError, match="nodes times links of the root are at most 8,192"):
        plan("broadcast", "torus:12x12x12", tree_depth="exact")


def test_without_a_solver_one_line_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(exact, "find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"exact-trees needs OR-Tools: pip install ortools"):
        plan("broadcast", "torus:3x7", messages=600, tree_depth="exact")
    with pytest.raises(PlanError, match="the least depth needs OR-Tools"):
        solved(network("torus:3x3"), 4)


def test_it_works_only_on_demand():
    with pytest.raises(PlanError, match="works only where --tree-depth exact is given"):
        plan("broadcast", "torus:3x3", builder="exact-trees")
    with pytest.raises(PlanError, match="'exact' or not said, not 'least'"):
        plan("broadcast", "torus:3x3", tree_depth="least")
