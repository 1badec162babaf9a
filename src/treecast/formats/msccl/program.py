"""The contents of an MSCCL file, as columns, and the words and limits of the format."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.programs.dataflow import Places
from treecast.programs.program import ADD, BUFFER, READ, RECEIVE, SEND, WRITE, Place, Program
from treecast.ragged import Ints, starts

TYPES = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
"""The types of steps; a step's type is its place in this list."""
BUFFERS = ("i", "o", "s")
"""Input, output and scratch."""
COLLECTIVES = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "custom")
SHARES = {"allgather": (True, False), "reduce_scatter": (False, True), "alltoall": (False, False)}
"""The collectives that divide a loop among GPUs: whether the input of each is its share alone, and whether its output is."""
ROOMS = {"Simple": 2, "LL": 8, "LL128": 8}
"""How many chunks may be in flight on a connection, by protocol."""
MOST_STEPS, MOST_CHANNELS, MOST_SHARING, MOST_BLOCKS = 256, 32, 32, 216
"""The most steps of a threadblock, channels, threadblocks that use a channel one way, threadblocks of a GPU."""
LAST_AWAITED, MOST_PLACES, MOST_ELEMENTS, LONGEST_NAME = 127, 2**15, 4096, 63
"""The last threadblock that can be awaited, the places of a buffer, the elements that a rank reads, the letters of a name."""

NOP = TYPES.index("nop")
_KINDS = {
    "s": READ | SEND,
    "r": RECEIVE | WRITE,
    "rcs": RECEIVE | WRITE | SEND,
    "rrc": RECEIVE | READ | ADD | WRITE,
    "rrs": RECEIVE | READ | ADD | SEND,
    "rrcs": RECEIVE | READ | ADD | WRITE | SEND,
    "cpy": READ | WRITE,
    "re": READ | ADD | WRITE,
    "nop": 0,
}
KINDS = np.array([_KINDS[name] for name in TYPES])
"""The bits of each type of step. ``re`` reads ``dst`` as well."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Algorithm:
    """The contents of an MSCCL file: threadblocks by GPU, and steps by threadblock.

    ``gpus``, ``loop`` and ``channels`` are ``ngpus``, ``nchunksperloop`` and ``nchannels``. ``chunks``, int64 (gpus, 3): the
    places of each GPU's input, output and scratch. ``block`` has ``gpu``, ``id``, ``send``, ``recv`` and ``chan`` of each
    threadblock, whose steps begin at ``start``, int64 (blocks + 1,). ``step`` has ``type`` (a place in ``TYPES``), ``srcbuf`` and
    ``dstbuf`` (places in ``BUFFERS``), ``srcoff``, ``dstoff``, ``cnt``, ``depid``, ``deps`` and ``hasdep`` of each step.
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
    def shares(self) -> tuple[bool, bool]:
        """Whether the input of each GPU is its share of a loop alone, and whether its output is."""
        return SHARES.get(self.coll, (False, False))

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

    def does(self, bit: int) -> NDArray[np.bool_]:
        """Return which steps have a bit."""
        return (KINDS[self.step["type"]] & bit) > 0

    def of_gpu(self, gpu: int) -> Place:
        """Return a GPU's place in the file."""
        return f"gpu {gpu}", (gpu,)

    def of_block(self, block: int) -> Place:
        """Return a threadblock's place in the file."""
        at = int(self.block["gpu"][block]), int(self.block["id"][block])
        return "gpu {} tb {}".format(*at), at

    def of_step(self, step: int) -> Place:
        """Return a step's place in the file."""
        block = int(np.searchsorted(self.start, step, side="right")) - 1
        words, at = self.of_block(block)
        number = step - int(self.start[block])
        return f"{words} step {number}", (*at, number)

    def program(self, wait: Ints) -> Program:
        """Return the program of its GPUs; ``wait``: the step that each waits for, or -1."""
        step, block, at = self.step, self.block, self.block_of
        kind, awaits = KINDS[step["type"]], wait >= 0
        units = np.where(kind > 0, step["cnt"], 0)
        return Program(
            ranks=self.gpus,
            rank=block["gpu"][at],
            lane=at,
            kind=kind,
            to=np.where(kind & SEND, block["send"][at], -1),
            source=np.where(kind & RECEIVE, block["recv"][at], -1),
            tag=block["chan"][at],
            size=units,
            units=units,
            waiting=np.flatnonzero(awaits),
            wait=wait[awaits],
            begun=np.zeros(int(awaits.sum()), np.bool_),
            where=self.of_step,
            read=step["srcbuf"] * BUFFER + step["srcoff"],
            write=step["dstbuf"] * BUFFER + step["dstoff"],
        )

    def places(self, inplace: bool) -> Places:
        """Return its buffers as one row of places, for one or two buffers of input and output."""
        n, chunks, share = self.gpus, self.chunks, self.loop // self.gpus
        shared = max(self.loop, int(chunks[:, :2].max(initial=0)))
        begin = starts(shared + chunks[:, 2] if inplace else chunks.sum(axis=1))
        base, given = np.repeat(begin[:-1, None], 3, axis=1), chunks[:, 0]
        if inplace:
            own = np.arange(n) * share
            base[:, :2] += own[:, None] * np.array(self.shares)
            base[:, 2] += shared
            given = np.full(n, share if self.shares[0] else shared)
        else:
            base[:, 1:] += np.cumsum(chunks[:, :2], axis=1)
        return Places(ranks=n, units=1, base=base, size=chunks, total=int(begin[-1]), given=given, inplace=inplace)
