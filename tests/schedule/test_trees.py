"""Trees and sets of trees, against networkx."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.ways.trees.test_spanning import graphs
from treecast.errors import ScheduleError
from treecast.networks import network
from treecast.plans import disjoint_trees
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule.trees import Tree, TreeSet

FEW = ["star:4", "hypercube:3", "mesh:2x3", "torus:3x4", "ring:5", "path:1", "path:6", "tree:2,3", "complete:6"]


def searched(where, root):
    """By networkx: the breadth-first tree with neighbours in the order of ports."""
    graph, arcs = where.to_networkx(), nx.DiGraph()
    arcs.add_nodes_from(graph)
    arcs.add_edges_from(arc[:2] for arc in sorted(graph.edges(data="port"), key=lambda arc: (arc[0], arc[2])))
    return nx.bfs_tree(arcs, root)


def check(tree, where, root):
    expected = searched(where, root)
    assert list(tree.order) == list(expected)
    assert {(int(tree.parent[v]), v) for v in tree.order[1:].tolist()} == set(expected.edges)
    assert all(int(where.neighbor(tree.parent[v], tree.port[v])) == v for v in tree.order[1:])
    assert [tree.children(u) for u in range(where.nodes)] == [list(expected.successors(u)) for u in range(where.nodes)]


@pytest.mark.parametrize("spec", FEW)
def test_breadth_first_search_is_that_of_networkx_by_ports(spec):
    where = network(spec)
    for root in range(where.nodes):
        check(breadth_first(where, root), where, root)


@given(graphs())
def test_breadth_first_search_of_graphs(drawn):
    check(breadth_first(*drawn), *drawn)


@given(graphs(), st.data())
def test_what_a_tree_says_of_its_nodes(drawn, data):
    where, root = drawn
    tree = breadth_first(where, root)
    kept = data.draw(st.sets(st.integers(0, where.nodes - 1)))
    parent = tree.parent.copy()
    parent[[v for v in tree.order.tolist() if v not in kept]] = -1  # a part, and pieces that hang on nothing
    part = Tree(where, root, parent, tree.port)
    graph = nx.DiGraph([(int(p), v) for v, p in enumerate(parent) if p >= 0])
    graph.add_node(root)
    far = nx.single_source_shortest_path(graph, root)
    assert sorted(part.order.tolist()) == sorted(far)
    assert len(part) == len(far)
    place = {v: i for i, v in enumerate(part.order.tolist())}
    assert all(place[int(parent[v])] < place[v] for v in place if v != root)
    for v in range(where.nodes):
        assert part.depth[v] == (len(far[v]) - 1 if v in far else 0)
        if v in far:
            assert part.way(v) == far[v]
            assert part.branch[v] == (far[v][1] if v != root else root)
            assert part.port_up[v] == (int(where.port_between(v, parent[v])) if v != root else -1)
        else:
            with pytest.raises(ScheduleError, match="does not lead"):
                part.way(v)
    assert part.height == max(map(len, far.values())) - 1
    assert nx.is_arborescence(part.to_networkx())
    assert set(part.to_networkx()) == set(far)


@pytest.mark.parametrize("spec", ["star:4", "hypercube:4", "complete:5"])
def test_a_set_of_trees_is_a_sequence_of_trees(spec):
    where = network(spec)
    trees = disjoint_trees(where, root=where.nodes - 1)
    assert len(trees) == len(list(trees)) == where.ports
    graph = trees.to_networkx()
    for number, tree in enumerate(trees):
        assert tree == trees[number] == trees[number - len(trees)]
        assert np.shares_memory(tree.parent, trees.parent)
        assert tree.depth.tolist() == trees.depths[number].tolist()
        assert TreeSet.of(tree).parent.tolist() == [trees.parent[number].tolist()]
        arcs = {(u, v, port) for u, v, key, port in graph.edges(keys=True, data="port") if key == number}
        assert arcs == {(u, v, port) for u, v, port in tree.to_networkx().edges(data="port")}
    assert trees.height == max(tree.height for tree in trees)
    with pytest.raises(IndexError):
        trees[len(trees)]


def test_siblings_begin_at_the_first_port_or_are_in_the_order_in_which_they_are_served():
    tree = breadth_first(network("complete:5"), 2)
    assert tree.children(2) == [3, 4, 0, 1]
    assert replace(tree, first_port=2).children(2) == [0, 1, 3, 4]
    served = replace(tree, served=np.array([2, 1, 4, 3, 0], np.int32))
    assert served.children(2) == [1, 4, 3, 0]
    assert served != tree
    assert replace(served, served=None) == tree


def test_trees_that_fit_no_network_are_refused_and_no_tree_can_be_changed():
    where = network("ring:4")
    tree = breadth_first(where, 0)
    with pytest.raises(ScheduleError, match=r"of shape \(4,\)"):
        replace(tree, parent=tree.parent[:3])
    with pytest.raises(ScheduleError, match=r"of shape \(trees, 4\)"):
        TreeSet(where, 0, tree.parent, tree.port)
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1
    assert repr(tree) == "Tree(ring:4, root 0, 4 nodes)"
    assert repr(TreeSet.of(tree)) == "TreeSet(ring:4, root 0, 1 tree)"
