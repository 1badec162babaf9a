"""The contents of an MSCCL file, as columns; the words and limits of the format; and how files are read, as a stream.

No document type and no entity is taken, an element is forgotten when it is read, and no value is longer than a name may be.
Parts that cannot be read are named.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError, did_you_mean
from treecast.files.formats.header import is_whole
from treecast.files.programs.dataflow import Places
from treecast.files.programs.program import ADD, BUFFER, READ, RECEIVE, SEND, WRITE, Place, Program
from treecast.files.programs.verdict import Findings
from treecast.ragged import Ints, starts

BUFFERS = ("i", "o", "s")
"""Input, output and scratch."""
KNOWN = ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "custom")
SHARES = {"allgather": (True, False), "reduce_scatter": (False, True), "alltoall": (False, False)}
"""The collectives that divide a loop among GPUs: whether the input of each is its share alone, and whether its output is."""
ROOMS = {"Simple": 2, "LL": 8, "LL128": 8}
"""How many chunks may be in flight on a connection, by protocol."""
MOST_STEPS, MOST_CHANNELS, MOST_SHARING, MOST_BLOCKS = 256, 32, 32, 216
"""The most steps of a threadblock, channels, threadblocks that use a channel one way, threadblocks of a GPU."""
LAST_AWAITED, MOST_PLACES, MOST_ELEMENTS, LONGEST_NAME = 127, 2**15, 4096, 63
"""The last threadblock that can be awaited, the places of a buffer, the elements that a rank reads, the letters of a name."""
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


@dataclass(frozen=True, eq=False)
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
        block = int(np.searchsorted(self.start, step, side="right")) - 1  # the block in which the step's number lies
        words, at = self.of_block(block)
        number = step - int(self.start[block])
        return f"{words} step {number}", (*at, number)

    def program(self, wait: Ints) -> Program:
        """Return the program of its GPUs; ``wait``: the step that each waits for, or -1."""
        step, block, at = self.step, self.block, self.block_of
        kind, awaits = KINDS[step["type"]], wait >= 0
        units = np.where(kind > 0, step["cnt"], 0)  # a nop moves nothing, whatever its cnt says
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
            where=self.of_step,
            read=step["srcbuf"] * BUFFER + step["srcoff"],  # buffer and place in one number
            write=step["dstbuf"] * BUFFER + step["dstoff"],
        )

    def places(self, inplace: bool) -> Places:
        """Return its buffers as one row of places, for one or two buffers of input and output."""
        n, chunks, share = self.gpus, self.chunks, self.loop // self.gpus
        shared = max(self.loop, int(chunks[:, :2].max(initial=0)))  # in place input and output are one buffer
        begin = starts(shared + chunks[:, 2] if inplace else chunks.sum(axis=1))
        base, given = np.repeat(begin[:-1, None], 3, axis=1), chunks[:, 0]
        if inplace:
            own = np.arange(n) * share
            # a share stands at its GPU's place in the loop
            base[:, :2] += own[:, None] * np.array(self.shares)
            base[:, 2] += shared
            given = np.full(n, share if self.shares[0] else shared)
        else:
            base[:, 1:] += np.cumsum(chunks[:, :2], axis=1)
        return Places(ranks=n, units=1, base=base, size=chunks, total=int(begin[-1]), given=given, inplace=inplace)


# -- read ---------------------------------------------------------------------------------------------------------------

_LONGEST = 256  # characters of a value
_MOST_DEEP = 32
_PARENTS = {"gpu": "algo", "tb": "gpu", "step": "tb"}
_BLOCK = ("id", "send", "recv", "chan")
_STEP = ("type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep")
_PLACES = {name: i for i, name in enumerate(BUFFERS)}
_TABLES = {"type": {name: i for i, name in enumerate(TYPES)}, "srcbuf": _PLACES, "dstbuf": _PLACES}
_SPELLED = {"reducescatter": "reduce_scatter"}


class AlgorithmReader:
    """The parts that were read so far, and the breaches of rule ``shape`` for which it is no algorithm."""

    def __init__(self, found: Findings) -> None:
        self.found = found
        self.algo: dict[str, str] | None = None
        self.gpu: dict[int, tuple[int, int, int, int]] = {}  # its place in the file and its places
        self.block = array("q")  # gpu, id, send, recv, chan
        self.first = array("q")  # where the steps of each threadblock begin
        self.step = array("q")
        self._inside = list[str]()
        self._at = [-1, -1, -1]  # gpu, tb and step that are being read
        self._number: dict[str, int] = {}

    def wrong(self, text: str) -> None:
        """Note a breach at the present element."""
        at = tuple(number for number in self._at if number >= 0)
        words = " ".join(
            f"{word} {number}" for word, number in zip(("gpu", "tb", "step"), self._at, strict=True) if number >= 0
        )
        self.found.these("shape", np.zeros(1, np.int64), lambda _: text, lambda _: (words, at))

    def start(self, tag: str, said: dict[str, str]) -> None:
        """Begin an element."""
        inside = self._inside
        parent = inside[-1] if inside else ""
        inside.append(tag)
        if tag == "step" and parent == "tb":
            self._read_step(said)
        elif not parent:
            if tag != "algo":
                raise FormatError(f"this is no MSCCL file: it begins with <{tag[:40]}>, not with <algo>")
            self.algo = said
        elif tag in _PARENTS and parent != _PARENTS[tag]:
            self.wrong(f"a {tag} stands in a {_PARENTS[tag]}, not in a {parent[:40]}")
        elif tag == "gpu":
            self._read_gpu(said)
        elif tag == "tb":
            self._read_block(said)
        elif len(inside) > _MOST_DEEP:
            raise FormatError(f"this is no MSCCL file: elements lie {_MOST_DEEP} deep in one another")

    def end(self, _: str) -> None:
        """End an element."""
        self._inside.pop()
        depth = len(self._inside)
        if 0 < depth < 4:
            self._at[depth - 1 :] = [-1] * (4 - depth)  # what ends here is read no longer

    def whole(self, said: dict[str, str], name: str, of: str) -> int:
        """Return a whole number that an element says, or -2 where it says none."""
        text = said.get(name)
        if text is None:
            self.wrong(f"the {of} lacks {name}")
            return -2
        # few numbers stand in a file, many times each
        found = self._number.get(text)
        if found is None:
            if not is_whole(text.removeprefix("-"), 9):
                self.wrong(f"{name} is a whole number, not {text[:40]!r}")
                return -2
            found = int(text)
            if len(self._number) < 1 << 16:  # a hostile file could fill it
                self._number[text] = found
        return found

    def _read_gpu(self, said: dict[str, str]) -> None:
        at = self._at[0] = self.whole(said, "id", "gpu")
        first, last, spare = (self.whole(said, name, "gpu") for name in ("i_chunks", "o_chunks", "s_chunks"))
        chunks = first, last, spare
        if at in self.gpu:
            self.wrong(f"gpu {at} is there already")
        if min(chunks) < 0 and -2 not in chunks:
            self.wrong("a buffer has a negative number of chunks")
        self.gpu[at] = (len(self.gpu), *chunks)

    def _read_block(self, said: dict[str, str]) -> None:
        self._at[1] = self.whole(said, "id", "tb")
        self.block.append(self._at[0])
        self.block.extend([self.whole(said, name, "tb") for name in _BLOCK])
        self.first.append(len(self.step) // len(_STEP))

    def _read_step(self, said: dict[str, str]) -> None:
        at = self._at[2] = len(self.step) // len(_STEP) - self.first[-1]
        for name in _STEP:
            table = _TABLES.get(name)
            if table is None:
                self.step.append(self.whole(said, name, "step"))
            elif said.get(name) in table:
                self.step.append(table[said[name]])
            else:
                self.wrong(f"{name} is one of {', '.join(table)}, not {_not(said.get(name, ''), table)}")
                self.step.append(0)
        number = self.whole(said, "s", "step")
        if number not in (at, -2):
            self.wrong(f"steps are numbered 0, 1, …: here stands s = {number}")


def _not(said: str, known: Iterable[str]) -> str:
    return f"{said[:40]!r}{did_you_mean(said[:40], known)}"


def read_algorithm(data: bytes, found: Findings) -> tuple[Algorithm | None, str]:
    """Return the algorithm of an MSCCL file, or None where its shape is wrong, and its name; judge part of ``shape``.

    Raises FormatError when it is no XML, has a document type, or holds no algorithm.
    """
    reading = AlgorithmReader(found)
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    # an entity can be huge, and a document type declares them
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise FormatError(f"this is no MSCCL file: {expat.ErrorString(error.code)} in line {error.lineno}") from None
    except (ValueError, LookupError):
        raise FormatError("this is no MSCCL file: its encoding is not known") from None
    if reading.algo is None:
        raise FormatError("this is no MSCCL file: it holds no algorithm")
    return _algorithm(reading), reading.algo.get("name", "")[:80]


def _refuse(*_: Any) -> None:
    raise FormatError("this file declares a document type, which MSCCL has no need of: entities can make it huge")


def _algorithm(reading: AlgorithmReader) -> Algorithm | None:
    """Return the algorithm that was read, GPUs in order; None where something is wrong with it."""
    # 1. Numbers, with what the format takes where they are not said.
    said = dict(reading.algo or {})
    numbers = {name: reading.whole(said, name, "algo") for name in ("ngpus", "nchunksperloop", "nchannels", "inplace")}
    # as the loader has it
    defaults = {"outofplace": str(1 - min(max(numbers["inplace"], 0), 1)), "minBytes": "0", "maxBytes": str(2**27)}
    if absent := [name for name in defaults if name not in said]:
        reading.found.notes.append(f"{', '.join(absent)} are not said: Azure's executor refuses such a file")
    least, most = ((defaults | said)[name] for name in ("minBytes", "maxBytes"))
    if not (is_whole(least, 18) and is_whole(most, 18) and int(least) <= int(most)):
        reading.wrong("minBytes and maxBytes are numbers of bytes, the first the smaller")
    numbers["outofplace"] = reading.whole(defaults | said, "outofplace", "algo")
    # 2. All faults of the head are told at once.
    coll = _SPELLED.get(said.get("coll", ""), said.get("coll", ""))
    gpus, loop = numbers["ngpus"], numbers["nchunksperloop"]
    for fine, text in (
        ("name" in said, "the algo lacks name"),
        (len(said.get("name", "").encode()) <= LONGEST_NAME, f"the name is longer than {LONGEST_NAME} bytes"),
        (coll in KNOWN, f"coll is one of {', '.join(KNOWN)}, not {_not(coll, KNOWN)}"),
        (said.get("proto") in ROOMS, f"proto is one of {', '.join(ROOMS)}, not {_not(said.get('proto', ''), ROOMS)}"),
        (gpus > 0 and loop > 0, "ngpus and nchunksperloop are numbers from 1"),
        (all(numbers[name] in (0, 1, -2) for name in ("inplace", "outofplace")), "inplace and outofplace are 0 or 1"),
        (1 in (numbers["inplace"], numbers["outofplace"]), "neither inplace nor outofplace is 1: it is for no buffers"),
        (sorted(reading.gpu) == list(range(len(reading.gpu))), "gpus have the ids 0, 1, …, each once"),
        (gpus == len(reading.gpu), f"ngpus is {gpus}, but {len(reading.gpu)} gpus follow"),
    ):
        if not fine:
            reading.wrong(text)
    if not reading.found.judged("shape"):
        return None
    # 3. The columns.
    block, start, step = _columns(reading)
    return Algorithm(
        *(said["name"], said["proto"], coll, gpus, loop, numbers["nchannels"]),
        *(numbers["inplace"] == 1, numbers["outofplace"] == 1),
        *(np.array([reading.gpu[g][1:] for g in range(gpus)], np.int64), block, start, step),
    )


def _columns(reading: AlgorithmReader) -> tuple[dict[str, Ints], Ints, dict[str, Ints]]:
    """Return the columns of threadblocks, where the steps of each begin, and the columns of steps, by GPU."""
    blocks = np.array(reading.block, np.int64).reshape(-1, 1 + len(_BLOCK))
    steps = np.array(reading.step, np.int64).reshape(-1, len(_STEP))
    begin = np.append(np.array(reading.first, np.int64), len(steps))
    # by GPU, each GPU's in the order of the file
    order = np.argsort(blocks[:, 0], kind="stable")
    count = np.diff(begin)[order]
    start = starts(count)
    if not np.array_equal(order, np.arange(len(order))):  # steps go with their blocks
        steps = steps[np.repeat(begin[:-1][order] - start[:-1], count) + np.arange(len(steps))]
    block = {name: np.ascontiguousarray(blocks[order, i]) for i, name in enumerate(("gpu", *_BLOCK))}
    return block, start, {name: np.ascontiguousarray(steps[:, i]) for i, name in enumerate(_STEP)}
