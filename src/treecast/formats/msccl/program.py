"""The contents of an MSCCL file, as columns, and the words and limits of the format."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.programs.buffers import MOST_AT_ONCE
from treecast.programs.dataflow import Places
from treecast.programs.program import ADD, BUFFER, READ, RECEIVE, SEND, WRITE, Place, Program
from treecast.programs.verdict import Findings, Where
from treecast.ragged import Ints, places, starts

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
_USUAL_BLOCKS = 108

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
TYPES, KINDS = tuple(_KINDS), np.array(list(_KINDS.values()))
"""The types of steps, and the bits of each; a step's type is its place in this list. ``re`` reads ``dst`` as well."""
NOP = TYPES.index("nop")


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


# -- rule shape --------------------------------------------------------------------------------------------------------


class _Finder:
    """Notes breaches of rule ``shape`` that a mask marks, of GPUs, threadblocks and steps; each returns whether there are any."""

    def __init__(self, algorithm: Algorithm, found: Findings) -> None:
        def noting(where: Where) -> Callable[[NDArray[np.bool_], Callable[[int], str]], bool]:
            return lambda wrong, say: found.these("shape", np.flatnonzero(wrong), say, where)

        self.gpus, self.blocks, self.steps = map(noting, (algorithm.of_gpu, algorithm.of_block, algorithm.of_step))
        self._whole = noting(lambda _: ("", ()))

    def file(self, wrong: bool, text: str) -> bool:
        """Note a fault of the file as a whole."""
        return self._whole(np.array([wrong]), lambda _: text)


def judge_shape(found: Findings, program: Algorithm) -> bool:
    """Judge ``shape``: the limits of the format, and whether all that it names is there. Return whether to go on."""
    finder = _Finder(program, found)
    sized, joined = _check_sizes(program, finder), _check_blocks(program, finder)
    fine = sized and joined and _check_steps(program, finder)
    if fine:
        _check_waits(program, finder)
    most = np.diff(program.first_block).max(initial=0)
    if most > _USUAL_BLOCKS:
        found.notes.append(f"a gpu has {most} threadblocks: some consumers take {_USUAL_BLOCKS} at most")
    found.judged("shape")
    return fine


def _check_sizes(program: Algorithm, found: _Finder) -> bool:
    chunks, n, loop, coll = program.chunks, program.gpus, program.loop, program.coll
    wrong = found.file(coll in SHARES and loop % n != 0, f"nchunksperloop is {loop}, no multiple of {n} gpus")
    for place, name in enumerate(("i_chunks", "o_chunks")):
        said = chunks[:, place] * (n if program.shares[place] else 1)
        wrong |= found.gpus(
            (chunks[:, place] > 0) & (said != loop) & (coll != "custom"),
            lambda g, name=name, said=said: (
                f"{name} gives {said[g]} chunks to all, where nchunksperloop is {loop}: give 0 or as many"
            ),
        )
    wrong |= found.gpus(chunks.max(axis=1) > MOST_PLACES, lambda _: f"a buffer has more than {MOST_PLACES:,} chunks")
    bad = not 1 <= program.channels <= MOST_CHANNELS
    found.file(bad, f"nchannels is {program.channels}: there are 1 to {MOST_CHANNELS}")
    return not wrong


def _check_blocks(program: Algorithm, found: _Finder) -> bool:
    block, n = program.block, program.gpus
    count = np.diff(program.first_block)
    wrong = found.blocks(
        block["id"] != places(count), lambda b: "threadblocks are numbered 0, 1, … in the file's order"
    )
    found.gpus(count > MOST_BLOCKS, lambda g: f"{count[g]} threadblocks: the most are {MOST_BLOCKS}")
    elements = count + np.bincount(block["gpu"][program.block_of], minlength=n) + n
    found.gpus(
        elements > MOST_ELEMENTS, lambda g: f"a rank reads {elements[g]:,} elements: the most are {MOST_ELEMENTS:,}"
    )
    wrong |= found.blocks(
        (block["chan"] < 0) | (block["chan"] >= program.channels),
        lambda b: f"chan is {block['chan'][b]}, but nchannels is {program.channels}",
    )
    for way in ("send", "recv"):
        peer = block[way]
        wrong |= found.blocks(
            (peer < -1) | (peer >= n) | (peer == block["gpu"]),
            lambda b, way=way, peer=peer: f"{way} is {peer[b]}: it is another gpu, or -1",
        )
        if wrong:
            continue
        used = np.flatnonzero(peer >= 0)
        key = (block["gpu"][used] * n + peer[used]) * program.channels + block["chan"][used]
        twice = peer >= 0
        twice[used[np.unique(key, return_index=True)[1]]] = False
        wrong |= found.blocks(
            twice, lambda b, way=way, peer=peer: f"another threadblock has {way} {peer[b]} on chan {block['chan'][b]}"
        )
        on = block["gpu"][used] * program.channels + block["chan"][used]
        at, sharing = np.unique(on, return_counts=True)
        full = np.zeros(n, bool)
        full[at[sharing > MOST_SHARING] // program.channels] = True
        found.gpus(full, lambda _, way=way: f"more than {MOST_SHARING} threadblocks have a {way} on one chan")
    return not wrong


def _check_steps(program: Algorithm, found: _Finder) -> bool:
    step, block, at = program.step, program.block, program.block_of
    count = np.diff(program.start)
    found.blocks(count > MOST_STEPS, lambda b: f"{count[b]} steps: the most are {MOST_STEPS}")
    moving = step["type"] != NOP
    units, gpu = step["cnt"], block["gpu"][at]
    wrong = found.steps(moving & (units < 1), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    found.steps(moving & (units > MOST_AT_ONCE), lambda s: f"cnt is {units[s]}: it is 1 to {MOST_AT_ONCE}")
    for way, table in (("send", SEND), ("recv", RECEIVE)):
        wrong |= found.steps(program.does(table) & (block[way][at] < 0), lambda _, way=way: f"its tb has no {way}")
    for buffer, offset, table in (("srcbuf", "srcoff", READ), ("dstbuf", "dstoff", WRITE)):
        size = program.chunks[gpu, step[buffer]]
        used = program.does(table)
        wrong |= found.steps(
            used & ((step[offset] < 0) | (step[offset] + units > size)),
            lambda s, buffer=buffer, offset=offset, size=size: (
                f"{offset} {step[offset][s]} and cnt {units[s]} lie outside buffer {BUFFERS[step[buffer][s]]} of "
                f"{size[s]} chunks"
            ),
        )
        found.steps(
            ~used & moving & ((step[offset] < -1) | (step[offset] >= MOST_PLACES)),
            lambda s, offset=offset: f"{offset} {step[offset][s]} is no place: the last is {MOST_PLACES - 1:,}",
        )
    return not wrong


def _check_waits(program: Algorithm, found: _Finder) -> None:
    step, gpu = program.step, program.block["gpu"][program.block_of]
    blocks: ArrayLike = np.diff(program.first_block)[gpu]
    waits = step["depid"] >= 0
    found.steps(
        (step["depid"] < -1) | (step["depid"] >= blocks), lambda s: f"depid is {step['depid'][s]}: no tb of this gpu"
    )
    found.steps(
        waits & (step["depid"] > LAST_AWAITED),
        lambda s: f"depid is {step['depid'][s]}: the last that can be awaited is {LAST_AWAITED}",
    )
    found.steps(waits & (step["deps"] < 0), lambda s: f"deps is {step['deps'][s]}: which step it waits for is not said")
    found.steps((step["hasdep"] < 0) | (step["hasdep"] > 1), lambda s: f"hasdep is {step['hasdep'][s]}: it is 0 or 1")
    waiting_nop = (step["type"] == NOP) & waits
    ends = np.zeros(program.steps, bool)
    ends[1:] = waiting_nop[:-1]
    ends[program.start[:-1][np.diff(program.start) > 0]] = False
    found.steps(ends & ~waits, lambda _: "it ends a chain of waits, and must wait itself: its wait is lost")
