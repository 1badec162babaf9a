"""Additions that tell what they lose."""

from typing import Any

from treecast.kernels.compiled import njit


@njit
def add_row(row: Any, high: Any, low: Any, lost: Any) -> None:
    """Add floats to sums of two float64 each, of which the second has what the first could not hold.

    ``lost`` gets the sizes of the errors of the second. Where it is 0, ``high + low`` is the true sum: the error of a sum of two
    floats is a float, and is found as here (Knuth, The Art of Computer Programming 2, 4.2.2, Theorem B).
    """
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
