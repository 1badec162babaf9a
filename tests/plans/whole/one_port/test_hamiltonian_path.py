"""Broadcasts along a path through all nodes: where there is one, and the steps that they take."""

from itertools import pairwise, permutations
from random import Random

import networkx as nx
import pytest
from networkx.generators.atlas import graph_atlas_g

import treecast
from treecast import plan, verify
from treecast.errors import PlanError
from treecast.networks import network
from treecast.plans.whole.one_port.hamiltonian import path_through_all


@pytest.mark.parametrize(
    "where", ["mesh:4x5", "star:5", "debruijn:2,6", "kautz:2,3", "random-regular:64,3,5", "mesh:30x30"]
)
def test_so_it_is_on_larger_networks(where):
    assert len(path_through_all(network(where), 0)) == network(where).nodes


@pytest.mark.each(3)
@pytest.mark.parametrize("where", ["mesh:3x4", "petersen", "debruijn:2,3", "path:5", "complete:2"])
@pytest.mark.parametrize("machine", ["one-port", "one-port,half", "one-port,partner"])
@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
def test_steps(where, machine, kind):
    nodes = network(where).nodes
    for messages in (1, 2, 7, 10**6):
        schedule = treecast.plan(kind, where, messages=messages, model=machine, builder="hamiltonian")
        assert treecast.verify(schedule)
        assert messages > 10 or treecast.verify(schedule, method="expanded")
        apart = 1 if machine == "one-port" else 2
        assert schedule.steps == apart * (messages - 1) + nodes - 1
        assert len(schedule.rows) == nodes - 1


@pytest.mark.parametrize("where", ["mesh:3x4", "star:4", "ring:5", "debruijn:2,3", "torus:3x3"])
@pytest.mark.parametrize("machine", ["one-port", "one-port,half"])
def test_an_allgather_takes_the_fewest_steps(where, machine):
    nodes, half = network(where).nodes, machine.endswith("half")
    for kind, messages in (("allgather", 1), ("allgather", 4), ("reduce-scatter", 2)):
        if nodes % 2 and half:
            with pytest.raises(PlanError, match="even number of nodes"):
                treecast.plan(kind, where, messages=messages, model=machine, builder="hamiltonian")
            continue
        schedule = treecast.plan(kind, where, messages=messages, model=machine, builder="hamiltonian")
        assert schedule.steps == (1 + half) * messages * (nodes - 1)
        assert treecast.verify(schedule).ratio == 1
        assert treecast.verify(schedule, method="expanded")


@pytest.mark.slow
def test_sums_past_relays_where_arcs_lead_one_way():
    """From some rank no route leads to a rank that is left: a cycle of routes is to pass no other one twice instead."""
    arcs = [(1, 0), (1, 3), (1, 5), (2, 1), (2, 3), (2, 5), (3, 2), (3, 5), (4, 2), (5, 1), (5, 2), (5, 4)]
    one_way = nx.DiGraph(arcs)
    one_way.nodes[0]["relay"] = True
    for messages in (1, 9):
        assert verify(plan("reduce-scatter", one_way, messages=messages)).holds
    chance = Random(1)
    for seed in range(24):
        graph = nx.gnp_random_graph(chance.randint(4, 7), 0.5, seed=seed, directed=True)
        graph.nodes[0]["relay"] = True
        for kind in ("reduce-scatter", "allreduce"):  # routes back are others than those there, turned round
            try:
                schedule = plan(kind, graph, messages=2)
            except PlanError:
                continue
            assert verify(schedule).holds
            assert verify(schedule, method="expanded").holds


SMALL = [graph for graph in graph_atlas_g() if 2 <= len(graph) <= 6 and nx.is_connected(graph)]


@pytest.mark.slow
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


@pytest.mark.slow
def test_long_messages_take_it():
    """On a mesh the list schedule of trees for all ports took twice as long; trees that load nodes evenly take a little less."""
    for messages in (60, 1000):
        schedule = treecast.plan("broadcast", "mesh:4x4", messages=messages, model="one-port")
        assert schedule.steps <= messages + 12
    assert treecast.plan("broadcast", "path:9", messages=1000, model="one-port").builder == "hamiltonian"


@pytest.mark.slow
def test_a_cycle_is_found_wherever_there_is_one():
    for graph in SMALL:
        if len(graph) > 2:
            every = permutations(range(1, len(graph)))
            there_is = any(all(graph.has_edge(u, v) for u, v in pairwise((0, *p, 0))) for p in every)
            assert bool(path_through_all(network(graph), 0, closed=True)) == there_is
