"""Bounds that are the greatest over all nodes: counted for all nodes at once, they are those of the nodes one by one."""

import networkx as nx
import numpy as np
import pytest

from treecast.collectives import Collective
from treecast.lower_bounds import distances
from treecast.lower_bounds.doors import doors
from treecast.lower_bounds.job import Problem
from treecast.models import model
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


@pytest.mark.parametrize("spec", ["dragonfly:4,2,2", "leaf-spine:3,2,4", "mesh:3x5"])
@pytest.mark.parametrize("inwards", [False, True])
def test_a_large_network_is_asked_for_each_node_once(spec, inwards, monkeypatch):
    where, asked = network(spec), list[int]()
    degree_at = type(where).degree_at
    job = Problem(Collective.over(where, "alltoall"), where, 1, model("all-port"))
    ranks = np.repeat(where.ranks, 3)
    counted = job.room_at(ranks, inwards=inwards).tolist()
    monkeypatch.setattr(distances, "LISTED", 0)
    monkeypatch.setattr(type(where), "degree_at", lambda self, v: asked.append(v) or degree_at(self, v))
    assert job.room_at(ranks, inwards=inwards).tolist() == counted
    assert sorted(asked) == where.ranks.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("ports", ["all-port", "one-port"])
@pytest.mark.parametrize("messages", [1, 5, 600])
@pytest.mark.parametrize("kind", ["allgather", "alltoall"])
def test_the_node_with_the_greatest_bound_is_found(kind, messages, ports):
    """By plain loops over all ranks: what comes in from each distance and beyond, and what an allgather's blocks have to go."""
    assert len(ONE_WAY) > 5
    for where in map(network, NETWORKS):
        graph, ranks = where.to_networkx(), where.ranks.tolist()
        far = dict(nx.all_pairs_shortest_path_length(graph))
        least = 0
        for v in ranks:
            into, out = (1, 1) if ports == "one-port" else (graph.in_degree(v), graph.out_degree(v))
            sides = [(into, [far[u][v] for u in ranks])]
            if kind == "alltoall":
                sides.append((out, [far[v][u] for u in ranks]))
            else:
                least = max(least, -(-messages // out) - 1 + max(far[v][u] for u in ranks))
            for room, away in sides:
                for d in range(1, max(away) + 1):
                    least = max(least, d - 1 - (-messages * sum(e >= d for e in away) // room))
        job = Problem(Collective.over(where, kind, messages), where, 1, model(ports))
        assert max(bound.value for bound in doors(job, [])) == least
