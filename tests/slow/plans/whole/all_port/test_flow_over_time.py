import networkx as nx
import numpy as np

from tests.networks.test_flows import random_graphs
from treecast.networks import network
from treecast.networks.over_time import quickest


def in_time(where, root, chunks, steps):
    """Return the most units, at most so many for each node, that reach their nodes by some step, and their sends: networkx."""
    graph = nx.DiGraph()
    graph.add_node((root, 0))
    every = range(where.nodes)
    for t in range(steps):
        graph.add_edges_from(((v, t), (v, t + 1), {"weight": 0}) for v in every)
        for v in every:
            graph.add_edges_from(((v, t), (w, t + 1), {"capacity": 1, "weight": 1}) for w in where.neighbors(v))
    graph.add_edges_from(((v, steps), "end", {"capacity": chunks}) for v in every if v != root)
    found = nx.max_flow_min_cost(graph, (root, 0), "end")
    sends = sum(u for a, to in found.items() for b, u in to.items() if b != "end" and a[0] != b[0])
    return sum(to.get("end", 0) for to in found.values()), sends


def test_the_steps_and_the_sends_are_the_fewest_there_can_be():
    for where, root in [(network("kautz:2,3"), 0), (network("mesh:3x3"), 4), *random_graphs(12, 8, seed=3)]:
        for chunks in (1, 3):
            flow, others = quickest(where, root, chunks), where.nodes - 1
            assert in_time(where, root, chunks, flow.steps) == (chunks * others, len(flow.unit))
            assert in_time(where, root, chunks, flow.steps - 1)[0] < chunks * others
            assert sorted(flow.end) == sorted(list(np.delete(np.arange(where.nodes), root)) * chunks)
