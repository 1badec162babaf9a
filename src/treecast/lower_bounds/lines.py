"""Lower bounds of the total distance of broadcasts on paths and rings: how uninformed nodes between informed ones are reached.

A *gap* is a run of nodes that have not heard. A node of it that hears next has at least as many arcs to go as it is far from the
end of the gap, and divides the gap. Gaps do not depend on each other, but for one thing: in each step no more
nodes hear than have heard before. That is given a price: see ``least_distances``. The proof is in docs/explanation/mesh.md.
"""

from functools import lru_cache

import numpy as np

from treecast.networks.core import Ints

_FAR = 1 << 40
_PRICES = ((), (1,), (2, 1), (4, 2, 1), (8, 4, 2, 1), (16, 8, 4, 2, 1))
"""Prices that have proved good, of nodes that hear in the first step, the second …; in steps not named the price is 0."""
MOST_NODES = 256
"""Nodes of a path or ring whose gaps are counted: a tenth of a second."""


@lru_cache(16)
def least_distances(nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return the least costs of gaps of 0 … N - 1 nodes in ⌈log2 N⌉ steps, at several prices, and the sums to be taken off.

    ``between[i]`` of gaps with informed nodes at both ends, ``beyond[i]`` of those at the end of a path, int64 (prices, N), and
    ``paid[i]``, at price vector i. With a price λ_j ≥ 0 for the nodes that hear in step j, less the nodes that have heard
    before, no broadcast costs more than without. A node that hears in step j adds λ_j, and takes away λ_i in all later
    steps i.
    """
    steps = (nodes - 1).bit_length()
    kinds = [(*prices, *[0] * (steps - len(prices))) for prices in _PRICES if len(prices) <= steps]
    found = [_at_prices(nodes, prices) for prices in kinds]
    between, beyond = (np.array(table) for table in zip(*found, strict=True))
    return between, beyond, np.array([sum(prices) for prices in kinds])


def _at_prices(nodes: int, prices: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return the least costs, with prices, of gaps of 0 … N - 1 nodes between informed nodes, and beyond the last."""
    between = np.full(nodes, _FAR)
    between[0] = 0
    beyond = between
    for step in reversed(range(len(prices))):
        price = prices[step] - sum(prices[step + 1 :])
        # nodes that are reached from one end now, the last of them q arcs away: with the gaps between them, later
        near = np.full(nodes, _FAR)
        near[0] = 0
        for q in range(1, nodes):
            near[q] = min(_FAR, q + price + int((near[:q] + between[q - 1 :: -1]).min()))
        beyond = _joined(near, beyond)
        between = _joined(_joined(near, near), between)
    return between, beyond


def _joined(left: Ints, right: Ints) -> Ints:
    """Return the least left[i] + right[n - i], for every n."""
    found = np.full(len(left), _FAR)
    for i in range(len(left)):
        if left[i] < _FAR:
            np.minimum(found[i:], left[i] + right[: len(left) - i], out=found[i:])
    return np.minimum(found, _FAR)


def least_on_a_ring(nodes: int) -> int:
    """Return a lower bound of the total distance of broadcasts on a ring in the fewest steps: one gap, with two ends."""
    between, _, paid = least_distances(nodes)
    return int((between[:, nodes - 1] - paid).max())


def least_on_a_path(nodes: int, root: int) -> int:
    """Return a lower bound of the total distance of broadcasts on a path in the fewest steps, from a root: two gaps."""
    _, beyond, paid = least_distances(nodes)
    return int((beyond[:, root] + beyond[:, nodes - 1 - root] - paid).max())
