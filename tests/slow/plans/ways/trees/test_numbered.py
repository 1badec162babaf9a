"""Two trees by numbers, on any network whose links lead both ways: as networkx counts ways, and as the verifier judges plans."""

import random
from itertools import pairwise

import networkx as nx
import pytest

from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.plans.ways.trees.numbered import two_trees


def ways(arcs, up, root, node):
    """The nodes of both ways to a node, from it to the root."""
    found = []
    for tree in up:
        way = [node]
        while way[-1] != root:
            arc = tree[way[-1]]
            assert arcs.head[arc] == way[-1]
            way.append(int(arcs.tail[arc]))
        found.append(way)
    return found


def most_ways(graph, root, node, against):
    if against == "links":
        return nx.edge_connectivity(graph, root, node)
    direct = graph.has_edge(root, node)
    rest = nx.restricted_view(graph, [], [(root, node)] if direct else [])
    return direct + (nx.node_connectivity(rest, root, node) if nx.has_path(rest, root, node) else 0)


@pytest.mark.parametrize("graphs", [50, pytest.param(150, marks=pytest.mark.long)])
@pytest.mark.parametrize("against", ["nodes", "links"])
def test_two_ways_lead_to_each_node_to_which_there_are_two(against, graphs):
    counted = 0
    for seed in range(graphs):
        rng = random.Random(seed)
        nodes = rng.randint(3, 16)
        graph = nx.gnm_random_graph(nodes, rng.randint(nodes, 2 * nodes), seed=seed)
        graph = nx.Graph(graph.subgraph(nx.node_connected_component(graph, 0)))
        where = network(nx.convert_node_labels_to_integers(graph))
        arcs, root = arcs_of(where, single=True), rng.randrange(where.nodes)
        up = two_trees(arcs, root, against)
        for node in set(range(where.nodes)) - {root}:
            there = most_ways(nx.convert_node_labels_to_integers(graph), root, node, against) >= 2
            assert (up[:, node] >= 0).all() == (up[:, node] >= 0).any() == there
            if not there:
                continue
            one, other = ways(arcs, up, root, node)
            if against == "nodes":
                assert not set(one[1:-1]) & set(other[1:-1])
            assert not set(map(frozenset, pairwise(one))) & set(map(frozenset, pairwise(other)))
            counted += 1
    assert counted > 3 * graphs
