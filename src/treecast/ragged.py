"""Ragged tables: rows of different lengths, laid one behind the other in flat arrays.

``count[i]`` is how many entries row i has; row i's entries are at ``starts(count)[i] … starts(count)[i+1]-1``.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]


def starts(count: ArrayLike) -> Ints:
    """Return where each row begins, and where the last ends: int64 (rows + 1,).

    >>> starts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    count = np.asarray(count, np.int64)
    found = np.zeros(len(count) + 1, np.int64)
    np.cumsum(count, out=found[1:])
    return found


def places(count: ArrayLike) -> Ints:
    """Return the place of each entry in its row: 0 … count[0]-1, then 0 … count[1]-1, and so on.

    >>> places([2, 0, 3]).tolist()
    [0, 1, 0, 1, 2]
    """
    count = np.asarray(count, np.int64)
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)


def explode(start: ArrayLike, which: ArrayLike) -> tuple[Ints, Ints]:
    """Return the entries of the rows ``which`` of a table whose rows begin at ``start``, one behind the other.

    The first array names for each entry its place in ``which``, the second its place in the flat table.

    >>> of, entry = explode([0, 2, 2, 5], [2, 0])
    >>> of.tolist(), entry.tolist()
    ([0, 0, 0, 1, 1], [2, 3, 4, 0, 1])
    """
    start, which = np.asarray(start, np.int64), np.asarray(which, np.int64)
    count = start[which + 1] - start[which]
    return np.repeat(np.arange(len(which)), count), np.repeat(start[which], count) + places(count)
