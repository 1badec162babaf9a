"""Payloads: which chunks rows send, as a ragged table of ranges, and its canonical form."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import ScheduleError
from treecast.networks.core import Ints
from treecast.ragged import places


@dataclass(frozen=True, eq=False)
class Payloads:
    """A ragged table: payload p is the chunks of the ranges ``first[i] … stop[i]-1`` for i in ``start[p] … start[p+1]-1``.

    ``start``: int64 (payloads + 1,); ``first``, ``stop``: int64 (ranges,).
    """

    start: Ints
    first: Ints
    stop: Ints

    @staticmethod
    def of(payloads: "list[list[tuple[int, int]]]") -> "Payloads":
        """Return the table of payloads given as lists of ranges (first, stop)."""
        start = np.cumsum([0, *(len(ranges) for ranges in payloads)])
        flat = np.array([r for ranges in payloads for r in ranges], np.int64).reshape(-1, 2)
        return Payloads(start.astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy())

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def lengths(self) -> Ints:
        """The number of chunks of each payload: int64 (payloads,)."""
        total = np.concatenate(([0], np.cumsum(self.stop - self.first)))
        return total[self.start[1:]] - total[self.start[:-1]]

    def ranges(self, payload: int) -> list[tuple[int, int]]:
        """Return the ranges (first, stop) of one payload, in order."""
        rows = slice(self.start[payload], self.start[payload + 1])
        return list(zip(self.first[rows].tolist(), self.stop[rows].tolist(), strict=True))

    def within_blocks(self, size: int) -> "Payloads":
        """Return the same payloads with every range cut at the multiples of ``size``."""
        pieces = (self.stop - 1) // size - self.first // size + 1
        source = np.repeat(np.arange(len(pieces)), pieces)
        block = (self.first // size)[source] + places(pieces)
        first, stop = np.maximum(self.first[source], block * size), np.minimum(self.stop[source], (block + 1) * size)
        return Payloads(np.concatenate(([0], np.cumsum(pieces)))[self.start], first, stop)

    def chunk(self, payload: ArrayLike, place: ArrayLike) -> Ints:
        """Return the chunk at ``place`` (0-based) of each payload; the arrays broadcast."""
        before = np.concatenate(([0], np.cumsum(self.stop - self.first)))
        at = before[self.start[np.asarray(payload)]] + np.asarray(place)
        part = np.searchsorted(before, at, side="right") - 1
        return self.first[part] + at - before[part]


def check_payloads(table: Payloads, given: dict[str, NDArray[Any]]) -> None:
    """Raise ScheduleError when a table is none, or does not fit the columns of rows that name its payloads."""
    starts = table.start
    if bool(((starts < 0) | (starts > len(table.first))).any()):
        raise ScheduleError("a payload begins outside the table of ranges")
    if len(starts) < 1 or starts[0] != 0 or starts[-1] != len(table.first) or bool((np.diff(starts) < 0).any()):
        raise ScheduleError("the ranges of a payload begin where those of the one before end")
    if len(table.first) != len(table.stop) or bool((table.first < 0).any() or (table.first >= table.stop).any()):
        raise ScheduleError("a range of chunks goes from a first chunk ≥ 0 to a later one")
    payload = given["payload"]
    if payload.size and int(payload.max()) >= len(table):
        raise ScheduleError(f"a row names payload {int(payload.max())} of {len(table)}")
    wrong = (given["steps"] != 1) & (given["steps"] != table.lengths[payload])
    if bool(wrong.any()):
        row = int(np.argmax(wrong))
        raise ScheduleError(
            f"a row sends {int(table.lengths[payload[row]])} chunks in {int(given['steps'][row])} steps: "
            "a stream takes one step per chunk, a combined message takes one step"
        )


def canonical(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Return the payload column and table with payloads numbered by first use, equal ones once, unused ones gone."""
    if bool((np.diff(table.start) <= 1).all()):
        return _canonical_ranges(payload, table)
    first_use = np.full(len(table), -1, np.int64)
    first_use[payload[::-1]] = np.arange(len(payload) - 1, -1, -1)
    used = np.flatnonzero(first_use >= 0)
    numbers: dict[tuple[tuple[int, int], ...], int] = {}
    new = np.zeros(len(table), np.int32)
    for old in used[np.argsort(first_use[used])].tolist():
        new[old] = numbers.setdefault(merged(table.ranges(old)), len(numbers))
    return new[payload], Payloads.of([list(key) for key in numbers])


def _canonical_ranges(payload: NDArray[np.int32], table: Payloads) -> tuple[NDArray[np.int32], Payloads]:
    """Do the same with payloads of one range each, or none: there may be millions."""
    some = np.diff(table.start) == 1
    ends = np.zeros((len(table), 2), np.int64)
    ends[some, 0], ends[some, 1] = table.first, table.stop
    used = ends[payload]
    order = np.lexsort((used[:, 1], used[:, 0]))
    new = np.concatenate(([True], (np.diff(used[order], axis=0) != 0).any(axis=1))) if len(order) else np.empty(0, bool)
    group = np.cumsum(new) - 1
    first_use = np.full(int(new.sum()), len(payload))
    np.minimum.at(first_use, group, order)
    rank = np.empty_like(first_use)
    rank[np.argsort(first_use)] = np.arange(len(rank))
    number = np.empty(len(payload), np.int32)
    number[order] = rank[group]
    kept = used[np.sort(first_use)]
    full = kept[:, 1] > kept[:, 0]
    return number, Payloads(np.concatenate(([0], np.cumsum(full))), kept[full, 0], kept[full, 1])


def merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the ranges with those that continue one another joined. Raises ScheduleError when a chunk is there twice."""
    ascending = sorted(ranges)
    for (_, stop), (first, _) in pairwise(ascending):
        if first < stop:
            raise ScheduleError(f"a payload holds chunk {first} twice")
    joined = ranges[:1]
    for first, stop in ranges[1:]:
        if joined[-1][1] == first:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((first, stop))
    return tuple(joined)
