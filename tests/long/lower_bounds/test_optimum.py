"""No bound is above the optimum: on all small networks, one step less than a bound says cannot be done, as a search finds."""

from functools import cache
from itertools import permutations

import pytest

from tests.lower_bounds.test_optimum import MACHINES, all_of, graphs


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


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("nodes", "least"), [(3, 150), (4, 3500)])
def test_on_all_small_digraphs(nodes, least, machine):
    told, untold = all_of(digraphs(nodes), nodes, machine)
    assert told > least
    assert len(untold) < told / 100


@pytest.mark.parametrize("machine", MACHINES)
def test_on_all_connected_graphs_of_five_nodes(machine):
    """Of few jobs the search does not tell within so many looks: of two messages of every node, most often."""
    told, untold = all_of(graphs(5), 5, machine)
    assert told + len(untold) == 1218
    assert len(untold) < 10
