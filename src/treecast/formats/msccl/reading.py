"""MSCCL XML read as a stream into columns; the parts that cannot be read are named.

No document type and no entity is taken, an element is forgotten when it is read, and no value is longer than a name may be.
"""

from array import array
from collections.abc import Iterable
from typing import Any
from xml.parsers import expat

import numpy as np

from treecast.errors import FormatError, did_you_mean
from treecast.formats.msccl.program import BUFFERS, LONGEST_NAME, ROOMS, TYPES, Algorithm
from treecast.formats.msccl.program import COLLECTIVES as KNOWN
from treecast.formats.native.header import is_whole
from treecast.programs.verdict import Findings
from treecast.ragged import Ints, starts

_LONGEST = 256  # characters of a value
_MOST_DEEP = 32
_PARENTS = {"gpu": "algo", "tb": "gpu", "step": "tb"}
_BLOCK = ("id", "send", "recv", "chan")
_STEP = ("type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep")
_PLACES = {name: i for i, name in enumerate(BUFFERS)}
_TABLES = {"type": {name: i for i, name in enumerate(TYPES)}, "srcbuf": _PLACES, "dstbuf": _PLACES}
_SPELLED = {"reducescatter": "reduce_scatter"}


class Reading:
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
            self._at[depth - 1 :] = [-1] * (4 - depth)

    def whole(self, said: dict[str, str], name: str, of: str) -> int:
        """Return a whole number that an element says, or -2 where it says none."""
        text = said.get(name)
        if text is None:
            self.wrong(f"the {of} lacks {name}")
            return -2
        found = self._number.get(text)
        if found is None:
            if not is_whole(text.removeprefix("-"), 9):
                self.wrong(f"{name} is a whole number, not {text[:40]!r}")
                return -2
            found = int(text)
            if len(self._number) < 1 << 16:
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
    reading = Reading(found)
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
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


def _algorithm(reading: Reading) -> Algorithm | None:
    """Return the algorithm that was read, GPUs in order; None where something is wrong with it."""
    said = dict(reading.algo or {})
    numbers = {name: reading.whole(said, name, "algo") for name in ("ngpus", "nchunksperloop", "nchannels", "inplace")}
    defaults = {"outofplace": str(1 - min(max(numbers["inplace"], 0), 1)), "minBytes": "0", "maxBytes": str(2**27)}
    if absent := [name for name in defaults if name not in said]:
        reading.found.notes.append(f"{', '.join(absent)} are not said: Azure's executor refuses such a file")
    least, most = ((defaults | said)[name] for name in ("minBytes", "maxBytes"))
    if not (is_whole(least, 18) and is_whole(most, 18) and int(least) <= int(most)):
        reading.wrong("minBytes and maxBytes are numbers of bytes, the first the smaller")
    numbers["outofplace"] = reading.whole(defaults | said, "outofplace", "algo")
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
    block, start, step = _columns(reading)
    chunks = np.array([reading.gpu[g][1:] for g in range(gpus)], np.int64)
    return Algorithm(
        name=said["name"],
        proto=said["proto"],
        coll=coll,
        gpus=gpus,
        loop=loop,
        channels=numbers["nchannels"],
        inplace=bool(numbers["inplace"]),
        outofplace=bool(numbers["outofplace"]),
        chunks=chunks,
        block=block,
        start=start,
        step=step,
    )


def _columns(reading: Reading) -> tuple[dict[str, Ints], Ints, dict[str, Ints]]:
    """Return the columns of threadblocks, where the steps of each begin, and the columns of steps, by GPU."""
    blocks = np.array(reading.block, np.int64).reshape(-1, 1 + len(_BLOCK))
    steps = np.array(reading.step, np.int64).reshape(-1, len(_STEP))
    begin = np.append(np.array(reading.first, np.int64), len(steps))
    order = np.argsort(blocks[:, 0], kind="stable")
    count = np.diff(begin)[order]
    start = starts(count)
    if not np.array_equal(order, np.arange(len(order))):
        steps = steps[np.repeat(begin[:-1][order] - start[:-1], count) + np.arange(len(steps))]
    block = {name: np.ascontiguousarray(blocks[order, i]) for i, name in enumerate(("gpu", *_BLOCK))}
    return block, start, {name: np.ascontiguousarray(steps[:, i]) for i, name in enumerate(_STEP)}
