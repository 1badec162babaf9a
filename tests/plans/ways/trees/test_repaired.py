"""Trees after faults: they span what is left, are as many as there can be, and keep what still hangs from the root."""

import random

import networkx as nx
import numpy as np
import pytest

from tests.plans.ways.trees.test_packed import check
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans.ways.trees import repaired
from treecast.plans.ways.trees.packed import packed_trees
from treecast.plans.ways.trees.repaired import repaired_trees


def broken(graph: nx.Graph, rng: random.Random, faults: int) -> nx.Graph:
    """Return a graph without some links and nodes other than 0, as long as that leaves it connected."""
    left = graph.copy()
    for _ in range(faults):
        less = left.copy()
        if rng.random() < 0.3:
            less.remove_node(rng.choice([v for v in less if v != 0] or [0]))
        else:
            less.remove_edge(*rng.choice(list(less.edges)))
        if len(less) > 1 and 0 in less and nx.is_connected(less):
            left = less
    return left


def links_of(trees):
    """Return for each tree above which node each node hangs, as labels."""
    label = trees.network.label
    return [
        {label(v): label(int(tree.parent[v])) for v in range(len(tree.parent)) if v != trees.root} for tree in trees
    ]


@pytest.mark.each(7)
@pytest.mark.parametrize("seed", range(60))
def test_repaired_trees_span_what_is_left_and_keep_what_they_can(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randint(3, 16)
    graph = nx.gnm_random_graph(nodes, rng.randint(nodes, nodes * (nodes - 1) // 2), seed=seed)
    if not nx.is_connected(graph):
        graph = nx.compose(graph, nx.path_graph(nodes))
    before, left = network(graph), broken(graph, rng, 3)
    trees = packed_trees(before, 0, fewest_ways(before, 0).ways)
    after = network(left)
    found = repaired_trees(trees, after)
    root = after.node("0")
    check(found.trees, min(len(trees), fewest_ways(after, root).ways) if len(left) > 1 else 1)
    if found.anew:
        assert not found.kept.any()
        return
    was, now = links_of(trees), links_of(found.trees)
    for mine, old, kept in zip(now, found.old, found.kept, strict=True):
        hung = {"0"} | {v for v in mine if hangs(was[old], v, left)}
        assert {after.label(int(v)) for v in np.flatnonzero(kept)} | {"0"} == hung
        assert all(mine[v] == was[old][v] for v in hung - {"0"})


def hangs(parents: dict[str, str], node: str, left: nx.Graph) -> bool:
    """Return whether the way from the root to a node in a tree is whole."""
    while node != "0":
        if int(parents[node]) not in left or not left.has_edge(int(parents[node]), int(node)):
            return False
        node = parents[node]
    return True


def test_trees_that_cannot_be_completed_are_packed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.circulant_graph(8, [1, 2])
    trees = packed_trees(network(graph), 0, 4)
    graph.remove_edge(0, 1)
    monkeypatch.setattr(repaired, "completed", lambda *arguments: False)
    found = repaired_trees(trees, network(graph))
    assert found.anew
    check(found.trees, 3)


def test_fewer_trees_on_request_keep_those_that_lost_least() -> None:
    graph = nx.convert_node_labels_to_integers(nx.grid_graph((4, 4, 4), periodic=True))
    trees = packed_trees(network(graph), 0, 6)
    graph.remove_edges_from([(0, v) for v in list(graph[0])[:2]])
    found = repaired_trees(trees, network(graph), most=2)
    lost = [int(np.count_nonzero(~kept)) for kept in found.kept]
    assert len(found.trees) == 2
    assert max(lost) == 1  # the root alone: these trees did not use the links
