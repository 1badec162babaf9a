"""Node-disjoint paths: the paper's example, against the trees and the planned calls, against networkx."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from tests.oracles.plain import graph_of
from treecast.errors import TreecastError
from treecast.networks import Hypercube, network
from treecast.papers.paths import node_disjoint_paths
from treecast.plans import disjoint_trees, plan
from treecast.plans.ways.trees.hypercube import calling_trees
from treecast.verification.rules.calling import calls


def check(found, graph):
    """Check that the ways are paths of the graph that meet at their ends only, and that their calls are in order."""
    inner = [u for way in found.ways for u in way[1:-1]]
    assert len(inner) == len(set(inner))
    assert not {found.root, found.node} & set(inner)
    assert len({tuple(way) for way in found.ways}) == len(found.ways)
    for way, steps in zip(found.ways, found.steps, strict=True):
        assert (way[0], way[-1]) == (found.root, found.node)
        assert all(graph.has_edge(u, v) for u, v in pairwise(way))
        assert len(steps) == len(way) - 1
        assert steps == sorted(set(steps))


def test_the_example_of_the_paper():
    found = node_disjoint_paths(Hypercube(4), 14, order=(3, 2, 1, 0))
    assert found.ways == [[0, 8, 12, 14], [0, 4, 6, 14], [0, 2, 10, 14], [0, 1, 9, 13, 15, 14]]
    units = [[found.unit(step) for step in steps] for steps in found.steps]
    assert units == [[None, None, None], [None, None, 1], [None, 1, 2], [None, 1, 2, 3, 4]]


@pytest.mark.parametrize("d", range(1, 7))
def test_paths_on_the_hypercube_are_those_of_trees_and_calls(d):
    cube, rng = Hypercube(d), np.random.default_rng(d)
    graph = graph_of(cube)
    for _ in range(3):
        order, root = rng.permutation(d).tolist(), int(rng.integers(cube.nodes))
        trees = calling_trees(cube, order, root)
        schedule = plan(
            "broadcast", cube, root=root, survive=d - 1, model="whispering", builder="dimension-order", order=order
        )
        called = calls(schedule.rows, trees)
        for node in range(cube.nodes):
            if node == root:
                continue
            found = node_disjoint_paths(cube, node, root, order)
            check(found, graph)
            assert found.ways == [tree.way(node) for tree in trees]
            assert found.steps == [
                [int(called[tree, u]) - 1 for u in way[1:]] for tree, way in enumerate(found.ways)
            ]  # fmt: skip


@pytest.mark.parametrize("spec", ["hypercube:3", "hypercube:4", "star:2", "star:3", "star:4"])
def test_there_are_as_many_as_there_can_be(spec):
    where = network(spec)
    graph = graph_of(where)
    for root in (0, where.nodes - 1):
        for node in set(range(where.nodes)) - {root}:
            found = node_disjoint_paths(where, node, root)
            check(found, graph)
            assert len(found.ways) == where.ports
            # networkx counts the ways beside the arc that joins the two, if there is one
            assert len(list(nx.node_disjoint_paths(graph, root, node))) == len(found.ways)


def test_paths_on_the_star_network_are_those_of_its_trees():
    star = network("star:5")
    trees = disjoint_trees(star, 7)
    for node in (0, 50, 119):
        found = node_disjoint_paths(star, node, 7)
        assert found.ways == [tree.way(node) for tree in trees]
        assert [found.unit(step) for step in found.steps[0]] == [None] * len(found.steps[0])


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_paths_in_the_trees_of_the_paper(n):
    star = network(f"star:{n}")
    trees, graph = disjoint_trees(star, trees="paper"), graph_of(star)
    for node in range(1, star.nodes, 1 + star.nodes // 50):
        found = node_disjoint_paths(star, node, trees="paper")
        check(found, graph)
        assert found.ways == [tree.way(node) for tree in trees]


def test_a_large_cube_needs_no_tables():
    found = node_disjoint_paths(Hypercube(40), 2**40 - 1)
    assert [len(way) for way in found.ways] == [41] * 40


@pytest.mark.parametrize(
    ("spec", "node", "options"),
    [
        ("ring:5", 1, {}), ("mesh:2x2", 1, {}), ("hypercube:3", 0, {}), ("hypercube:3", 8, {}), ("hypercube:3", 1, {"root": 9}),
        ("hypercube:3", 1, {"order": (0, 1)}), ("star:4", 1, {"order": (0, 1, 2)}), ("hypercube:0", 0, {}),
    ],
)  # fmt: skip
def test_paths_that_are_not_there(spec, node, options):
    with pytest.raises(TreecastError, match=r"^[^\n]+$"):
        node_disjoint_paths(network(spec), node, **options)
