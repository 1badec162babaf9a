"""Bounds that are the greatest over all nodes: counted for all nodes at once, they are those of the nodes one by one."""

import networkx as nx
import pytest

from tests.lower_bounds.test_looked_at import NETWORKS, ONE_WAY
from treecast.collectives import Collective
from treecast.lower_bounds.doors import doors
from treecast.lower_bounds.job import Problem
from treecast.models import model
from treecast.networks import network


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
