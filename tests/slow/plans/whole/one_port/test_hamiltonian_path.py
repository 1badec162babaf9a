"""Broadcasts along a path through all nodes: where there is one, and the steps that they take."""

from itertools import pairwise, permutations

import networkx as nx
from networkx.generators.atlas import graph_atlas_g

import treecast
from treecast.networks import network
from treecast.plans.whole.one_port.hamiltonian import path_through_all

SMALL = [graph for graph in graph_atlas_g() if 2 <= len(graph) <= 6 and nx.is_connected(graph)]


def test_a_path_is_found_wherever_there_is_one():
    for graph in SMALL:
        where = network(graph)
        found = path_through_all(where, 0)
        every = permutations(range(1, len(graph)))
        there_is = any(all(graph.has_edge(u, v) for u, v in zip((0, *p), p, strict=False)) for p in every)
        assert bool(found) == there_is
        if found:
            assert sorted(found) == list(range(len(graph)))
            assert found[0] == 0
            assert all(graph.has_edge(u, v) for u, v in pairwise(found))


def test_long_messages_take_it():
    """On a mesh the list schedule of trees for all ports took twice as long; trees that load nodes evenly take a little less."""
    for messages in (60, 1000):
        schedule = treecast.plan("broadcast", "mesh:4x4", messages=messages, model="one-port")
        assert schedule.steps <= messages + 12
    assert treecast.plan("broadcast", "path:9", messages=1000, model="one-port").builder == "hamiltonian"


def test_a_cycle_is_found_wherever_there_is_one():
    for graph in SMALL:
        if len(graph) > 2:
            every = permutations(range(1, len(graph)))
            there_is = any(all(graph.has_edge(u, v) for u, v in pairwise((0, *p, 0))) for p in every)
            assert bool(path_through_all(network(graph), 0, closed=True)) == there_is
