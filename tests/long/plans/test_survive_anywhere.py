"""``plan KIND NETWORK --messages 8 --survive 1`` on every kind of network: each single dead node and link does no harm."""

import networkx as nx
import pytest

from tests.plans.test_survive_anywhere import survives
from treecast import plan, sweep, verify
from treecast.against import AGAINST
from treecast.errors import PlanError
from treecast.networks import network


@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("spec", ["dragonfly:8,4", "torus:8x8x8"])
def test_one_fault_is_survived_on_large_networks(spec, against):
    survives(network(spec), against)


@pytest.mark.parametrize("kind", ["scatter", "gather", "allgather", "alltoall"])
def test_as_many_copies_as_ways_on_random_graphs(kind):
    for seed in range(40):
        graph = nx.gnm_random_graph(7, 12, seed=seed)
        most = nx.edge_connectivity(graph)
        if most < 2:
            continue
        for against in ("links", "arcs"):
            schedule = plan(kind, graph, copies=most, against=against)
            assert verify(schedule).holds
            assert sweep(schedule, most - 1, against).holds
            with pytest.raises(PlanError, match="disjoint paths"):
                plan(kind, graph, copies=min(dict(graph.degree).values()) + 1, against=against)
