"""The symmetry that is found of a graph: what families know of themselves, and nothing that is not so."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from treecast.networks import network
from treecast.networks.alike import alike
from treecast.testing import check_plan
from treecast.verification.verifier import verify

FABRICS = [
    "fat-tree:2",
    "fat-tree:4",
    "fat-tree:6",
    "fat-tree:8",
    "leaf-spine:4,2,4",
    "leaf-spine:6,3,3",
    "leaf-spine:5,4,2",
]


def graph_of(where, seed):
    """The graph of a network whose names and order say nothing."""
    chance = np.random.default_rng(seed)
    name, order = chance.permutation(where.nodes), chance.permutation(where.nodes).tolist()
    graph = nx.MultiGraph()
    relays = np.zeros(where.nodes, bool) if where.relays is None else where.relays
    graph.add_nodes_from((f"n{name[u]}", {"relay": bool(relays[u])}) for u in order)
    graph.add_edges_from((f"n{name[u]}", f"n{name[v]}") for u, v in where.to_networkx().edges() if u < v)
    return graph


def check_turns(where, found):
    """Hold turns against the definition: automorphisms that commute, have their orders, and keep no rank but as the unit."""
    first, head, _ = where.arc_lists()
    tail = np.repeat(np.arange(where.nodes), np.diff(first))
    arcs = np.sort(tail * where.nodes + head)
    relays = np.zeros(where.nodes, bool) if where.relays is None else where.relays
    for turn in found.turns:
        assert np.array_equal(np.sort(turn.image[tail] * where.nodes + turn.image[head]), arcs)
        assert np.array_equal(relays[turn.image], relays)
        for other in found.turns:
            assert np.array_equal(turn.image[other.image], other.image[turn.image])
    carried = found.carry(np.arange(found.order)[:, None], where.ranks)
    assert (carried[1:] != where.ranks).all()
    assert len(found.representatives) * found.order == len(where.ranks)


@pytest.mark.parametrize("spec", FABRICS)
def test_a_fabric_without_names_has_the_symmetry_of_its_family(spec):
    for seed in range(3):
        where = network(graph_of(network(spec), seed))
        found = where.symmetry
        check_turns(where, found)
        assert found.order == network(spec).symmetry.order


@pytest.mark.parametrize(("kind", "spec"), [("alltoall", "fat-tree:4"), ("allgather", "leaf-spine:4,2,4")])
def test_its_plan_is_that_of_the_family(kind, spec):
    where = network(graph_of(network(spec), 1))
    schedule = treecast.plan(kind, where, builder="orbits")
    assert schedule.orbit
    assert schedule.steps == treecast.plan(kind, spec).steps
    check_plan(schedule)
    assert verify(schedule.plain(), method="expanded").holds


def test_what_leads_to_no_rank_and_what_lacks_a_cable():
    graph = graph_of(network("leaf-spine:4,2,2"), 0)
    assert network(graph).symmetry.order == 8
    relays = nx.get_node_attributes(graph, "relay")
    spine = next(node for node in graph if relays[node] and all(relays[other] for other in graph[node]))
    graph.add_node("manager", relay=True)
    graph.add_edge("manager", spine)
    assert network(graph).symmetry.order == 4  # the spines are unlike, and leaves turn
    graph.remove_edge(spine, next(node for node in graph[spine] if node != "manager"))
    assert network(graph).symmetry is None


def test_a_machine_behind_switches_turns():
    assert network("machine:dgx-h100").symmetry.order == 8
    hosts = nx.Graph([(f"h{host}", "switch") for host in range(5)])
    hosts.nodes["switch"]["relay"] = True
    assert network(hosts).symmetry.words == "A+1"


@given(st.integers(2, 9), st.integers(0, 2**36 - 1), st.integers(0, 2**9 - 1), st.integers(1, 3))
def test_what_is_found_of_any_graph_is_a_symmetry(nodes, links, relays, copies):
    """Each graph several times, side by side on one switch: so that something is alike."""
    graph, pairs = nx.Graph(), [(u, v) for u in range(nodes) for v in range(u)]
    for copy in range(copies):
        for u in range(nodes):
            graph.add_node((copy, u), relay=bool(relays >> u & 1) and u > 0)
        graph.add_edges_from(((copy, u), (copy, v)) for i, (u, v) in enumerate(pairs) if links >> i & 1)
        graph.add_edge((copy, 0), "switch")
    graph.nodes["switch"]["relay"] = True
    where = network(nx.convert_node_labels_to_integers(graph))
    found = alike(where)
    if found is not None:
        check_turns(where, found)
