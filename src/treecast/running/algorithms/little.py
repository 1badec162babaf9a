"""Little data goes to all ranks at once: the table of what a rank gives in a call, and of what it takes from the pieces of all.

Two carry the table out: steps over a group (``spread.bring``), and calls of MPI that go past the group (``mpi.comm.quick``).
Blocks whose lengths other ranks do not know are packed first (``algorithms.packed``).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from treecast.running.transport.base import SMALL, Piece

LONG = 1 << 22
"""Bytes of all ranks up to which much data may go to them by one call of a carrier, too, in memory of its own on its way."""
Pieces = Sequence[Piece]
"""A piece of each rank."""
Place = TypeVar("Place", bound=Callable[..., Any])
_ALL = slice(None)


class Little(NamedTuple):
    """A call of little data, as one rank makes it.

    ``mine``: what it gives, one behind the other; None where it gives nothing. ``length``: bytes of the piece of each rank, or
    of the one that the ``root`` gives alone. ``part``: of each piece that it wants. ``places``: by rank, for these parts; or for
    their sum, which ``add`` leaves in the last of some. ``added``: the ranks whose parts are added, of those whose have come.
    ``adds``: how, where a transport may add in any order. ``lengths``: of the pieces of all ranks, where they differ, but all
    know them; ``length`` is the greatest. ``at``: which block of each rank it wants, where it knows the lengths of its
    own ones alone. ``target``: the one rank that wants any.
    """

    mine: Pieces | None
    length: int
    places: Mapping[int, Piece] | Pieces = ()
    part: slice = _ALL
    root: int | None = None
    added: Callable[[list[int]], list[int]] | None = None
    add: Callable[[list[Piece]], object] = len
    adds: Any = None
    lengths: tuple[int, ...] = ()
    at: int | None = None
    target: int | None = None

    def count(self, size: int) -> int:
        """Return the bytes that come from all of so many ranks, in pieces of one length, or as their sum."""
        return self.length * (size if self.root is None and self.adds is None else 1)

    def is_long(self, size: int) -> bool:
        """Return whether it is a call of much data; where blocks have unlike lengths, that is known only once they were told."""
        return self.at is not None or SMALL < self.count(size) <= LONG

    def take(self, rows: Mapping[int, Piece]) -> None:
        """Take what this rank wants of the pieces of ranks."""
        if not self.places:
            return
        parts = {rank: row[self.part] for rank, row in rows.items()}
        if self.added is not None:
            # Those whose pieces have come, in the order of ranks; the sum is left in the last of them.
            chosen = [parts[rank] for rank in self.added(sorted(parts))]
            self.add(chosen)
            parts = dict.fromkeys(self.places, chosen[-1]) if chosen else {}
        for rank, part in parts.items():
            copy_here(self.places[rank], part)


LITTLE: dict[Any, Callable[..., Little | None]] = {}
"""By algorithm: its call of little data, of this rank, the number of ranks, and the arguments that follow the group.

None where ranks do not know how long the pieces of others are, and those are not packed.
"""


def plan_of(algorithm: Any, rank: int, size: int, parts: Sequence[Any]) -> Little | None:
    """Return the call of an algorithm, as a rank makes it; None as in ``LITTLE``, and for an algorithm that is not there."""
    return LITTLE[algorithm](rank, size, *parts) if algorithm in LITTLE else None


def little(of: Callable[..., Little | None]) -> Callable[[Place], Place]:
    """Put an algorithm into the table."""

    def put(algorithm: Place) -> Place:
        LITTLE[algorithm] = of
        return algorithm

    return put


def of_barrier(me: int, size: int) -> Little:
    """Each gives a byte."""
    return Little([b"\0"], 1)


def of_broadcast(me: int, size: int, data: Piece, root: int) -> Little:
    """The root gives all."""
    return Little([data] if me == root else None, len(data), {root: data}, root=root)


def of_allgather(me: int, size: int, mine: Piece | None, blocks: Pieces) -> Little:
    """Each gives its block, and takes all."""
    lengths = tuple(map(len, blocks))
    plan = Little([blocks[me] if mine is None else mine], max(lengths), blocks)
    return plan if len({*lengths}) == 1 else plan._replace(lengths=lengths)


def of_gather(me: int, size: int, *given: Any) -> Little:
    """Each gives its block, and the root takes all."""
    mine, incoming, root, equal = given
    own: Piece = mine if incoming is None or mine is not None else incoming[me]
    return Little([own], len(own), incoming or (), at=None if equal else 0, target=root)


def of_scatter(me: int, size: int, *given: Any) -> Little:
    """The root gives all, and each takes its block."""
    outgoing, mine, root, equal = given
    own: Piece = mine if outgoing is None else outgoing[me]
    places = {} if mine is None else {root: mine}
    # All blocks go to all, though each wants its own alone: then anybody can give them to who lacks them.
    plan = Little(outgoing, len(own) * size, places, block(me, len(own)), root=root)
    return plan if equal else plan._replace(at=me)


def of_alltoall(me: int, size: int, outgoing: Pieces, incoming: Pieces, equal: bool = False) -> Little:
    """Each gives its row, and takes its column."""
    length = len(outgoing[0])
    plan = Little(outgoing, length * size, incoming, block(me, length))
    return plan if equal else plan._replace(at=me)


def block(rank: int, length: int) -> slice:
    """Return where the block of a rank lies among blocks of one length."""
    return slice(rank * length, (rank + 1) * length)


def copy_here(into: Piece, piece: Piece) -> None:
    """Copy bytes, unless they are the same ones."""
    if len(piece) and into is not piece:
        into[:] = piece
