"""Additions that tell what they lose: an exact sum as two float64 for each number, the second with what the first cannot hold.

The error of a sum of two floats is a float, and is found as here (Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B).
"""

from typing import Any

import numpy as np

from treecast.kernels.compiled import njit

BLOCK = 256


@njit(arrays=True)
def add_narrow(rows: Any, total: Any, lost: Any) -> None:
    """Add rows (ranks, numbers) of float32 in float64, which mostly hold the sums, and round them.

    ``lost`` (blocks,): whether any of ``BLOCK`` numbers is not held, or not finite; then these are to be found otherwise.
    """
    every, other = np.empty(BLOCK), np.empty(BLOCK)
    for block in range(len(lost)):
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        out = total[here]
        high, error = every[: len(out)], other[: len(out)]
        high[:] = rows[0, here]
        error[:] = 0.0
        for k in range(1, len(rows)):
            row = rows[k, here]
            for j in range(len(row)):
                a = high[j]
                b = np.float64(row[j])
                t = a + b
                z = t - a
                error[j] += abs((a - (t - z)) + (b - z))
                high[j] = t
        out[:] = high
        some = 0
        for j in range(len(out)):
            some |= error[j] + (high[j] - high[j]) != 0.0
        lost[block] = some


@njit
def begin_sums(row: Any, high: Any, low: Any, lost: Any) -> None:
    """Begin sums with a row of floats."""
    for j in range(len(row)):
        high[j] = float(row[j])
        low[j] = 0.0
        lost[j] = 0.0


@njit
def add_row(row: Any, high: Any, low: Any, lost: Any) -> None:
    """Add a row of floats. ``lost`` gets the sizes of what the second could not hold; where it is 0, ``high + low`` is true."""
    for j in range(len(row)):
        a = high[j]
        b = float(row[j])
        t = a + b
        z = t - a
        error = (a - (t - z)) + (b - z)
        high[j] = t
        a = low[j]
        t = a + error
        z = t - a
        lost[j] += abs((a - (t - z)) + (error - z))
        low[j] = t


@njit
def end_sums(high: Any, low: Any, lost: Any) -> tuple[int, int]:
    """Leave the float64 nearest to a sum in the first, and what is left in the second, which has its sign.

    Return how many sums are lost, or not finite, and so are to be found otherwise; and how many of all are no float64.
    """
    others, inexact = 0, 0
    for j in range(len(high)):
        a = high[j]
        b = low[j]
        t = a if b == 0.0 else a + b  # which keeps -0
        z = t - a
        high[j] = t
        low[j] = (a - (t - z)) + (b - z)
        lost[j] += abs(t - t)  # a nan, of what is not finite
    for j in range(len(high)):
        others += lost[j] != 0.0
        inexact += low[j] != 0.0
    return others, inexact
