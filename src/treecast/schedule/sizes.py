"""How many bytes the chunks of a schedule have."""

from dataclasses import dataclass

import numpy as np

from treecast.collectives import Collective
from treecast.errors import PlanError, ScheduleError
from treecast.ragged import Ints
from treecast.units import spell_bytes


@dataclass(frozen=True)
class Sizes:
    """A block of data, and the chunks that it is cut into: all of one length, the last one of what is left.

    Parameters
    ----------
    block : int
        The bytes of a block: of a source's data, of what one node has for another, of a part of a sum.
    chunk : int
        The bytes of each chunk but the last.

    Raises
    ------
    PlanError
        When a chunk is longer than its block, or either is empty.

    Examples
    --------
    >>> sizes = Sizes(block=16 << 20, chunk=204_608)
    >>> sizes.messages, sizes.last
    (82, 203968)
    """

    block: int
    chunk: int

    def __post_init__(self) -> None:
        if not 1 <= self.chunk <= self.block < 2**63:
            raise PlanError(f"{self.block:,} bytes cannot be cut into chunks of {self.chunk:,}")

    @property
    def messages(self) -> int:
        """The number of chunks of a block."""
        return -(-self.block // self.chunk)

    @property
    def last(self) -> int:
        """The bytes of the last chunk."""
        return self.block - (self.messages - 1) * self.chunk

    def check(self, collective: Collective) -> None:
        """Raise ScheduleError when they are not those of the collective's messages."""
        if self.messages != collective.messages:
            raise ScheduleError(f"{self} are none for a {collective}: their number differs")

    def total(self, collective: Collective) -> int:
        """Return the bytes of all blocks of a collective together; finished sums are not counted again."""
        return self.block * ((collective.sums or collective.chunks) // collective.messages)

    def bounds(self, collective: Collective) -> Ints:
        """Return where each chunk begins in all the blocks together, and where the last ends: int64 (chunks + 1,)."""
        chunks = np.arange((collective.sums or collective.chunks) + 1, dtype=np.int64)
        block, place = np.divmod(chunks, self.messages)
        return block * self.block + place * self.chunk

    def __str__(self) -> str:
        if self.messages == 1:
            return f"a chunk of {spell_bytes(self.chunk)}"
        last = "" if self.last == self.chunk else f", the last of {spell_bytes(self.last)}"
        return f"{self.messages:,} chunks of {spell_bytes(self.chunk)}{last}"


def cut(block: int, messages: int, item: int = 1) -> Sizes:
    """Return a block cut into at most so many chunks of whole items, as equal as that allows.

    Parameters
    ----------
    block : int
        The bytes of the block.
    messages : int
        The most chunks: there are fewer where they are rounded up to whole items.
    item : int
        The bytes of an item, which is not cut.

    Raises
    ------
    PlanError
        When the block is no whole number of items.

    Examples
    --------
    >>> cut(16 << 20, 82, item=8)
    Sizes(block=16777216, chunk=204608)
    """
    if block % item:
        raise PlanError(f"{block:,} bytes are no whole number of items of {item:,}: write a multiple")
    return Sizes(block, -(-block // (messages * item)) * item)
