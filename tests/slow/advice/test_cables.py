"""Machines without a switch: all graphs, and which is the best."""

from itertools import combinations_with_replacement, permutations

import networkx as nx
import pytest

from treecast.advice.saturated import saturated


def every_graph(nodes, ports):
    """Return all connected graphs to which no cable can be added, one of each kind, by brute force."""
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes)]
    found = set()
    for many in range(nodes * ports // 2 + 1):
        for chosen in combinations_with_replacement(pairs, many):
            degrees = [sum(u in pair for pair in chosen) for u in range(nodes)]
            if max(degrees) > ports or sum(degree < ports for degree in degrees) > 1:
                continue
            graph = nx.Graph(chosen)
            if len(graph) < nodes or not nx.is_connected(graph):
                continue
            table = [
                [sum(pair == (min(u, v), max(u, v)) for pair in chosen) for v in range(nodes)] for u in range(nodes)
            ]
            found.add(
                min(tuple(tuple(table[u][v] for v in order) for u in order) for order in permutations(range(nodes)))
            )
    return found


@pytest.mark.parametrize(("nodes", "ports"), [(2, 3), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (5, 2), (5, 3)])
def test_every_graph_is_there_once(nodes, ports):
    found = saturated(nodes, ports)
    wanted = every_graph(nodes, ports)
    least = {
        min(tuple(tuple(table[u][v] for v in order) for u in order) for order in permutations(range(nodes)))
        for table in found
    }
    assert len(least) == len(found)
    assert least == wanted
