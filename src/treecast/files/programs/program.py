"""The operations of ranks, as columns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

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
TOLD, RELAXED, ORDERED, TURNS = range(4)
"""The strength of waits; a way is as strong as its weakest part. TOLD publishes data, RELAXED has a relaxed signal or wait in it,
ORDERED orders data that it does not publish, and TURNS say in which order a thread works, and nothing of its data."""


class Counts(NamedTuple):
    """The signals and semaphores of a program, as counts that are never below 0.

    ``raises`` and ``lowers``, int64 (operations,): the count that each operation raises at its end, and that it lowers at its
    beginning, for which it waits until that is above 0; -1: none. ``relaxed``, bool (operations,): who publishes no data by that.
    ``begins``, int64 (counts,): the counts at the beginning.
    """

    raises: Ints
    lowers: Ints
    relaxed: NDArray[np.bool_]
    begins: Ints


def _empty() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """The operations of all ranks, lane by lane: those of a lane go one after another, or those of each of its threads.

    Columns are int64 (operations,). ``rank`` and ``lane``: whose an operation is; lanes are numbered through all ranks, and each
    is one run of operations. ``thread``: which of its lane's, where it has several; those of thread -1 go as their waits say.
    ``kind``: its bits; one that receives and sends does so chunk by chunk. ``to`` and ``source``: the ranks that it sends to and
    receives from, or -1. ``tag``: the connection between two ranks. ``size``: the bytes or chunks of its message. ``units``: the
    steps that it is under way, 1 where a message goes as a whole, or its chunks. Where nothing is sent, these are left out.

    ``read`` and ``write``: the places of buffers that its rank reads, and that it or its peer writes; empty where operations name
    none.

    Operation ``waiting[i]`` waits for ``wait[i]``, for its beginning where ``begun``, else for its end: by the first, ascending.
    ``strength``: how strong each wait is, by default TOLD. ``counts``: what else operations wait for.

    ``where`` leads from an operation to its place in the file, in words and in numbers.
    """

    ranks: int
    rank: Ints
    lane: Ints
    where: Callable[[int], Place]
    kind: Ints = field(default_factory=_empty)
    to: Ints = field(default_factory=_empty)
    source: Ints = field(default_factory=_empty)
    tag: Ints = field(default_factory=_empty)
    size: Ints = field(default_factory=_empty)
    units: Ints = field(default_factory=_empty)
    read: Ints = field(default_factory=_empty)
    write: Ints = field(default_factory=_empty)
    waiting: Ints = field(default_factory=_empty)
    wait: Ints = field(default_factory=_empty)
    begun: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    thread: Ints | None = None
    strength: Ints | None = None
    counts: Counts | None = None

    def __post_init__(self) -> None:
        n = len(self.rank)
        for name in ("kind", "to", "source", "tag", "size", "units"):
            if len(getattr(self, name)) < n:
                # to and from nobody: -1
                object.__setattr__(self, name, np.full(n, -(name in ("to", "source")), np.int64))
        if len(self.begun) < len(self.wait):
            object.__setattr__(self, "begun", np.zeros(len(self.wait), np.bool_))

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
        """The operation before each in its thread, or its lane; -1 for the first."""
        found = np.arange(-1, len(self) - 1)  # a lane is one run of operations
        if self.thread is None:
            found[self.first[:-1][np.diff(self.first) > 0]] = -1
            return found
        turn = np.lexsort([self.thread, self.lane])
        follows = (np.diff(self.lane[turn]) == 0) & (np.diff(self.thread[turn]) == 0) & (self.thread[turn[1:]] >= 0)
        found[:] = -1
        found[turn[1:][follows]] = turn[:-1][follows]
        return found

    @cached_property
    def last_wait(self) -> Ints:
        """The last of the operations that each waits for; -1 where it waits for none."""
        found = np.full(len(self), -1, np.int64)
        found[self.waiting] = self.wait  # in order, so the last stays
        return found
