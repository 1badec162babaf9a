"""The operations of ranks, as columns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import Ints, starts

Place = tuple[str, tuple[int, ...]]
"""Where in a file, in words and in numbers."""
SEND, RECEIVE, READ, WRITE, ADD = 1, 2, 4, 8, 16
"""The bits of an operation's kind; 0 is work that only takes its turn."""
NOWHERE = -2
"""No place at all."""
BUFFER = 2**32
"""The distance of buffers: place k of buffer b is b · BUFFER + k in columns."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """The operations of all ranks, lane by lane: those of a lane go one after another.

    Columns are int64 (operations,). ``rank`` and ``lane``: whose an operation is; lanes are numbered through all ranks, and each
    is one run of operations. ``kind``: its bits; one that receives and sends does so chunk by chunk. ``to`` and ``source``: the
    ranks that it sends to and receives from, or -1. ``tag``: the connection between two ranks. ``size``: the bytes or chunks of
    its message. ``units``: the steps that it is under way, 1 where a message goes as a whole, or its chunks.

    ``read`` and ``write``: the places of buffers that its rank reads, and that it or its peer writes; empty where operations name
    none.

    Operation ``waiting[i]`` waits for ``wait[i]``, for its beginning where ``begun``, else for its end: by the first, ascending.
    ``where`` leads from an operation to its place in the file, in words and in numbers.
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
    waiting: Ints
    wait: Ints
    begun: NDArray[np.bool_]
    where: Callable[[int], Place]
    read: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    write: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.rank)

    def does(self, bit: int) -> NDArray[np.bool_]:
        """Return which operations have a bit."""
        return (self.kind & bit) > 0

    def spell(self, operation: int) -> str:
        """Return an operation as findings name it."""
        return self.where(operation)[0]

    def awaited(self, operation: int) -> list[int]:
        """Return the operations that one waits for."""
        first, stop = np.searchsorted(self.waiting, [operation, operation + 1])
        return self.wait[first:stop].tolist()

    def of_ranks(self) -> list[Ints]:
        """Return the operations of each rank, in order, where they stand rank by rank."""
        return np.split(np.arange(len(self)), np.searchsorted(self.rank, np.arange(1, self.ranks)))

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
    def last_wait(self) -> Ints:
        """The last of the operations that each waits for; -1 where it waits for none."""
        found = np.full(len(self), -1, np.int64)
        found[self.waiting] = self.wait
        return found
