"""Two trees by numbers, on any network whose links lead both ways: as networkx counts ways, and as the verifier judges plans."""

import random
from itertools import pairwise

import networkx as nx
import pytest

from treecast import plan, sweep, verify
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.trees.numbered import two_trees


def ears(seed, nodes):
    """A biconnected graph of long ears, which leave few choices."""
    rng = random.Random(seed)
    graph = nx.cycle_graph(min(nodes, rng.randint(3, 5)))
    while len(graph) < nodes:
        ends, first = rng.sample(sorted(graph), 2), len(graph)
        inner = range(first, min(nodes, first + rng.randint(1, 4)))
        nx.add_path(graph, [ends[0], *inner, ends[1]])
    return graph


@pytest.mark.parametrize("relays", [False, True])
def test_no_biconnected_graph_is_refused(relays):
    for seed in range(12):
        graph = ears(seed, 10 + seed % 7)
        if relays:
            lean = [v for v in graph if graph.degree(v) == 2][::2]
            nx.set_node_attributes(graph, dict.fromkeys(lean, True), "relay")
        where = network(graph)
        root = int(where.ranks[seed % where.rank_count])
        schedule = plan("broadcast", where, root=where.label(root), messages=3, survive=1)
        assert verify(schedule).holds
        assert sweep(schedule, 1, "nodes").holds
        assert sweep(schedule, 1, "links").holds


def test_the_rule_alone_is_enough(monkeypatch):
    """A search that finds nothing leaves the trees of the rule."""
    from treecast.plans.kernels import exchanges

    monkeypatch.setattr(exchanges, "exchange", lambda *_: -1)
    independent_trees.cache_clear()
    for seed in range(6):
        where = network(ears(seed, 60))
        trees = independent_trees(where, 7, 2)
        assert trees is not None
        schedule = plan("broadcast", where, root=7, messages=2, copies=2)
        assert verify(schedule).holds
    independent_trees.cache_clear()


@pytest.mark.parametrize("nodes", [30, 60, pytest.param(100, marks=pytest.mark.long)])
def test_three_ways_from_the_rim_of_a_wheel(nodes):
    """Two of them lead round the rim: trees have to be deep."""
    wheel = nx.wheel_graph(nodes)
    schedule = plan("broadcast", wheel, root=nodes // 2, survive=2)
    assert verify(schedule).holds
    assert sweep(schedule, 1, "nodes").holds


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


@pytest.mark.slow
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


@pytest.mark.long
def test_large_networks_take_no_search():
    where = network(ears(1, 3000))
    assert (two_trees(arcs_of(where, single=True), 0)[:, 1:] >= 0).all()
