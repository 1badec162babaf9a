"""Allgather, reduce-scatter and allreduce on any network, chunk by chunk, and the bounds beside them."""

from itertools import combinations

import networkx as nx
import pytest

from tests.plans.whole.any_machine.test_spread import grid, less_links, star_graph_of_permutations
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify


def dragonfly(routers, links):
    groups, graph = routers * links + 1, nx.Graph()
    for group in range(groups):
        graph.add_edges_from(combinations(range(group * routers, (group + 1) * routers), 2))
        for slot in range(routers * links):
            there = (group + slot + 1) % groups
            back = (routers * links - 1 - slot) // links
            graph.add_edge(group * routers + slot // links, there * routers + back)
    return graph


@pytest.mark.parametrize(
    ("graph", "steps"),
    [
        (less_links(grid([8, 8, 8], True), 3, 5), 103),
        (dragonfly(8, 4), 24),
        (star_graph_of_permutations(6), 144),
        (nx.hypercube_graph(8), 32),
    ],
)
def test_as_few_steps_as_can_be_on_large_networks(graph, steps):
    where = network(nx.convert_node_labels_to_integers(graph))
    for kind, times in (("allgather", 1), ("allreduce", 2)):
        schedule = plan(kind, where, builder="spread")
        assert schedule.steps == times * steps
        assert verify(schedule).holds
