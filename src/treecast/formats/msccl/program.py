"""What an MSCCL file says, as columns, and the words and limits of the format."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import Ints

TYPES = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
"""The types of steps; a step's type is its place in this list."""
BUFFERS = ("i", "o", "s")
"""Input, output and scratch."""
COLLECTIVES = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "custom")
ROOMS = {"Simple": 2, "LL": 8, "LL128": 8}
"""How many chunks may be in flight on a connection, by protocol."""
MOST_STEPS, MOST_AT_ONCE, MOST_CHANNELS, MOST_SHARING, MOST_BLOCKS = 256, 71, 32, 32, 216
"""The most steps of a threadblock, chunks of a step, channels, threadblocks that use a channel one way, threadblocks of a GPU."""
LAST_AWAITED, MOST_PLACES, MOST_ELEMENTS, LONGEST_NAME = 127, 2**15, 4096, 63
"""The last threadblock that can be awaited, the places of a buffer, the elements that a rank reads, the letters of a name."""

NOP = TYPES.index("nop")
_SENDS, _RECEIVES = ("s", "rcs", "rrs", "rrcs"), ("r", "rcs", "rrc", "rrs", "rrcs")
_READS, _WRITES = ("s", "rrc", "rrs", "rrcs", "cpy", "re"), ("r", "rcs", "rrc", "rrcs", "cpy", "re")
_ADDS = ("rrc", "rrs", "rrcs", "re")


def _table(names: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.array([name in names for name in TYPES])


SENDS, RECEIVES, READS, WRITES, ADDS = map(_table, (_SENDS, _RECEIVES, _READS, _WRITES, _ADDS))
"""Whether a step of each type sends, receives, reads ``src``, writes ``dst``, and adds. ``re`` reads ``dst`` as well."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """What an MSCCL file says: threadblocks by GPU, and steps by threadblock.

    Parameters
    ----------
    name, proto, coll : str
        As in the file.
    gpus, loop, channels : int
        ``ngpus``, ``nchunksperloop`` and ``nchannels``.
    inplace, outofplace : bool
        For which buffers it is meant.
    chunks : int64 (gpus, 3)
        The places of each GPU's input, output and scratch.
    block : dict of int64 (blocks,)
        ``gpu``, ``id``, ``send``, ``recv`` and ``chan`` of each threadblock.
    start : int64 (blocks + 1,)
        Where the steps of each threadblock begin, and the end.
    step : dict of int64 (steps,)
        ``type`` (a place in ``TYPES``), ``srcbuf`` and ``dstbuf`` (places in ``BUFFERS``), ``srcoff``, ``dstoff``, ``cnt``,
        ``depid``, ``deps`` and ``hasdep`` of each step.
    """

    name: str
    proto: str
    coll: str
    gpus: int
    loop: int
    channels: int
    inplace: bool
    outofplace: bool
    chunks: Ints
    block: dict[str, Ints]
    start: Ints
    step: dict[str, Ints]

    @property
    def blocks(self) -> int:
        """The number of threadblocks."""
        return len(self.start) - 1

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self.start[-1])

    @property
    def block_of(self) -> Ints:
        """The threadblock of each step: int64 (steps,)."""
        return np.repeat(np.arange(self.blocks), np.diff(self.start))

    @property
    def first_block(self) -> Ints:
        """Where the threadblocks of each GPU begin, and the end: int64 (gpus + 1,)."""
        return np.searchsorted(self.block["gpu"], np.arange(self.gpus + 1))

    @property
    def share(self) -> int:
        """The chunks of a block where each GPU has one."""
        return self.loop // self.gpus

    def is_(self, table: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which steps are of the types that a table says."""
        return table[self.step["type"]]

    def where(self, step: int) -> tuple[int, int, int]:
        """Return the GPU, threadblock and number of a step."""
        block = int(np.searchsorted(self.start, step, side="right")) - 1
        return int(self.block["gpu"][block]), int(self.block["id"][block]), step - int(self.start[block])
