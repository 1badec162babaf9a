"""The ways that are tried to divide a set of nodes of a mesh into two parts: straight cuts, and cuts along staircases.

Communication model: one-port, wormhole, as in ``bisection``: a node informs at most 2^t nodes in t steps, so both
parts have a greatest size. A staircase cuts through the nodes in one of the orders by coordinates.
"""

from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints

_BEST_PLANES = 3  # how many planes per axis are tried of a large set
_MOST_KEPT = 512  # cells of a box whose orders are kept
Shape = tuple[int, ...]


class Effort(NamedTuple):
    """How many cuts are tried: numbers of nodes.

    ``small``: sets up to this size are cut along staircases even where straight cuts fit. ``many``: larger sets are cut along
    fewer staircases. ``large``: larger sets are not cut along all planes. ``narrow``: larger sets are cut along one plane per
    axis, and along the staircases across the longest axis.
    """

    small: int
    many: int
    large: int
    narrow: int = 2**62


def divisions(mask: NDArray[np.bool_], most: int, effort: Effort) -> NDArray[np.bool_]:
    """Return the low parts of the cuts that leave both parts at most ``most`` nodes: bool (cuts, *shape), each once.

    They are straight cuts; and staircases if there is none, and in small sets that are not to be halved exactly.
    """
    size = int(np.count_nonzero(mask))
    lows = _straight(mask, size, most, effort)
    if lows and (size > effort.small or size == 2 * most):
        return np.array(lows)
    few = size > (effort.many if mask.ndim <= 3 else effort.many // 2)
    counts = sorted({size - min(most, size - 1), min(most, size - 1)})
    lows += _staircases(mask, counts, few=few, longest=size > effort.narrow)
    return np.array(list({low.tobytes(): low for low in lows}.values()))


def _straight(mask: NDArray[np.bool_], size: int, most: int, effort: Effort) -> list[NDArray[np.bool_]]:
    lows: list[NDArray[np.bool_]] = []
    for axis in range(mask.ndim):
        below = np.cumsum(mask.sum(axis=tuple(a for a in range(mask.ndim) if a != axis)))
        planes = np.flatnonzero((below <= most) & (size - below <= most) & (below < size) & (below > 0))
        if size > min(effort.large, effort.narrow):  # there may be many: take those that halve best
            order = np.argsort(np.abs(2 * below[planes] - size), kind="stable")
            planes = planes[order[: 1 if size > effort.narrow else _BEST_PLANES]]
        for plane in planes.tolist():
            low = mask.copy()
            low[tuple(slice(None) if a != axis else slice(plane + 1, None) for a in range(mask.ndim))] = False
            lows.append(low)
    return lows


def _staircases(mask: NDArray[np.bool_], counts: list[int], *, few: bool, longest: bool) -> list[NDArray[np.bool_]]:
    """Return the first nodes of a set, as many as each of ``counts`` says, in each of several orders by coordinates."""
    find = _orders if mask.size <= _MOST_KEPT else _orders.__wrapped__
    orders = find(mask.shape, few, longest)
    inside = mask.reshape(-1)[orders]
    number = np.cumsum(inside, axis=1)
    chosen = inside[:, None] & (number[:, None] <= np.array(counts)[:, None])  # (orders, counts, cells)
    lows = np.empty_like(chosen)
    np.put_along_axis(lows, orders[:, None], chosen, axis=-1)
    return list(lows.reshape(-1, *mask.shape))


@lru_cache(256)
def _orders(shape: Shape, few: bool, longest: bool) -> Ints:
    """Return the cells of a box in each of several orders by coordinates: int64 (orders, cells).

    The axes in any order, and counted backwards, all but the first; if ``few``, none backwards; if ``longest``, the longest
    axis comes first, the others by length.
    """
    cells = np.indices(shape).reshape(len(shape), -1)
    axes = permutations(range(len(shape)))
    if longest:
        axes = [tuple(np.argsort([-side for side in shape], kind="stable").tolist())]
    flips = [(1,) * (len(shape) - 1)] if few else list(product((1, -1), repeat=len(shape) - 1))
    return np.array(
        [
            np.lexsort([cells[a] * f for a, f in zip(order, (1, *flip), strict=True)][::-1])
            for order in axes
            for flip in flips
        ]
    )
