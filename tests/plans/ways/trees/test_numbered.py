"""Two trees by numbers, on any network whose links lead both ways: as networkx counts ways, and as the verifier judges plans."""

import random

import networkx as nx
import pytest

from treecast import plan, sweep, verify
from treecast.networks import network
from treecast.plans.ways.trees.independent import independent_trees


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
