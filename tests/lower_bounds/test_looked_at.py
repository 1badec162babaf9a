"""Bounds that are the greatest over all nodes: counted for all nodes at once, they are those of the nodes one by one."""

import networkx as nx
import pytest

from treecast.lower_bounds import distances
from treecast.networks import network

CONNECTED = [graph for seed in range(30) if nx.is_connected(graph := nx.gnp_random_graph(4 + seed % 9, 0.4, seed=seed))]
ONE_WAY = [
    graph
    for seed in range(60)
    if nx.is_strongly_connected(graph := nx.gnp_random_graph(4 + seed % 5, 0.45, seed=seed, directed=True))
]
NETWORKS = [*CONNECTED, *ONE_WAY, "mesh:3x5", "fat-tree:2", "torus:3x3 without links 0,0-0,1", "kautz:2,2", "path:7"]


@pytest.mark.parametrize("where", NETWORKS, ids=str)
def test_arcs_across_layers_are_those_counted_one_by_one(where):
    where = network(where)
    graph = where.to_networkx()
    out, back = distances.arcs_across(where)
    for row, v in enumerate(distances.looked_at(where)):
        far = nx.single_source_shortest_path_length(graph, v)
        for d in range(1, max(far.values()) + 1):
            arcs = [(far[a] < d, far[b] < d) for a, b in graph.edges()]
            assert (out[row, d], back[row, d]) == (arcs.count((True, False)), arcs.count((False, True)))
