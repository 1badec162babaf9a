"""Memory for the calls of a group, which later ones have again, as new memory is slow; and the data that is kept of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treecast.running.transport.base import Piece

_LINE = 64  # bytes to which pieces are aligned
_MOST = 1 << 26  # bytes that are kept for later calls


def scratch(count: int) -> Piece:
    """Return ``count`` bytes of new memory."""
    return np.empty(count, np.uint8).data


class Blocks:
    """Copies of the blocks of ranks from ``first`` on, one behind the other: of so many bytes each, or between bounds."""

    __slots__ = ("bounds", "first", "whole")

    def __init__(self, whole: Piece, bounds: int | Sequence[int], first: int = 0) -> None:
        self.whole, self.bounds, self.first = whole, bounds, first

    def get(self, rank: int, default: Any = None) -> Piece:
        """Return the block of a rank."""
        bounds, here = self.bounds, rank - self.first
        # equal blocks need no list of bounds
        first, last = (here * bounds, (here + 1) * bounds) if isinstance(bounds, int) else bounds[here : here + 2]
        return memoryview(self.whole)[first:last]


Kept = Mapping[int, Piece] | Blocks
"""Kept of a call by a rank: the data of ranks."""


class CallMemory:
    """The memory of one call after another."""

    def __init__(self) -> None:
        self._whole, self._used = scratch(0), 0

    def begin(self, is_free: bool) -> None:
        """Begin a call: with the memory of the last one, or as much as that took; ``is_free``: nobody uses it any more."""
        # Messages of the last call may still read or write it. The pieces keep it alive, and this call takes other
        # memory.
        if not is_free:
            self._whole = scratch(0)
        # What did not fit last time was new memory. The next call of the same kind finds room for all of it.
        elif len(self._whole) < self._used <= _MOST:
            self._whole = scratch(self._used)
        self._used = 0

    def take(self, count: int) -> Piece:
        """Return ``count`` bytes for this call."""
        # Counted also when it does not fit: so the next call knows how much is needed.
        first, self._used = self._used, self._used + -(-count // _LINE) * _LINE  # rounded up to whole lines
        return self._whole[first : first + count] if self._used <= len(self._whole) else scratch(count)
