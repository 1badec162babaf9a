"""Copies past relays: as many as ways lead to every rank, whatever ways lead to relays."""

import random

import networkx as nx
import numpy as np
import pytest

from treecast import plan, sweep, verify
from treecast.against import AGAINST
from treecast.networks import network
from treecast.networks.flows import arc_connectivity, connectivity, fewest_apart
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.trees.past_relays import part_for


def random_with_relays(seed, most=24):
    """Some ranks, relays of few links between them, and more links; networkx finds two node-disjoint paths to each rank."""
    rng = random.Random(seed)
    directed, nodes = rng.random() < 0.4, rng.randint(4, most)
    ranks = rng.randint(2, nodes - 1)
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_nodes_from((v, {"relay": v >= ranks}) for v in range(nodes))
    while True:
        for _ in range(nodes // 2):
            graph.add_edge(*rng.sample(range(nodes), 2))
        if all(
            (not graph.has_edge(0, v) and nx.node_connectivity(graph, 0, v) > 1) or _beside(graph, v)
            for v in range(1, ranks)
        ):
            return graph


def _beside(graph, v):
    """Whether two node-disjoint paths lead to v, one of them an arc."""
    if not graph.has_edge(0, v):
        return False
    rest = nx.restricted_view(graph, [], [(0, v)])
    return nx.has_path(rest, 0, v)


def ways_to_ranks(graph, against, root=0):
    """Return the fewest ways from a node to any rank, as networkx counts them."""
    whole = nx.DiGraph(graph)
    found = []
    for v, relay in graph.nodes(data="relay"):
        if relay or v == root:
            continue
        if against != "nodes":
            found.append(nx.edge_connectivity(whole, root, v))
            continue
        direct = whole.has_edge(root, v)
        rest = nx.DiGraph(whole)
        rest.remove_edges_from([(root, v)] if direct else [])
        found.append(direct + (nx.node_connectivity(rest, root, v) if nx.has_path(rest, root, v) else 0))
    return min(found)


def needs(trees, v, tree, against):
    """What a way takes that no other may, walked node by node."""
    found = set[object]()
    while v != trees.root:
        up = int(trees.parent[tree, v])
        found.add(
            {"nodes": up, "links": frozenset((up, v)), "arcs": (up, v)}[against]
            if up != trees.root or against != "nodes"
            else (up, v)
        )
        v = up
    return found


def check(graph, against):
    """Assert that there are as many trees as ways, and that the ways to each rank are apart; return whether they share arcs."""
    where = network(graph)
    most = ways_to_ranks(graph, against)
    assert fewest_apart(where, 0, against).ways == most
    trees = independent_trees(where, 0, most, 1, against)
    assert trees is not None
    assert len(trees) == most
    for v in where.ranks[where.ranks != 0].tolist():
        every = [needs(trees, v, tree, against) for tree in range(most)]
        assert sum(map(len, every)) == len(set.union(*every))
    arc = part_for(where, 0, most, against).arc
    return most > 1 and len(set(arc.tolist())) < len(arc)


@pytest.mark.parametrize("seed", range(12))
def test_ways_between_ranks_are_those_of_the_worst_pair(seed):
    graph = random_with_relays(seed, 9)
    where = network(graph)
    for against, count in (("nodes", connectivity), ("links", arc_connectivity)):
        worst = min(ways_to_ranks(graph, against, root) for root in where.ranks.tolist())
        assert count(where) == max(worst, 1)


@pytest.mark.parametrize("against", AGAINST)
def test_as_many_trees_as_ways_lead_to_every_rank(against):
    for seed in range(20):
        check(random_with_relays(seed, 12), against)


@pytest.mark.parametrize("seed", range(6))
def test_plans_hold_and_every_fault_is_survived(seed):
    graph = random_with_relays(seed, 9)
    for against in AGAINST:
        copies = ways_to_ranks(graph, against)
        schedule = plan("broadcast", network(graph), root="0", messages=seed + 1, copies=copies, against=against)
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds
        found = sweep(schedule, copies - 1, against)
        assert found.holds
        assert found.exhaustive


def test_relays_that_no_rank_needs_are_left_out():
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (0, "hanging"), ("hanging", "behind"), (1, "between"), (2, "between")])
    nx.set_node_attributes(graph, dict.fromkeys(["hanging", "behind", "between"], True), "relay")
    where = network(graph)
    for against in AGAINST:
        part = part_for(where, where.node(0), 2, against)
        assert set(where.labels(part.node)) == {"0", "1", "2", "between"}
        assert len(set(part.arc.tolist())) == len(part.arc)
        assert np.array_equal(
            part.arcs.head,
            np.searchsorted(
                part.node,
                np.array(
                    [where.neighbor(part.node[u], p) for u, p in zip(part.arcs.tail, part.arcs.port, strict=True)]
                ),
            ),
        )


@pytest.mark.long
def test_a_thousand_graphs_with_relays():
    found = [check(random_with_relays(seed), against) for seed in range(1000) for against in AGAINST]
    assert any(found)
