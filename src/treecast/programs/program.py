"""What ranks do, operation by operation, as columns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import Ints, starts

SEND, RECEIVE, READ, WRITE, ADD = 1, 2, 4, 8, 16
"""What an operation does, as bits of its kind; 0 is work that only takes its turn."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """The operations of all ranks, lane by lane: those of a lane go one after another.

    Parameters
    ----------
    ranks : int
        How many ranks there are.
    rank, lane : int64 (operations,)
        Whose an operation is, and in which lane. Lanes are numbered through all ranks, and each is one run of operations.
    kind : int64 (operations,)
        The bits of what it does. One that receives and sends does so chunk by chunk.
    to, source : int64 (operations,)
        The rank that it sends to, and the one that it receives from; -1: none.
    tag : int64 (operations,)
        Over which of the connections between two ranks.
    size : int64 (operations,)
        How much a message has: bytes, or chunks.
    units : int64 (operations,)
        How many steps it is under way: 1 where a message goes as a whole, or its chunks.
    wait_start : int64 (operations + 1,)
        Where what each operation waits for begins, and the end.
    wait : int64 (waits,)
        The operations that it waits for.
    begun : bool (waits,)
        Whether it waits for no more than their beginning; else for their end.
    where : callable
        From an operation to its place in the file, in words and in numbers.
    """

    ranks: int
    rank: Ints
    lane: Ints
    kind: Ints
    to: Ints
    source: Ints
    tag: Ints
    size: Ints
    units: Ints
    wait_start: Ints
    wait: Ints
    begun: NDArray[np.bool_]
    where: Callable[[int], tuple[str, tuple[int, ...]]]

    def __len__(self) -> int:
        return len(self.rank)

    def does(self, bit: int) -> NDArray[np.bool_]:
        """Return which operations do what a bit says."""
        return (self.kind & bit) > 0

    def spell(self, operation: int) -> str:
        """Return an operation as findings name it."""
        return self.where(operation)[0]

    def awaited(self, operation: int) -> list[int]:
        """Return the operations that one waits for."""
        return self.wait[self.wait_start[operation] : self.wait_start[operation + 1]].tolist()

    @cached_property
    def first(self) -> Ints:
        """Where each lane begins, and the end: int64 (lanes + 1,)."""
        return starts(np.bincount(self.lane))

    @cached_property
    def before(self) -> Ints:
        """The operation before each in its lane; -1 for the first."""
        found = np.arange(-1, len(self) - 1)
        found[self.first[:-1][np.diff(self.first) > 0]] = -1
        return found

    @cached_property
    def waiting(self) -> Ints:
        """The operation that waits, for each wait: int64 (waits,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.wait_start))

    @cached_property
    def last_wait(self) -> Ints:
        """The last of the operations that each waits for; -1 where it waits for none."""
        found = np.full(len(self), -1, np.int64)
        found[self.waiting] = self.wait
        return found
