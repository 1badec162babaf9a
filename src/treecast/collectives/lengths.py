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
    """Messages of different lengths, one for, or from, each node.

    Chunks are numbered message after message, in the order of ``sequence``.

    Parameters
    ----------
    flits : int64 array (N,)
        How many chunks each node's message has.
    sequence : int64 array (N,)
        All nodes, in the order in which their chunks are numbered: those of ``sequence[0]`` first.

    Raises
    ------
    PlanError
        When a length is negative or too large, or when the sequence does not hold each node once.

    Examples
    --------
    >>> from treecast.collectives import Lengths
    >>> lengths = Lengths.of([0, 3, 2])
    >>> lengths
    <Lengths: 5 flits for 3 nodes>
    >>> lengths.first, lengths.stop
    (array([0, 0, 3]), array([0, 3, 5]))
    >>> lengths.node_of([0, 2, 3])
    array([1, 1, 2])

    Another order of the nodes numbers the chunks in another way:

    >>> Lengths([0, 3, 2], [2, 1, 0]).first
    array([5, 2, 0])
    """

    flits: Ints
    sequence: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "flits", _freeze(self.flits, "lengths"))
        object.__setattr__(self, "sequence", _freeze(self.sequence, "a sequence of nodes"))
        if not len(self.flits) or int(self.flits.min()) < 0:
            raise PlanError("lengths are given for every node, in flits from 0")
        if int(self.flits.max()) > _MOST_FLITS or self.total > _MOST_FLITS:
            raise PlanError(f"so many flits cannot be sent: all lengths together are at most {_MOST_FLITS:,}")
        if not np.array_equal(np.sort(self.sequence), np.arange(len(self.flits))):
            raise PlanError("a sequence of nodes holds every node once")

    @staticmethod
    def of(flits: ArrayLike) -> "Lengths":
        """Return messages that are numbered in the order of their nodes.

        Parameters
        ----------
        flits : array-like of int (N,)
            How many chunks each node's message has.
        """
        flits = np.asarray(flits)
        return Lengths(flits, np.arange(len(flits)))

    @cached_property
    def total(self) -> int:
        """The number of flits in all."""
        return int(self.flits.sum())

    @cached_property
    def stop(self) -> Ints:
        """The chunk behind each node's last: int64 (N,)."""
        stop = np.empty_like(self.flits)
        stop[self.sequence] = np.cumsum(self.flits[self.sequence])
        return stop

    @cached_property
    def first(self) -> Ints:
        """Each node's first chunk: int64 (N,)."""
        return self.stop - self.flits

    def node_of(self, chunk: ArrayLike) -> Ints:
        """Return the node whose message a chunk belongs to."""
        return self.sequence[np.searchsorted(self.stop[self.sequence], ints(chunk), side="right")]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lengths):
            return NotImplemented
        return np.array_equal(self.flits, other.flits) and np.array_equal(self.sequence, other.sequence)

    def __hash__(self) -> int:
        return hash((self.flits.tobytes(), self.sequence.tobytes()))

    def __repr__(self) -> str:
        return f"<Lengths: {self.total:,} flits for {len(self.flits):,} nodes>"


def _freeze(values: ArrayLike, what: str) -> Ints:
    array = np.array(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PlanError(f"{what}: whole numbers, one for each node")
    if array.size and int(array.max()) >= 2**62:
        raise PlanError(f"{what}: {int(array.max()):,} is too large a number")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
