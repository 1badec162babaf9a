"""No bound is above the optimum: on all small networks, one step less than a bound says cannot be done, as a search finds."""

from functools import cache
from itertools import permutations

import pytest

from tests.lower_bounds.test_optimum import all_of, graphs


@cache
def digraphs(nodes):
    """All digraphs without arcs both of a node with itself, one of each shape, as sets of arcs."""
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    kept, seen = [], set()
    for bits in range(1, 1 << len(pairs)):
        arcs = frozenset(pair for at, pair in enumerate(pairs) if bits >> at & 1)
        if arcs not in seen:
            seen.update(frozenset((to[u], to[v]) for u, v in arcs) for to in permutations(range(nodes)))
            kept.append(arcs)
    return kept


@pytest.mark.parametrize("one_port", [False, True])
def test_on_all_networks_of_four_nodes_and_digraphs_of_three(one_port):
    assert all_of(graphs(4), 4, one_port) > 190
    assert all_of(digraphs(3), 3, one_port) > 150


@pytest.mark.parametrize("one_port", [False, True])
@pytest.mark.parametrize(("shapes", "nodes", "least"), [(graphs, 5, 800), (digraphs, 4, 3500)])
def test_on_all_small_networks(shapes, nodes, least, one_port):
    assert all_of(shapes(nodes), nodes, one_port) > least
