"""Messages of different lengths, and how their chunks are numbered."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import PlanError
from treecast.networks.core import Ints, ints

_MOST_FLITS = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class Lengths:
    """Messages of different lengths, one for each block: one for, or from, each node, or for each pair of nodes.

    ``flits``: how many chunks each block's message has. Chunks are numbered message after message, in the order of
    ``sequence``, which holds all blocks. Both are int64 (blocks,). Raises PlanError when a length is negative or too large, or
    when the sequence does not hold each block once.

    >>> from treecast.collectives import Lengths
    >>> lengths = Lengths.of([0, 3, 2])
    >>> lengths
    <Lengths: 5 flits in 3 blocks>
    >>> lengths.first, lengths.stop
    (array([0, 0, 3]), array([0, 3, 5]))
    >>> lengths.block_of([0, 2, 3])
    array([1, 1, 2])

    Another order of the blocks numbers the chunks in another way:

    >>> Lengths([0, 3, 2], [2, 1, 0]).first
    array([5, 2, 0])
    """

    flits: Ints
    sequence: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "flits", _freeze(self.flits, "lengths"))
        object.__setattr__(self, "sequence", _freeze(self.sequence, "a sequence of blocks"))
        if not len(self.flits) or int(self.flits.min()) < 0:
            raise PlanError("lengths are given for every block, in flits from 0")
        if int(self.flits.max()) > _MOST_FLITS or self.total > _MOST_FLITS:
            raise PlanError(f"so many flits cannot be sent: all lengths together are at most {_MOST_FLITS:,}")
        if not np.array_equal(np.sort(self.sequence), np.arange(len(self.flits))):
            raise PlanError("a sequence of blocks holds every block once")

    @staticmethod
    def of(flits: ArrayLike) -> "Lengths":
        """Return messages numbered in the order of their blocks: a length for each node (N,), or from row to column (N, N)."""
        flits = np.asarray(flits).reshape(-1)
        return Lengths(flits, np.arange(len(flits)))

    @cached_property
    def total(self) -> int:
        """The number of flits in all."""
        return int(self.flits.sum())

    @cached_property
    def stop(self) -> Ints:
        """The chunk behind the last of each block: int64 (blocks,)."""
        stop = np.empty_like(self.flits)
        stop[self.sequence] = np.cumsum(self.flits[self.sequence])
        return stop

    @cached_property
    def first(self) -> Ints:
        """The first chunk of each block: int64 (blocks,)."""
        return self.stop - self.flits

    def block_of(self, chunk: ArrayLike) -> Ints:
        """Return the block that a chunk belongs to."""
        # in this order the ends ascend
        return self.sequence[np.searchsorted(self.stop[self.sequence], ints(chunk), side="right")]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lengths):
            return NotImplemented
        return np.array_equal(self.flits, other.flits) and np.array_equal(self.sequence, other.sequence)

    def __hash__(self) -> int:
        return hash((self.flits.tobytes(), self.sequence.tobytes()))

    def __repr__(self) -> str:
        return f"<Lengths: {self.total:,} flits in {len(self.flits):,} blocks>"


def _freeze(values: ArrayLike, noun: str) -> Ints:
    array = np.array(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PlanError(f"{noun}: whole numbers, one for each block")
    # Before the cast: numbers that do not fit into 63 bits would come out negative.
    if array.size and int(array.max()) >= 2**62:
        raise PlanError(f"{noun}: {int(array.max()):,} is too large a number")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
