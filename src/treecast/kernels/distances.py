"""Inner loops of recursive bisection: least distances over grids, in flat arrays with the sides beside them."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit


@njit
def sweep(field, sides, around, one):
    """Replace each entry of ``field``, int64, by the least of entry + ``one`` · L1 distance over all entries, in place.

    ``around``: int64, the length of each axis where its ends are joined, at least the side, else 0. Two sweeps per axis.
    """
    inner = 1
    for axis in range(len(sides) - 1, -1, -1):
        size = inner * sides[axis]
        for low in range(0, len(field), size):
            for _ in range(2 if around[axis] else 1):  # the second time with what came round
                for at in range(low + inner, low + size):
                    field[at] = min(field[at], field[at - inner] + one)
                for at in range(low + size - inner - 1, low - 1, -1):
                    field[at] = min(field[at], field[at + inner] + one)
                if around[axis]:
                    gap = (around[axis] - sides[axis] + 1) * one
                    for at in range(low, low + inner):
                        first, last = field[at], field[at + size - inner]
                        field[at] = min(first, last + gap)
                        field[at + size - inner] = min(last, first + gap)
        inner = size


@njit
def bounds(mask, sides, low, high):
    """Fill ``low`` and ``high``, int64 (axes,), with the first and the last place along each axis that a flat mask uses."""
    low[:] = sides
    high[:] = -1
    at = np.zeros(len(sides), np.int64)
    for i in range(len(mask)):
        if mask[i]:
            for axis in range(len(sides)):
                low[axis] = min(low[axis], at[axis])
                high[axis] = max(high[axis], at[axis])
        for axis in range(len(sides) - 1, -1, -1):
            at[axis] += 1
            if at[axis] < sides[axis]:
                break
            at[axis] = 0
