"""Chakra's execution traces, which ASTRA-sim takes as a custom collective: sends, receives and their dependencies.

A file for each rank has messages of Protocol Buffers, each behind its length: first the version, then the nodes of a graph, those
that others depend on first. The few fields that are needed are written by hand, so that nothing has to be installed.
"""

from collections.abc import Iterator

import numpy as np

from treecast.formats.registry import ADDING, BYTES, exporter
from treecast.programs.messages import chunk_places, messages_of, of_schedule
from treecast.programs.program import ADD, RECEIVE, SEND, Program
from treecast.ragged import Ints
from treecast.schedule import Schedule

_VERSION = "0.0.4"
_TYPES = {ADD: ("add", 4), SEND: ("send", 5), RECEIVE: ("receive", 6)}
"""By kind of operation: the name of a node, and its type."""
_ID, _NAME, _TYPE, _NEEDS, _MICROSECONDS, _ATTRIBUTE = 1, 2, 3, 5, 7, 10  # fields of a node
_INT32, _INT64, _BOOL = 7, 9, 27  # fields of an attribute: readers take one of another type as 0


@exporter(
    "chakra",
    suffix=".chakra",
    summary="a folder of Chakra's execution traces, for ASTRA-sim",
    settings=(BYTES, ADDING),
)
def encode(schedule: Schedule, *, size: int | None = None, adding: float = 0.0) -> Iterator[tuple[str, bytes]]:
    """Return the traces of all ranks, ``rank.0.et`` and so on. Raises FormatError when messages cannot be listed one by one."""
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    program, carried = of_schedule(messages, begins)
    microseconds = np.ceil(adding * messages.numbers(begins) / 1000).astype(np.int64)
    first = _behind_length(_message((1, _VERSION)))
    return (
        (f"rank.{rank}.et", first + b"".join(_trace(program, carried, some, microseconds)))
        for rank, some in enumerate(program.of_ranks())
    )


def _trace(program: Program, carried: Ints, some: Ints, microseconds: Ints) -> Iterator[bytes]:
    """Yield the nodes of a rank, one for each of ``some`` operations; ``microseconds``: how long each message is added."""
    number = dict(zip(some.tolist(), range(1, len(some) + 1), strict=True))
    sends = program.kind[some] == SEND
    rank = program.rank[some]
    src, dst = np.where(sends, rank, program.source[some]), np.where(sends, program.to[some], rank)
    columns = (carried[some], program.kind[some], src, dst, program.tag[some])
    columns += (np.maximum(program.size[some], 1), microseconds[carried[some]])
    for one, m, kind, src, dst, tag, size, long in zip(some.tolist(), *(c.tolist() for c in columns), strict=True):
        needs = sorted({number[other] for other in program.awaited(one)})
        said = [("is_cpu_op", _BOOL, 0)]
        if kind != ADD:
            said += [("comm_size", _INT64, size), ("comm_src", _INT32, src), ("comm_dst", _INT32, dst)]
            said.append(("comm_tag", _INT32, tag))
        name, type_ = _TYPES[kind]
        fields: list[tuple[int, int | str | bytes]] = [(_ID, number[one]), (_NAME, f"{name} {m}"), (_TYPE, type_)]
        fields += [(_NEEDS, b"".join(map(_varint, needs)))] if needs else []
        fields += [(_MICROSECONDS, long)] if kind == ADD and long else []
        fields += [(_ATTRIBUTE, _message((1, called), (field, value))) for called, field, value in said]
        yield _behind_length(_message(*fields))


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Return a message of Protocol Buffers: each field with its number; texts and messages stand behind their lengths."""
    found = b""
    for field, value in fields:
        if isinstance(value, int):
            found += _varint(field << 3) + _varint(value)
        else:
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
