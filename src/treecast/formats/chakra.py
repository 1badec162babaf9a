"""Chakra's execution traces, which ASTRA-sim takes as a custom collective: sends, receives and what each depends on.

A file for each rank has messages of Protocol Buffers, each behind its length: first the version, then the nodes of a graph, those
that others depend on first. The few fields that are needed are written by hand, so that nothing has to be installed.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from treecast.formats.messages import Messages, chunk_places, messages_of
from treecast.formats.registry import exporter
from treecast.formats.settings import ADDING, BYTES
from treecast.ragged import Ints
from treecast.schedule import Schedule

_VERSION = "0.0.4"
_COMPUTE, _SEND, _RECEIVE = 4, 5, 6
_ID, _NAME, _TYPE, _NEEDS, _MICROSECONDS, _ATTRIBUTE = 1, 2, 3, 5, 7, 10  # fields of a node
_INT32, _INT64, _BOOL = 7, 9, 27  # fields of an attribute: readers take one of another type as 0
_NUMBER = 8  # bytes of a number that is added


@exporter(
    "chakra",
    suffix=".chakra",
    what="a folder of Chakra's execution traces, for ASTRA-sim",
    settings=(BYTES, ADDING),
)
def encode(schedule: Schedule, *, size: int | None = None, adding: float = 0.0) -> Iterator[tuple[str, bytes]]:
    """Return the traces of all ranks, ``rank.0.et`` and so on. Raises FormatError when messages cannot be listed one by one."""
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    microseconds = np.ceil(adding * -(-messages.added(begins) // _NUMBER) / 1000).astype(np.int64)
    columns = (np.maximum(messages.sizes(begins), 1), microseconds)
    first = _behind_length(_text(1, _VERSION))
    return (
        (f"rank.{node}.et", first + b"".join(_trace(messages, node, some, columns)))
        for node, some in messages.at_each_node()
    )


def _trace(messages: Messages, node: int, some: Ints, columns: tuple[Ints, Ints]) -> Iterator[bytes]:
    """Yield the nodes of a rank, which sends or receives ``some`` messages; ``columns`` are bytes and microseconds of all."""
    sizes, microseconds = columns
    last: dict[int, int] = {}  # the node that sends the message before, by destination
    brought: dict[int, int] = {}  # the node that ends the receipt of each message
    adds = (messages.added(np.arange(messages.schedule.part.chunks + 1)) > 0)[some]
    shown = (some, messages.src[some], messages.dst[some], messages.place[some], sizes[some], microseconds[some], adds)
    number = 1
    for m, src, dst, place, size, long, add in zip(*(column.tolist() for column in shown), strict=True):
        what = [
            ("comm_size", _INT64, size),
            ("comm_src", _INT32, src),
            ("comm_dst", _INT32, dst),
            ("comm_tag", _INT32, place),
        ]
        if src == node:
            waits = sorted({brought[need] for need in messages.needs_of(m)} | {last.get(dst, 0)} - {0})
            yield _node(number, f"send {m}", _SEND, needs=waits, attributes=what)
            last[dst] = number
        else:
            yield _node(number, f"receive {m}", _RECEIVE, attributes=what)
            if add:
                number += 1
                yield _node(number, f"add {m}", _COMPUTE, needs=[number - 1], microseconds=long)
            brought[m] = number
        number += 1


def _node(
    number: int,
    name: str,
    kind: int,
    *,
    needs: Iterable[int] = (),
    microseconds: int = 0,
    attributes: Iterable[tuple[str, int, int]] = (),
) -> bytes:
    """Return a node of a trace behind its length."""
    parts = [_varint(_ID << 3), _varint(number), _text(_NAME, name), _varint(_TYPE << 3), _varint(kind)]
    if waits := b"".join(map(_varint, needs)):
        parts += [_varint(_NEEDS << 3 | 2), _behind_length(waits)]
    if microseconds:
        parts += [_varint(_MICROSECONDS << 3), _varint(microseconds)]
    for called, field, value in [("is_cpu_op", _BOOL, 0), *attributes]:
        attribute = _text(1, called) + _varint(field << 3) + _varint(value)
        parts += [_varint(_ATTRIBUTE << 3 | 2), _behind_length(attribute)]
    return _behind_length(b"".join(parts))


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


def _text(field: int, text: str) -> bytes:
    return _varint(field << 3 | 2) + _behind_length(text.encode())
