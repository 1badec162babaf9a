"""Payloads: which chunks rows send, as a ragged table of ranges, and its canonical form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.collectives import Collective
from treecast.description import count_of, list_few
from treecast.errors import ScheduleError
from treecast.ragged import Ints, explode, places, ranks, starts

_SHOWN = 12  # payloads that are printed


@dataclass(frozen=True, eq=False)
class Payloads:
    """Which chunks rows send: a ragged table of ranges.

    Payload p is the chunks of the ranges ``first[i] … stop[i]-1`` for i in ``start[p] … start[p+1]-1``. ``Payloads.of`` makes
    the table from lists.

    The ranges of all payloads stand in two columns, and ``start`` says where those of each begin:

        start   0         2     3
        first   0   200   7
        stop  100   300   8            payload 0: 0-99 and 200-299, payload 1: chunk 7

    Parameters
    ----------
    start : int64 (payloads + 1,)
        Where the ranges of each payload begin, and the end.
    first, stop : int64 (ranges,)
        The first chunk of each range, and the one behind the last.

    Examples
    --------
    >>> import treecast
    >>> payloads = treecast.Payloads.of([[(0, 100), (200, 300)], [(7, 8)]])
    >>> print(payloads)
           0  chunks 0-99, 200-299
           1  chunks 7-7
    >>> len(payloads), payloads.lengths.tolist()
    (2, [200, 1])
    """

    start: Ints
    first: Ints
    stop: Ints

    @staticmethod
    def of(payloads: "list[list[tuple[int, int]]]") -> "Payloads":
        """Return the table of payloads given as lists of ranges (first, stop)."""
        flat = np.array([r for ranges in payloads for r in ranges], np.int64).reshape(-1, 2)
        return Payloads(starts([len(ranges) for ranges in payloads]), flat[:, 0].copy(), flat[:, 1].copy())

    @staticmethod
    def of_ranges(first: ArrayLike, stop: ArrayLike) -> "Payloads":
        """Return the table whose payload i is the one range ``first[i] … stop[i]-1``.

        >>> Payloads.of_ranges([0, 4], [4, 6]).ranges(1)
        [(4, 6)]
        """
        first, stop = np.asarray(first, np.int64), np.asarray(stop, np.int64)
        return Payloads(np.arange(len(first) + 1), first, stop)

    @staticmethod
    def concatenated(tables: "Sequence[Payloads]") -> "Payloads":
        """Return the payloads of several tables, one table behind the other."""
        none = np.empty(0, np.int64)
        count = np.concatenate([none, *(np.diff(table.start) for table in tables)])
        first, stop = (
            np.concatenate([none, *columns])
            for columns in ((table.first for table in tables), (table.stop for table in tables))
        )
        return Payloads(starts(count), first, stop)

    def __repr__(self) -> str:
        return f"<Payloads: {count_of(len(self), 'payload')}, {count_of(len(self.first), 'range')} of chunks>"

    def __str__(self) -> str:
        """Return the chunks of the first payloads, a line each."""
        lines = list[str]()
        for payload in range(min(len(self), _SHOWN)):
            ranges = [f"{first:,}-{stop - 1:,}" for first, stop in self.ranges(payload)]
            lines.append(f"{payload:>8}  chunks {list_few(ranges, 3)}")
        more = len(self) - _SHOWN
        return "\n".join([*lines, *([f"and {count_of(more, 'more payload')}"] if more > 0 else [])])

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def before(self) -> Ints:
        """How many chunks of its payload stand before each range: int64 (ranges,)."""
        total = starts(self.stop - self.first)
        return total[:-1] - np.repeat(total[self.start[:-1]], np.diff(self.start))  # less those of earlier payloads

    @cached_property
    def lengths(self) -> Ints:
        """The number of chunks of each payload: int64 (payloads,)."""
        total = starts(self.stop - self.first)
        return total[self.start[1:]] - total[self.start[:-1]]

    def ranges(self, payload: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of one payload, in order."""
        rows = slice(self.start[payload], self.start[payload + 1])
        return list(zip(self.first[rows].tolist(), self.stop[rows].tolist(), strict=True))

    def take(self, which: Ints) -> "Payloads":
        """Return the table of the payloads ``which``, in that order.

        >>> table = Payloads.of([[(0, 2), (5, 6)], [(3, 4)]])
        >>> table.take(np.array([1, 0])).ranges(1)
        [(0, 2), (5, 6)]
        """
        _, entry = explode(self.start, which)
        return Payloads(starts(np.diff(self.start)[which]), self.first[entry], self.stop[entry])

    def shifted(self, by: int) -> "Payloads":
        """Return the same payloads with ``by`` added to every chunk."""
        return Payloads(self.start, self.first + by, self.stop + by)

    def merged(self) -> "Payloads":
        """Return the same payloads with ranges joined where one continues the one before.

        Raises ScheduleError when a payload holds a chunk twice.

        >>> Payloads.of([[(0, 2), (2, 5), (7, 8)]]).merged().ranges(0)
        [(0, 5), (7, 8)]
        """
        # single ranges are merged as they are, and most tables have no others
        if len(self.first) == len(self) and bool((np.diff(self.start) == 1).all()):
            return self
        payload = np.repeat(np.arange(len(self)), np.diff(self.start))
        low, high, of = self.first, self.stop, payload
        if bool(((low[1:] <= low[:-1]) & (of[1:] == of[:-1])).any()):
            # sorted only to find chunks that are there twice: a payload keeps the order of its ranges
            order = np.lexsort((high, low, payload))
            low, high, of = low[order], high[order], payload[order]
        twice = np.flatnonzero((of[1:] == of[:-1]) & (low[1:] < high[:-1]))
        if len(twice):
            raise ScheduleError(f"a payload holds chunk {int(low[twice[0] + 1])} twice")
        begins = np.ones(len(payload), np.bool_)
        # a new payload, or a gap before the range
        begins[1:] = (payload[1:] != payload[:-1]) | (self.first[1:] != self.stop[:-1])
        ends = np.append(begins[1:], True)[: len(begins)]  # a joined range ends where the next begins
        count = np.bincount(payload[begins], minlength=len(self))
        return Payloads(starts(count), self.first[begins], self.stop[ends])

    def within_blocks(self, size: int) -> "Payloads":
        """Return the same payloads with every range cut at the multiples of ``size``."""
        return self._cut(self.first // size, (self.stop - 1) // size, lambda block: block * size)

    def within_blocks_of(self, collective: Collective) -> "Payloads":
        """Return the same payloads with every range cut where a block of a collective ends."""
        if collective.lengths is None:
            return self.within_blocks(collective.messages)
        ends = collective.ends()
        block, last = (np.searchsorted(ends, of, side="right") - 1 for of in (self.first, self.stop - 1))
        return self._cut(block, last, lambda block: ends[block])

    def _cut(self, block: Ints, last: Ints, begin: Callable[[Ints], Ints]) -> "Payloads":
        """Return the same payloads with every range cut into those of the blocks ``block … last``, which ``begin`` somewhere."""
        pieces = last - block + 1
        # a range is in several blocks: a piece for each
        source = np.repeat(np.arange(len(pieces)), pieces)
        block = block[source] + places(pieces)
        first, stop = np.maximum(self.first[source], begin(block)), np.minimum(self.stop[source], begin(block + 1))
        return Payloads(starts(pieces)[self.start], first, stop)

    def chunk(self, payload: ArrayLike, place: ArrayLike) -> Ints:
        """Return the chunk at ``place`` (0-based) of each payload; the arrays broadcast."""
        # all payloads one behind the other: a place there says the range by bisection
        total = starts(self.stop - self.first)
        at = total[self.start[np.asarray(payload)]] + np.asarray(place)
        part = np.searchsorted(total, at, side="right") - 1
        return self.first[part] + at - total[part]


def check_payloads(table: Payloads, given: dict[str, NDArray[Any]]) -> None:
    """Raise ScheduleError when a table is not valid, or does not fit the columns of rows that name its payloads."""
    starts = table.start
    if bool(((starts < 0) | (starts > len(table.first))).any()):
        raise ScheduleError("a payload begins outside the table of ranges")
    if len(starts) < 1 or starts[0] != 0 or starts[-1] != len(table.first) or bool((starts[1:] < starts[:-1]).any()):
        raise ScheduleError("the ranges of a payload begin where those of the one before end")
    if len(table.first) != len(table.stop) or bool((table.first < 0).any() or (table.first >= table.stop).any()):
        raise ScheduleError("a range of chunks goes from a first chunk ≥ 0 to a later one")
    payload = given["payload"]
    if payload.size and int(payload.max()) >= len(table):
        raise ScheduleError(f"a row names payload {int(payload.max())} of {len(table)}")
    # rows of one step always fit: a stream of one chunk, or a combined message
    long = np.flatnonzero(given["steps"] != 1)
    gaps = table.lengths[payload[long]] - 1
    wrong = long[(gaps < 1) | ((given["steps"][long] - 1) % np.maximum(gaps, 1) != 0)]
    if len(wrong):
        row = int(wrong[0])
        raise ScheduleError(
            f"a row sends {int(table.lengths[payload[row]])} chunks in {int(given['steps'][row])} steps: "
            "a stream takes one step per chunk, or every T-th step has one, and a combined message takes one step"
        )


def drop_duplicates(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Return the payload column and the table with equal payloads once, in ascending order.

    Ranges that continue one another are joined. Raises ScheduleError when a payload in use holds a chunk twice.
    """
    if _in_order(table):
        return payload, table
    payload, table = number_by_first_use(payload, table)
    table = table.merged()
    if _in_order(table):
        return payload, table
    rank = ranks(table.start, table.first, table.stop)
    # of equal payloads, which have one rank, any will do
    one = np.empty(int(rank.max(initial=-1)) + 1, np.int64)
    one[rank] = np.arange(len(rank))
    return rank.astype(np.int32)[payload], table.take(one)


def _in_order(table: Payloads) -> bool:
    """Return whether each payload is one range, and they ascend: then no two are equal."""
    if len(table.first) != len(table) or not (table.first[1:] > table.first[:-1]).all():
        return False
    return bool((table.start[1:] - table.start[:-1] == 1).all())


def number_by_first_use(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Return the payload column and the table with payloads in the order of their first use, and unused ones left out."""
    first_use = np.full(len(table), len(payload))
    # from the last row to the first, so that the first use is what stays
    first_use[payload[::-1]] = np.arange(len(payload) - 1, -1, -1)
    used = np.argsort(first_use, kind="stable")[: np.count_nonzero(first_use < len(payload))]
    if len(used) == len(table) and bool((used[1:] > used[:-1]).all()):
        return payload, table
    number = np.zeros(len(table), np.int32)
    number[used] = np.arange(len(used))
    return number[payload], table.take(used)
