from random import Random

import networkx as nx
import pytest
from networkx.algorithms.connectivity import (
    build_auxiliary_edge_connectivity,
    build_auxiliary_node_connectivity,
    local_edge_connectivity,
    local_node_connectivity,
)
from networkx.algorithms.flow import build_residual_network

from treecast.networks import Graph, network
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import connectivity, fewest_apart, fewest_ways, least_cut


def random_graphs(count, most, seed=1, *, several=False):
    """Yield random graphs and digraphs of 2 … ``most`` nodes in which every node reaches every other, and a root.

    ``several``: two in five have several links, or arcs, between the same nodes.
    """
    rng = Random(seed)
    while count:
        n, directed = rng.randint(2, most), rng.random() < 0.5
        graph = nx.gnp_random_graph(n, rng.uniform(1.5 / n, 0.8), seed=rng.randint(0, 10**9), directed=directed)
        if (nx.is_strongly_connected if directed else nx.is_connected)(graph):
            count -= 1
            if several and rng.random() < 0.4:
                graph = (nx.MultiDiGraph if directed else nx.MultiGraph)(graph)
                graph.add_edges_from([ends for ends in list(graph.edges()) for _ in range(rng.choice((0, 0, 1, 2)))])
            yield network(graph), rng.randrange(n)


def arc_ways(where, root):
    """Return the most arc-disjoint paths to each node, by networkx."""
    graph = nx.DiGraph(where.to_networkx())
    auxiliary = build_auxiliary_edge_connectivity(graph)
    residual = build_residual_network(auxiliary, "capacity")
    others = [v for v in graph if v != root]
    return {v: local_edge_connectivity(graph, root, v, auxiliary=auxiliary, residual=residual) for v in others}


def arc_flows(where, root):
    """Return the least flow to any node, by networkx, where there may be several arcs between the same nodes."""
    arcs, graph = arcs_of(where), nx.DiGraph()
    graph.add_nodes_from(range(where.nodes))
    for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        graph.add_edge(u, v, capacity=graph.get_edge_data(u, v, {"capacity": 0})["capacity"] + 1)
    return min(nx.maximum_flow_value(graph, root, v) for v in graph if v != root)


def node_ways(where, root):
    """Return the most node-disjoint paths to each node, by networkx; the arc from the root is one of them."""
    graph = nx.DiGraph(where.to_networkx())
    found = {}
    for v in set(graph) - {root}:
        near = graph.has_edge(root, v)
        without = nx.restricted_view(graph, [], [(root, v)]) if near else graph
        auxiliary = build_auxiliary_node_connectivity(nx.DiGraph(without))
        found[v] = near + local_node_connectivity(nx.DiGraph(without), root, v, auxiliary=auxiliary)
    return found


@pytest.mark.parametrize(
    ("spec", "ways"),
    [("path:2", 1), ("path:5", 1), ("ring:9", 2), ("mesh:4x4x4", 3), ("torus:5x6", 4), ("star:5", 4), ("kautz:3,3", 3)],
)
def test_networks_of_which_it_is_known(spec, ways):
    where = network(spec)
    assert fewest_ways(where, 0).ways == fewest_ways(where, 0, nodes=True).ways == ways


def test_ways_that_share_no_link_and_several_arcs_between_two_nodes():
    for where, root in random_graphs(20, 8, seed=14, several=True):
        assert fewest_ways(where, root).ways == arc_flows(where, root)
        single = network(nx.DiGraph(where.to_networkx()))
        assert fewest_apart(where, root, "links").ways == fewest_apart(single, root, "arcs").ways
        assert fewest_apart(where, root, "nodes").ways == min(node_ways(single, root).values())
        found = fewest_apart(where, root, "links")
        assert len(set(least_cut(where, root, found.node, "links"))) == found.ways


def test_a_node_that_cuts_others_off():
    bow = network(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]))
    assert fewest_ways(bow, 0).ways == 2
    found = fewest_ways(bow, 0, nodes=True)
    assert (found.ways, least_cut(bow, 0, found.node)) == (1, ["2"])


@pytest.mark.slow
def test_the_fewest_arc_disjoint_ways_are_the_least_flow_of_networkx():
    for where, root in random_graphs(60, 24):
        found, flows = fewest_ways(where, root), arc_ways(where, root)
        assert found.ways == min(flows.values()) == flows[found.node]


@pytest.mark.slow
def test_the_fewest_node_disjoint_ways_are_those_of_networkx():
    for where, root in random_graphs(40, 12, seed=2):
        found, flows = fewest_ways(where, root, nodes=True), node_ways(where, root)
        assert found.ways == min(flows.values()) == flows[found.node]
        cut = least_cut(where, root, found.node)
        assert len(cut) == found.ways
        nodes = [where.node(label) for label in cut if "-" not in label]
        assert len(cut) - len(nodes) == (where.port_between(root, found.node) >= 0)
        left = nx.restricted_view(where.to_networkx(), nodes, [(root, found.node)])
        assert not nx.has_path(left, root, found.node)


@pytest.mark.slow
def test_the_connectivity_is_that_of_the_worst_root():
    for where, _ in random_graphs(40, 9, seed=11):
        assert connectivity(where) == min(min(node_ways(where, root).values()) for root in range(where.nodes))


@pytest.mark.parametrize("nodes", range(4, 8))
def test_the_connectivity_of_dense_networks_is_their_least_degree(nodes):
    """Of N nodes with N - 2 arcs each way or more: all pairs less a matching, or an arc of each, or two of one."""
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    every = range(nodes)
    for less in ({(u, u ^ 1) for u in every}, {(u, (u + 1) % nodes) for u in every}, {(0, 1), (2, 1)}):
        where = Graph(f"{nodes} less {less}", list(map(str, every)), [pair for pair in pairs if pair not in less])
        assert connectivity(where) == min(min(node_ways(where, root).values()) for root in every)
