"""Little data in blocks whose lengths other ranks do not know: each rank packs its blocks into a row, behind their lengths.

All rows have one length, ``ROOM`` first. When the blocks of some rank take more, all know from its row how much, and rows of that
length go next. So every rank learns all lengths, and all find alike whether blocks have come, or are too long to go to all.
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import NamedTuple

from treecast.errors import PlanError
from treecast.running.algorithms.little import Little, copy_here
from treecast.running.transport.base import SMALL, Piece

# With 64 ranks rows of this length are 64 KiB in all, which is what still goes to all ranks at once.
ROOM = 1 << 10
"""Bytes of the first row of each rank."""
TRIES = 2
"""Rows of a rank in one call: the second ones are long enough."""
_WORD = 8  # bytes of a length


class PackedCall(NamedTuple):
    """A call of little data whose blocks are packed, as one rank makes it. ``plan``: has an ``at``."""

    plan: Little
    size: int

    @classmethod
    def of(cls, plan: Little | None, size: int) -> "PackedCall | None":
        """Return it; None where blocks are not packed, or the ranks are too many."""
        return None if plan is None or plan.at is None or size * ROOM > SMALL else cls(plan, size)

    @property
    def words(self) -> Struct:
        """The head of a row: the bytes that it takes, and the lengths of its blocks."""
        #   bytes of the row u64 | length u64 of each of N blocks | block 0 | block 1 | ...
        return Struct(f"<{self.size + 1}Q")

    @property
    def head(self) -> bytes:
        """That of this rank's row."""
        lengths = [len(piece) for piece in self.plan.mine or ()]
        return self.words.pack(self.words.size + sum(lengths), *lengths, *[0] * (self.size - len(lengths)))

    def row(self, length: int) -> bytes:
        """Return this rank's row of a length, which has the lengths alone where the blocks take more."""
        whole = b"".join([self.head, *(self.plan.mine or ())])
        # Without its blocks a row still tells how long it has to be, and all find so alike.
        return (whole if len(whole) <= length else self.head).ljust(length, b"\0")

    def next_length(self, length: int, rows: Mapping[int, Piece]) -> int:
        """Return how long the rows have to be, of some."""
        return max([length, *(self.words.unpack_from(row)[0] for row in rows.values())])

    def is_little(self, length: int) -> bool:
        """Return whether rows of a length go to all."""
        return length * (self.size if self.plan.root is None else 1) <= SMALL

    def found(self, rows: Mapping[int, Piece]) -> Iterator[tuple[int, slice]]:
        """Return where this rank's block lies in the rows of ranks, which may have their heads alone.

        Raises PlanError for one of another length than its place.
        """
        at = self.plan.at or 0
        places = self.plan.places if isinstance(self.plan.places, Mapping) else dict(enumerate(self.plan.places))
        for rank in places.keys() & rows.keys():
            total, *lengths = self.words.unpack_from(rows[rank])
            first, length, room = self.words.size + sum(lengths[:at]), lengths[at], len(places[rank])
            if length != room or total <= len(rows[rank]) < first + length:
                raise PlanError(f"{length:,} bytes come from rank {rank} where {room:,} are received")
            yield rank, slice(first, first + length)

    def take(self, rows: Mapping[int, Piece]) -> None:
        """Take this rank's blocks out of rows. Raises as ``found``."""
        for rank, spot in [*self.found(rows)]:
            copy_here(self.plan.places[rank], rows[rank][spot])

    def as_little(self, length: int, rows: list[Piece]) -> Little:
        """Return the call that brings rows of a length; it leaves them in a list."""
        mine = None if self.plan.mine is None else [self.row(length)]
        return Little(mine, length, rows, root=self.plan.root)
