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
def test_all_distances_are_summed(where, monkeypatch):
    where = network(where)
    graph, ranks = where.to_networkx(), where.ranks.tolist()
    far = dict(nx.all_pairs_shortest_path_length(graph))
    exact = sum(far[u][v] for u in ranks for v in ranks)
    assert distances.apart(where) == exact
    distances.apart.cache_clear()
    monkeypatch.setattr(distances, "_MOST_LOOKED", 0)  # by degrees alone
    assert len(ranks) * (len(ranks) - 1) <= distances.apart(where) <= exact
    distances.apart.cache_clear()
