import networkx as nx
import numpy as np
import pytest

from tests.networks.test_flows import random_graphs
from treecast import bounds
from treecast.lower_bounds.distances import arcs_into_layers
from treecast.networks import network
from treecast.plans import plan


def test_arcs_into_layers_are_the_cuts_of_networkx():
    for where, root in random_graphs(30, 12, seed=9):
        graph, far = nx.DiGraph(where.to_networkx()), where.distance(root, np.arange(where.nodes))
        cuts = list[int]()
        for d in range(1, int(far.max()) + 1):
            near = {v for v in graph if far[v] < d}
            cuts.append(len(list(nx.edge_boundary(graph, near, set(graph) - near))))
        assert arcs_into_layers(where, root).tolist() == cuts


@pytest.mark.parametrize("messages", [1, 5, 30])
def test_two_parts_joined_by_one_link_take_as_many_steps_as_the_bound(messages):
    where = network(nx.barbell_graph(4, 2))
    schedule = plan("broadcast", where, messages=messages)
    least = max(bound.value for bound in bounds("broadcast", where, messages=messages) if bound.of == "steps")
    assert schedule.steps == least == messages + where.eccentricity(0) - 1


@pytest.mark.parametrize("graphs", [6, pytest.param(30, marks=pytest.mark.long)])
def test_no_plan_on_random_graphs_beats_the_bound(graphs):
    for where, root in random_graphs(graphs, 12, seed=10):
        for messages in (1, 7, 40):
            schedule = plan("broadcast", where, root=root, messages=messages)
            known = bounds("broadcast", where, root=root, messages=messages)
            assert schedule.steps >= max(bound.value for bound in known if bound.of == "steps")
