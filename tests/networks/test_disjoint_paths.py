"""Disjoint paths of least total length, against networkx's flows of least cost."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.plain import graph_of
from tests.strategies import examples
from treecast.errors import NetworkError
from treecast.networks import network
from treecast.networks.flows import disjoint_paths, least_lengths
from treecast.networks.wired import graph_from


def shortest_ways(graph, root, node, most):
    """The least total length of 1, 2 … node-disjoint paths, as many as there are, by networkx."""
    split = nx.DiGraph()
    for v in graph:
        split.add_edge((v, "in"), (v, "out"), capacity=most if v in (root, node) else 1, weight=0)
    for u, v in graph.edges:
        split.add_edge((u, "out"), (v, "in"), capacity=1, weight=1)
    lengths = []
    for copies in range(1, most + 1):
        split.add_edge("from", (root, "out"), capacity=copies, weight=0)
        flow = nx.max_flow_min_cost(split, "from", (node, "in"))
        if sum(flow["from"].values()) < copies:
            break
        lengths.append(nx.cost_of_flow(split, flow))
    return lengths


def check(where, graph, root, node):
    """Hold lengths and ways against networkx: right ends, no node twice, and of the least total length."""
    most = where.ports + 1
    expected = shortest_ways(graph, root, node, most)
    (found,) = least_lengths(where, root, [node], most).tolist()
    assert found == expected + [-1] * (most - len(expected))
    for copies, least in enumerate(expected, 1):
        ways = disjoint_paths(where, root, node, copies)
        passed, arcs = list[int](), list[tuple[int, int]]()
        for way in ways:
            nodes = [root]
            for port in way:
                nodes.append(int(where.neighbor(nodes[-1], port)))
            assert nodes[-1] == node
            passed += nodes[1:-1]
            arcs += pairwise(nodes)
        assert len(ways) == copies
        assert len(set(passed)) == len(passed)
        assert len(set(arcs)) == len(arcs) == least
        assert {root, node}.isdisjoint(passed)
        assert min(passed, default=0) >= 0
        assert [len(way) for way in ways] == sorted(len(way) for way in ways)
    if expected:
        with pytest.raises(NetworkError, match=f"there are {len(expected)} node-disjoint paths"):
            disjoint_paths(where, root, node, len(expected) + 1)


@pytest.mark.parametrize(
    "spec",
    ["star:4", "hypercube:4", "torus:3x4", "ring:6", "mesh:3x4", "complete:5", "tree:2,2", "debruijn:2,3", "kautz:2,2"],
)
def test_ways_are_flows_of_least_cost(spec):
    where = network(spec)
    graph = graph_of(where)
    for root, node in ((0, where.nodes - 1), (where.nodes // 2, 1), (2, where.nodes // 3 + 1)):
        if root != node:
            check(where, graph, root, node)


@examples(60)
@given(st.integers(4, 9), st.integers(0, 2**32 - 1))
def test_ways_on_any_network(nodes, seed):
    """Random arcs one way, on a ring that joins all: later ways often call earlier ones back."""
    random = np.random.default_rng(seed)
    graph = nx.DiGraph([(v, (v + 1) % nodes) for v in range(nodes)])
    graph.add_edges_from((u, v) for u, v in random.integers(0, nodes, (2 * nodes, 2)).tolist() if u != v)
    where = graph_from(graph)
    check(where, graph_of(where), 0, nodes // 2)


@pytest.mark.parametrize(
    "spec", ["star:2", "star:5", "hypercube:0", "hypercube:5", "complete:1", "complete:6", "torus:3x3x2", "torus:4x5", "ring:2",
             "torus:2x4", "torus:1x5"]
)  # fmt: skip
def test_nodes_of_a_type_are_alike(spec):
    where = network(spec)
    types, every = where.types(), np.arange(1, where.nodes)
    assert sum(types.values()) == len(every)
    lengths = [tuple(row) for row in least_lengths(where, 0, every, where.ports).tolist()]
    assert sorted(lengths) == sorted(lengths[v - 1] for v, count in types.items() for _ in range(count))


def test_types_are_few():
    assert [len(network(f"star:{n}").types()) for n in (4, 5, 6, 7)] == [6, 11, 18, 29]
    assert len(network("hypercube:40").types()) == 40
    assert network("torus:8x8x8").types().keys() == {
        64 * a + 8 * b + c for a in range(5) for b in range(a, 5) for c in range(b, 5)
    } - {0}
    assert network("mesh:2x2").types() == {1: 1, 2: 1, 3: 1}


def test_ways_lead_to_another_node():
    where = network("star:4")
    for ask in (lambda: disjoint_paths(where, 3, 3, 1), lambda: least_lengths(where, 3, [1, 3], 1)):
        with pytest.raises(NetworkError, match="1342 is where the paths begin: they need two nodes"):
            ask()
    with pytest.raises(NetworkError, match="24 is no node"):
        disjoint_paths(where, 0, 24, 1)
