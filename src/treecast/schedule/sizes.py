"""How many bytes the chunks of a schedule have, and how many chunks its messages."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import PlanError, ScheduleError
from treecast.models import Model
from treecast.ragged import Ints, cut_evenly, places, starts
from treecast.units import parse_bytes, spell_bytes


def spell_total(kind: str, size: int) -> str:
    """Return how many bytes there are in all; of sums each rank has so many.

    >>> spell_total("allreduce", 10**8)
    '100 MB per rank'
    """
    return spell_bytes(size) + " per rank" * COLLECTIVES[kind].adds


@dataclass(frozen=True)
class Sizes:
    """Blocks of data, and the chunks that each is cut into: all of one length, the last one of the rest. All numbers are bytes.

    Blocks are those of ranks. Where they cannot all be as long, some are shorter by an item; so the bytes are those asked for.
    ``block``: the longest one, of a source's data, of one rank's data for another, of a part of a sum. ``chunk``: each but the
    last of a block. ``data``: all blocks together, where these are not equal. ``item``: bytes that stay together. Raises
    PlanError when a chunk is longer than its block, or either is empty.

    >>> sizes = Sizes(block=16 << 20, chunk=204_608)
    >>> sizes.messages, sizes.last
    (82, 203968)
    """

    block: int
    chunk: int
    data: int | None = None
    item: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.chunk <= self.block < 2**63:
            raise PlanError(f"{self.block:,} bytes cannot be cut into chunks of {self.chunk:,}")

    @property
    def messages(self) -> int:
        """The number of chunks of a block."""
        return -(-self.block // self.chunk)  # rounded up

    @property
    def last(self) -> int:
        """The bytes of the last chunk of the longest block."""
        return self.block - (self.messages - 1) * self.chunk

    def check(self, collective: Collective) -> None:
        """Raise ScheduleError when they are not those of a collective."""
        if self.messages != collective.messages:
            raise ScheduleError(f"{self} are none for a {collective}: their number differs")
        if self.data is not None and (self.item < 1 or block_of(collective, self.data, self.item) != self.block):
            raise ScheduleError(f"{self.data:,} bytes are no blocks of {self.block:,} in items of {self.item:,}")

    def over(self, collective: Collective) -> "Sizes":
        """Return chunks as long for other ranks: where their blocks cannot have the same bytes in all, they are of one length."""
        same = self.data is None or block_of(collective, self.data, self.item) == self.block
        return self if same else Sizes(self.block, self.chunk)

    def total(self, collective: Collective) -> int:
        """Return the bytes of all blocks of a collective together; finished sums are not counted again."""
        return self.block * blocks_of(collective) if self.data is None else self.data

    def per_rank(self, collective: Collective) -> int:
        """Return the bytes, at most, that a rank brings or gets: of sums and single blocks, all of them."""
        # a sum is as long at every rank
        shares = 1 if collective.traits.adds or collective.traits.blocks == "one" else len(collective.ranks)
        return -(-self.total(collective) // shares)

    def least(self, collective: Collective) -> int:
        """Return the bytes of the whole items that are in every block."""
        return self.total(collective) // self.item // max(1, blocks_of(collective)) * self.item

    def bounds(self, collective: Collective) -> Ints:
        """Return where each chunk begins in all the blocks together, and where the last ends: int64 (chunks + 1,)."""
        total = self.total(collective)
        block, place = np.divmod(_places(collective), self.messages)
        # items are dealt evenly, and the last may be shorter
        begins = np.minimum(cut_evenly(-(-total // self.item), blocks_of(collective)) * self.item, total)
        # the last chunk of a block ends where the block does
        return np.minimum(begins[block] + place * self.chunk, np.append(begins[1:], total)[block])

    def __str__(self) -> str:
        if self.messages == 1:  # no last chunk of its own
            return f"a chunk of {spell_bytes(self.chunk)}"
        last = "" if self.last == self.chunk else f", the last of {spell_bytes(self.last)}"
        return f"{self.messages:,} chunks of {spell_bytes(self.chunk)}{last}"


def blocks_of(collective: Collective) -> int:
    """Return the number of blocks that ranks hold or want, finished sums not counted; of blocks of several lengths, of flits."""
    ranks = len(collective.ranks)
    if collective.lengths is not None:
        return collective.lengths.total
    return {"one": 1, "node": ranks, "pair": ranks**2}[collective.traits.blocks]


def _places(collective: Collective) -> Ints:
    """Return how many chunks of ranks, finished sums not counted, are before each chunk and in all: int64 (chunks + 1,)."""
    chunks = np.arange((collective.sums or collective.chunks) + 1, dtype=np.int64)
    return starts(collective.is_used(chunks[:-1])) if collective.relays else chunks  # chunks of relays have no bytes


def block_of(collective: Collective, data: int, item: int = 1) -> int:
    """Return the bytes of the longest block where so many bytes are divided among the blocks of ranks, in whole items.

    >>> block_of(Collective("allgather", nodes=3, messages=1), 100, item=8)
    40
    """
    return -(-data // (item * max(1, blocks_of(collective)))) * item


def divided(collective: Collective, data: int, chunk: int, item: int = 1) -> Sizes:
    """Return data divided into a block for each that ranks have, and each of them into chunks; a shorter block is one chunk.

    >>> divided(Collective("allgather", nodes=3, messages=1), 100, 34)
    Sizes(block=34, chunk=34, data=100, item=1)
    """
    block = block_of(collective, data, item)
    even = block * blocks_of(collective) == data
    return Sizes(block, min(chunk, block), *(() if even else (data, item)))


def sizes_as_said(collective: Collective, data: str | int | None, chunk: str | int | None = None) -> Sizes | None:
    """Return the sizes of a schedule that is there, whose messages are as many as they are; None where nothing is said.

    Raises TreecastError when a number of bytes is none, and when so many cannot be cut into so many messages.
    """
    if data is None and chunk is None:
        return None
    flits, each = collective.messages, None if chunk is None else parse_bytes(chunk)
    if data is None:
        return Sizes((each or 1) * flits, each or 1)
    total = parse_bytes(data)
    found = divided(collective, total, each or -(-block_of(collective, total) // flits))
    if found.messages != flits:
        raise PlanError(
            f"{spell_bytes(total)} are no {flits:,} chunks"
            + (f" of {spell_bytes(each)}" if each else "")
            + f" for each block of {collective.kind}: say {'bytes or chunk alone' if each else 'more bytes'}"
        )
    return found


def cut(block: int, messages: int, item: int = 1) -> Sizes:
    """Return a block of whole items cut into at most so many chunks of whole items, as equal as that allows.

    >>> cut(16 << 20, 82, item=8)
    Sizes(block=16777216, chunk=204608, data=None, item=1)
    """
    return Sizes(block, -(-block // (messages * item)) * item)


def chunk_bounds(collective: Collective, data: int, item: int = 1) -> Ints:
    """Return where each chunk begins in so many bytes that are cut evenly, and where the last ends: int64 (chunks + 1,).

    No bytes belong to chunks of relays, nor to any chunk those behind the last whole item. Finished sums are not counted.
    """
    places = _places(collective)
    return cut_evenly(data // item, int(places[-1]))[places] * item


def longest_messages(model: Model, step: Ints, pace: Ints, *, chunks: Ints, carrier: Ints, total: int) -> Ints:
    """Return the most chunks that one message has in each of ``total`` steps, of rows that begin at ``step``, have that ``pace``
    and that many ``chunks``; those of one ``carrier`` and step are one message, if messages combine in the model. Where chunks
    arrive late, of all messages that are under way.
    """
    count = np.where(pace > 0, np.maximum(chunks, 1), 1)  # the steps in which each row sends
    if not model.combining:
        sent = np.zeros(total, bool)
        for each in np.unique(pace).tolist():
            some, stride = pace == each, max(each, 1)  # by remainder of the step, the sends of a pace in each turn
            # a row of pace T is a run in its remainder modulo T: begun less over, summed up, are those under way
            turns = -(-total // stride) + 1
            ends = (step[some] % stride * turns + step[some] // stride + over for over in (0, count[some]))
            begun, over = (np.bincount(at, minlength=stride * turns + 1) for at in ends)
            sent |= (np.cumsum(begun - over)[:-1].reshape(stride, turns).T.reshape(-1) > 0)[:total]
        return under_way(sent.astype(np.int64), model.latency)
    at = np.repeat(step, count) + places(count) * np.repeat(pace, count)
    # one message: an arc and a step
    key, which = np.unique(np.repeat(carrier, count) * (total + 1) + at, return_inverse=True)
    together, sizes = np.zeros(len(key), np.int64), np.zeros(total, np.int64)
    np.add.at(together, which, np.repeat(np.where(pace > 0, np.minimum(chunks, 1), chunks), count))
    np.maximum.at(sizes, key % (total + 1), together)
    return under_way(sizes, model.latency)


def under_way(sizes: NDArray[Any], late: int) -> NDArray[Any]:
    """Return the greatest of what begins in each step and in those before it that is under way, for ``late`` steps each."""
    for _ in range(late - 1):
        sizes[1:] = np.maximum(sizes[1:], sizes[:-1])
    return sizes
