"""Chakra's execution traces, which ASTRA-sim takes as a custom collective: sends, receives and their dependencies.

A file for each rank has messages of Protocol Buffers, each behind its length: first the version, then the nodes of a graph, those
that others depend on first. The few fields that are needed are written and read by hand, so that nothing has to be installed.
Attributes named ``treecast``, which other readers skip, say the job and the chunks of each message.
"""

import math
import re
from collections.abc import Iterable, Iterator

from treecast.errors import FormatError
from treecast.files.formats.judging import judge_lists
from treecast.files.formats.operations import LONGEST, MOST_RANKS, Listed, ListedOperation, Reading, operations_of
from treecast.files.formats.registry import ADDING, BYTES, begins_like, exporter
from treecast.files.programs.program import ADD, RECEIVE, SEND
from treecast.schedule import Schedule

_VERSION = "0.0.4"
_TYPES = {ADD: ("add", 4), SEND: ("send", 5), RECEIVE: ("receive", 6)}
"""By kind of operation: the name of a node, and its type."""
_ID, _NAME, _TYPE, _NEEDS, _MICROSECONDS, _ATTRIBUTE = 1, 2, 3, 5, 7, 10  # fields of a node
_CONTROL, _COLLECTIVE = 4, 7  # a field of other writers' nodes, and a type of them
_INT32, _INT64, _BOOL, _TEXT = 7, 9, 27, 29  # fields of an attribute: readers take one of another type as 0
_OURS = "treecast"
_FIRST = re.compile(rb"..?\x0a[\x01-\x20]\d{1,4}\.\d", re.DOTALL)


@exporter(
    "chakra", suffix=".chakra", summary="a folder of Chakra's execution traces, for ASTRA-sim", settings=(BYTES, ADDING)
)
def encode(schedule: Schedule, *, size: int | None = None, adding: float = 0.0) -> Iterator[tuple[str, bytes]]:
    """Return the traces of all ranks, ``rank.0.et`` and so on. Raises FormatError when messages cannot be listed one by one."""
    job, ranks = operations_of(schedule, size, adding)

    def files() -> Iterator[tuple[str, bytes]]:
        for rank, operations in enumerate(ranks):
            said = [(2, _attribute(_OURS, _TEXT, line)) for line in (job if rank == 0 else [])]
            yield f"rank.{rank}.et", _behind_length(_message((1, _VERSION), *said)) + b"".join(_nodes(operations))

    return files()


def _nodes(operations: Iterable[ListedOperation]) -> Iterator[bytes]:
    """Yield the nodes of a rank, one for each operation."""
    number = dict[int, int]()
    for one in operations:
        number[one.number] = len(number) + 1
        # rounded up: work is never free
        needs, microseconds = sorted({number[other] for other in one.awaited}), math.ceil(one.nanoseconds / 1000)
        said = [("is_cpu_op", _BOOL, 0)]
        if one.kind != ADD:
            said += [("comm_size", _INT64, one.size), ("comm_src", _INT32, one.src), ("comm_dst", _INT32, one.dst)]
            said.append(("comm_tag", _INT32, one.tag))
        name, type_ = _TYPES[one.kind]
        fields: list[tuple[int, int | str | bytes]] = [(_ID, len(number)), (_NAME, f"{name} {one.message}")]
        fields += [(_TYPE, type_), *([(_NEEDS, b"".join(map(_varint, needs)))] if needs else [])]
        fields += [(_MICROSECONDS, microseconds)] if one.kind == ADD and microseconds else []
        fields += [(_ATTRIBUTE, _attribute(*each)) for each in said]
        fields += [(_ATTRIBUTE, _attribute(_OURS, _TEXT, one.comment))] if one.comment else []
        yield _behind_length(_message(*fields))


def _attribute(name: str, field: int, value: int | str) -> bytes:
    return _message((1, name), (field, value))


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Return a message of Protocol Buffers: each field with its number; texts and messages stand behind their lengths."""
    found = b""
    for field, value in fields:
        if isinstance(value, int):
            found += _varint(field << 3) + _varint(value)  # type 0: a number
        else:
            # type 2: bytes
            found += _varint(field << 3 | 2) + _behind_length(value.encode() if isinstance(value, str) else value)
    return found


def _varint(number: int) -> bytes:
    """Return a number of 0 or more as Protocol Buffers write it: seven bits a byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _behind_length(data: bytes) -> bytes:
    return _varint(len(data)) + data


# -- read ---------------------------------------------------------------------------------------------------------------


def read_traces(data: bytes) -> Listed:
    """Return the operations of the traces of all ranks, one behind the other. Raises FormatError with the node that is none."""
    reading, nodes, at = Reading("chakra", "node"), dict[int, tuple[int, list[int]]](), 0
    while at < len(data):
        length, at = _read_varint(data, at)
        fields = _fields(data[at : at + length], length)
        at += length
        if isinstance(fields.get(_ID, [b""])[0], bytes):  # not a node, but the version with which each trace begins
            _wait(reading, nodes)
            reading.ranks, nodes = reading.ranks + 1, {}
            if reading.ranks > MOST_RANKS:
                raise FormatError(f"more than {MOST_RANKS:,} ranks are too many to judge")
            for one in fields.get(2, []):
                _comment(reading, _fields(one), 0)
        else:
            _read_node(reading, nodes, fields)
    _wait(reading, nodes)
    return reading.listed(eager=True)


judge = judge_lists("chakra", read_traces, recognises=begins_like(_FIRST), folder="*.et")


def _read_node(reading: Reading, nodes: dict[int, tuple[int, list[int]]], fields: dict[int, list[int | bytes]]) -> None:
    """Read a node of the present rank."""
    number, said = int(fields[_ID][0]), dict[str, int]()
    rank, type_ = reading.ranks - 1, fields.get(_TYPE, [0])[0]
    for one in fields.get(_ATTRIBUTE, []):
        about = _fields(one)
        name = _text(about.get(1, [b""])[0])
        if name == _OURS:
            _comment(reading, about, number)
        for field, (value, *_) in about.items():
            if field > 1 and isinstance(value, int):
                said[name] = value
    kind = {5: SEND, 6: RECEIVE}.get(int(type_) if isinstance(type_, int) else 0, 0)
    own, peer = ("comm_src", "comm_dst") if kind == SEND else ("comm_dst", "comm_src")
    if type_ == _COLLECTIVE:
        raise FormatError(
            f"rank {rank}, node {number} is a collective, whose messages a simulator chooses: give its sends and receives"
        )
    if number in nodes or (kind and (peer not in said or said.get(own, rank) != rank)):
        raise FormatError(
            f"rank {rank}, node {number} stands there twice, or is no send or receive of this rank with a {peer}"
        )
    row = (rank, kind, said[peer], said.get("comm_tag", 0), said.get("comm_size", 0)) if kind else (rank, 0, 0, 0, 0)
    needs = [other for field in (_CONTROL, _NEEDS) for each in fields.get(field, []) for other in _numbers(each)]
    if max(row[2:]) >= 10**LONGEST:
        raise FormatError(f"rank {rank}, node {number}: numbers have at most {LONGEST} digits")
    nodes[number] = reading.add(row, number), needs


def _wait(reading: Reading, nodes: dict[int, tuple[int, list[int]]]) -> None:
    """Let the nodes of a rank wait for those that they need."""
    for number, (one, needs) in nodes.items():
        for other in needs:
            if other not in nodes:
                raise FormatError(f"rank {reading.ranks - 1}, node {number} needs node {other}, which is not there")
            reading.wait(one, nodes[other][0])


def _comment(reading: Reading, about: dict[int, list[int | bytes]], number: int) -> None:
    for text in about.get(_TEXT, []):
        reading.comment(_text(text), number)


def _text(value: int | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else ""


def _numbers(value: int | bytes) -> Iterator[int]:
    """Yield numbers, one by itself or many that are packed."""
    at = 0
    while isinstance(value, bytes) and at < len(value):
        number, at = _read_varint(value, at)
        yield number
    if isinstance(value, int):
        yield value


def _fields(data: int | bytes, length: int | None = None) -> dict[int, list[int | bytes]]:
    """Return the fields of a message: numbers, and bytes of all others. Raises FormatError where it is cut off."""
    found, at = dict[int, list[int | bytes]](), 0
    if isinstance(data, int) or (length is not None and len(data) < length):
        raise FormatError("a trace is cut off, or no trace of Chakra's")
    while at < len(data):
        key, at = _read_varint(data, at)
        wide = {1: 8, 5: 4}.get(key & 7, 0)  # numbers of a fixed width
        value: int | bytes = 0
        if key & 7 in (0, 2):
            value, at = _read_varint(data, at)
            wide = value if key & 7 == 2 else 0
        if (key & 7) in (3, 4, 6, 7) or at + wide > len(data):  # groups, or no types at all
            raise FormatError("a trace is cut off, or no trace of Chakra's")
        found.setdefault(key >> 3, []).append(value if key & 7 == 0 else data[at : at + wide])
        at += wide
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of at most 63 bits, and where it ends. Raises FormatError."""
    number = shift = 0
    while at < len(data) and shift < 63:  # else it would not fit an int64
        number |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return number, at
    raise FormatError("a trace is cut off, or no trace of Chakra's")
