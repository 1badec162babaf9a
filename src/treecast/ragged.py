"""Ragged tables: rows of different lengths, laid one behind the other in flat arrays.

``count[i]`` is how many entries row i has; row i's entries are at ``starts(count)[i] … starts(count)[i+1]-1``.
"""

from typing import Any

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


def turns(key: ArrayLike) -> Ints:
    """Return how many entries with the same key stand before each: int64 (entries,).

    >>> turns([3, 5, 3, 3, 5])
    array([0, 0, 1, 2, 1])
    """
    key = np.asarray(key)
    found = np.empty(len(key), np.int64)
    found[np.argsort(key, kind="stable")] = places(np.unique(key, return_counts=True)[1])
    return found


def cut_evenly(size: int, parts: int) -> Ints:
    """Return where each of some parts of ``size`` begins, and where the last ends; their sizes differ by 1 at most.

    >>> cut_evenly(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    each, over = divmod(size, max(parts, 1))
    at = np.arange(parts + 1, dtype=np.int64)
    return at * each + at * over // max(parts, 1)


def runs(mask: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return where each run of a mask begins, and the place behind its end.

    >>> first, stop = runs(np.array([True, True, False, True]))
    >>> first.tolist(), stop.tolist()
    ([0, 3], [2, 4])
    """
    ends = np.flatnonzero(np.diff(np.concatenate(([0], mask, [0]))))
    return ends[::2], ends[1::2]


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


def ranks(start: ArrayLike, *columns: ArrayLike) -> Ints:
    """Return the rank of each row of a table whose rows begin at ``start``, int64 (rows,); equal rows have equal ranks.

    An entry is a row of the ``columns`` at its place. Rows are compared entry by entry, as Python compares tuples: a row
    comes before the longer rows that begin with it. There are as many ranks as different rows.

    >>> ranks([0, 1, 3, 3, 4], [5, 5, 6, 5]).tolist()
    [1, 2, 0, 1]
    """
    start = np.asarray(start, np.int64)
    entry = _dense_ranks(*columns) + 1  # 0 is left for "the row is over"
    while int((count := np.diff(start)).max(initial=0)) > 1:
        # halve the rows: the rank of a pair of entries stands for both, and keeps the order
        halved = (count + 1) // 2
        first = np.repeat(start[:-1], halved) + 2 * places(halved)
        over = first + 1 == np.repeat(start[1:], halved)
        second = np.where(over, 0, entry[np.where(over, first, first + 1)])
        entry, start = _dense_ranks(entry[first], second) + 1, starts(halved)
    if len(entry) == len(start) - 1:  # no row is empty
        return entry - 1
    rank = np.zeros(len(start) - 1, np.int64)
    rank[np.diff(start) == 1] = entry
    return _dense_ranks(rank)


def _dense_ranks(*columns: ArrayLike) -> Ints:
    """Return the rank of each entry; equal entries have equal ranks, and no rank is left out."""
    keys = [np.asarray(column) for column in columns]
    order = keys[0].argsort(kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    greater = np.zeros(len(order), np.int64)
    for key in keys:
        greater[1:] |= key[order[1:]] != key[order[:-1]]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(greater)
    return rank


def read_only(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return an array as kernels read it: of one kind of numbers, contiguous, not to be written.

    A kernel is compiled anew for each kind of array. So where callers have several, they give it this one.
    """
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view
