"""Complete trees against networkx."""

from dataclasses import FrozenInstanceError
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import NetworkError
from treecast.networks import network as spelled
from treecast.networks.core import Network
from treecast.networks.tree import Tree

LEAST, MOST = -(2**63), 2**63 - 1
"""The extreme node and port numbers that an array can hold."""

SMALL = [(arity, depth) for arity, depth in product(range(1, 7), range(7)) if Tree(arity, depth).nodes <= 130]


@pytest.mark.parametrize(("arity", "depth"), SMALL)
def test_closed_forms(arity: int, depth: int) -> None:
    tree = Tree(arity, depth)
    truth = nx.balanced_tree(arity, depth)  # numbered breadth-first too
    nodes = np.arange(tree.nodes)
    assert tree.nodes == len(truth)
    assert set(tree.to_networkx().edges()) == set(truth.to_directed().edges())
    assert tree.arcs == 2 * truth.number_of_edges()
    assert tree.ports == arity + 1
    assert tree.degree == max(degree for _, degree in truth.degree())
    assert tree.diameter == nx.diameter(truth)
    distances = tree.distance(nodes[:, None], nodes)
    lengths = dict(nx.all_pairs_shortest_path_length(truth))
    assert distances.tolist() == [[lengths[u][v] for v in nodes] for u in nodes]
    assert [tree.eccentricity(u) for u in nodes] == distances.max(axis=1).tolist()


@pytest.mark.parametrize(("arity", "depth"), SMALL)
def test_ports_are_the_children_in_order_and_the_parent(arity: int, depth: int) -> None:
    tree = Tree(arity, depth)
    below = nx.bfs_tree(nx.balanced_tree(arity, depth), 0)
    for u in range(tree.nodes):
        children = sorted(below.successors(u)) or [-1] * arity
        parent = list(below.predecessors(u)) or [-1]
        assert tree.neighbor(u, np.arange(tree.ports)).tolist() == children + parent
    nodes = np.arange(tree.nodes)
    ports = tree.port_between(nodes[:, None], nodes)
    assert np.array_equal(ports, Network._port(tree, *np.broadcast_arrays(nodes[:, None], nodes)))
    assert np.count_nonzero(ports >= 0) == tree.arcs


@pytest.mark.parametrize("tree", [Tree(2, 3), Tree(1, 4), Tree(3, 0), Tree(2**39, 1)])
def test_there_is_no_arc_outside(tree: Tree) -> None:
    nodes, ports = np.array([LEAST, -1, tree.nodes, MOST]), np.array([LEAST, -1, tree.ports, MOST])
    assert (tree.neighbor(nodes[:, None], [*ports, 0, tree.arity]) == -1).all()
    assert (tree.neighbor([[0], [tree.nodes - 1]], ports) == -1).all()
    assert (tree.port_between(nodes[:, None], [*nodes, 0]) == -1).all()
    assert (tree.port_between([[0], [tree.nodes - 1]], nodes) == -1).all()
    assert tree.port_between(0, 0) == -1
    for u, port in product((LEAST, -1, tree.nodes, MOST), (LEAST, -1, 0, tree.ports, MOST)):
        assert tree.neighbor(u, port) == tree.port_between(u, port) == tree.port_between(port, u) == -1


@given(st.integers(1, 9), st.integers(0, 12), st.data())
def test_at_any_size(arity: int, depth: int, data: st.DataObject) -> None:
    tree = Tree(arity, depth)
    node = st.integers(0, tree.nodes - 1)
    u, v = data.draw(node), data.draw(node)
    there = tree.neighbor(u, np.arange(tree.ports))
    arcs = there[there >= 0]
    assert 0 <= arcs.size <= tree.degree
    assert np.array_equal(tree.port_between(u, arcs), np.flatnonzero(there >= 0))
    back = tree.port_between(arcs, u)
    assert np.array_equal(tree.neighbor(arcs, back), np.full(arcs.size, u))
    distance = int(tree.distance(u, v))
    assert distance == tree.distance(v, u) <= tree.eccentricity(u) <= tree.diameter
    if u != v:  # one way leads nearer, all others farther
        assert sorted(tree.distance(arcs, v) - distance) == [-1] + [1] * (arcs.size - 1)
    assert spelled(tree.spec) == tree
    assert tree.node(tree.label(u)) == u


def test_names() -> None:
    tree = spelled("tree:3,2")
    assert (tree.spec, tree.nodes, tree.arity, tree.depth) == ("tree:3,2", 13, 3, 2)
    assert tree == Tree(3, 2) != Tree(2, 3)
    assert spelled("tree: 3 , 2 ") == tree
    assert [tree.port_name(port) for port in range(4)] == ["child 0", "child 1", "child 2", "parent"]
    assert (tree.label(12), tree.node("12")) == ("12", 12)
    assert tree.distance([[4], [12]], [0, 5, 12]).tolist() == [[2, 2, 4], [2, 4, 0]]
    assert (tree.distance(4, 5).shape, tree.distance(4, 5).dtype) == ((), np.int64)
    assert tree.neighbor(np.zeros((5, 1), np.int32), [0, 1]).shape == (5, 2)
    for name in ("arity", "depth", "arbitrary"):
        with pytest.raises(FrozenInstanceError):
            setattr(tree, name, 1)


def test_as_large_as_it_may_be() -> None:
    deep, wide, thin = Tree(2, 39), Tree(2**40 - 1, 1), Tree(1, 2**40 - 1)
    assert (deep.nodes, wide.nodes, thin.nodes) == (2**40 - 1, 2**40, 2**40)
    assert deep.distance(2**39 - 1, 2**40 - 2) == deep.diameter == 78
    assert wide.neighbor(wide.nodes - 1, [0, wide.arity]).tolist() == [-1, 0]
    assert wide.port_between(0, wide.nodes - 1) == wide.arity - 1
    assert thin.distance(0, thin.nodes - 1) == thin.eccentricity(0) == thin.diameter
    assert Tree(2**40, 0).nodes == 1


@pytest.mark.parametrize(
    "text", ["", "3", "3,", ",2", "3,2,1", "3x2", "-3,2", "3,-2", "3.0,2", "٣,2", "a\nb", "9" * 20]
)
def test_misspelt(text: str) -> None:
    with pytest.raises(NetworkError) as caught:
        spelled(f"tree:{text}")
    message = str(caught.value)
    assert repr(f"tree:{text}") in message
    assert message.endswith("as in tree:3,2; did you mean 'tree:3,2'?" if text == "3x2" else "as in tree:3,2")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Tree(0, 2), "arity of at least 1"),
        (lambda: Tree(2, -1), "depth of at least 0"),
        (lambda: Tree(2.0, 1), "as in tree:3,2"),
        (lambda: Tree(2, 40), "2\\^40"),
        (lambda: Tree(2**40, 1), "2\\^40"),
        (lambda: Tree(2**40 + 1, 0), "2\\^40"),
        (lambda: Tree(1, 2**40), "2\\^40"),
        (lambda: Tree(10**9, 10**18), "2\\^40"),
        (lambda: Tree(3, 2).node("13"), "nodes go from 0 to 12"),
        (lambda: Tree(3, 2).node("root"), "a label like 12"),
        (lambda: Tree(3, 2).eccentricity(13), "nodes go from 0 to 12"),
        (lambda: Tree(3, 2).port_name(4), "4 ports"),
        (lambda: Tree(3, 2).port_name(-1), "4 ports"),
    ],
)
def test_what_does_not_exist(make: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
