"""Tests of heaps for inner loops."""

import numpy as np
import pytest

from treecast.networks.kernels.heaps import cheapest, lift


@pytest.mark.parametrize("seed", range(20))
def test_nodes_leave_a_heap_by_cost_and_of_equal_ones_the_lowest_first(seed: int) -> None:
    rng, nodes = np.random.default_rng(seed), 30
    cost = rng.integers(8, size=nodes).astype(np.float64)
    heap, at, size = np.empty(nodes, np.int64), np.full(nodes, -1), 0
    for v in rng.permutation(nodes).tolist():
        size = lift(heap, at, size, cost, v)
    for v in rng.permutation(nodes)[:10].tolist():  # some cost less later
        cost[v] -= 3
        size = lift(heap, at, size, cost, v)
    assert size == nodes
    taken = [int(cheapest(heap, at, size - i, cost)) for i in range(nodes)]
    assert taken == sorted(range(nodes), key=lambda v: (cost[v], v))
    assert (at == -1).all()
