import networkx as nx
import numpy as np
import pytest

from tests.oracles.plain import lexicographic
from treecast.networks import Star


def swap_graph(n):
    """S_n from its definition: permutations as tuples, joined by a swap of the first symbol with another."""
    graph = nx.Graph()
    for row in map(tuple, lexicographic(n).tolist()):
        for k in range(1, n):
            other = list(row)
            other[0], other[k] = row[k], row[0]
            graph.add_edge(row, tuple(other), dimension=k + 1)
    return graph


@pytest.mark.parametrize("n", range(2, 7))
def test_the_network_is_the_one_of_the_definition(n):
    star, graph, rows = Star(n), swap_graph(n), [tuple(r) for r in lexicographic(n).tolist()]
    assert star.nodes == len(graph)
    assert star.arcs == 2 * graph.number_of_edges()
    assert star.diameter == nx.diameter(graph)
    for u, row in enumerate(rows):
        assert star.label(u) == "".join(map(str, row))
        assert star.node(star.label(u)) == u
        for port in range(star.ports):
            other = rows[int(star.neighbor(u, port))]
            assert graph[row][other]["dimension"] == port + 2
    distance = nx.single_source_shortest_path_length(graph, rows[0])
    assert star.distance(0, np.arange(star.nodes)).tolist() == [distance[row] for row in rows]


@pytest.mark.parametrize("n", range(2, 7))
def test_necklaces_divide_the_nodes_and_the_degree(n):
    star = Star(n)
    seen = [u for u in range(star.nodes) for _ in [0] if u == min(star.necklace(u))]
    assert sum(len(star.necklace(u)) for u in seen) == star.nodes
    assert all(star.ports % len(star.necklace(u)) == 0 for u in seen)
