"""The binary format: a header in JSON, the columns as they lie in memory, and a digest (docs/reference/formats/binary.md)."""

import hashlib
import json
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.formats.native.header import VERSION, WORDS, Header, header_with_proof, is_word, number, schedule_of
from treecast.formats.registry import begins_with, exporter, importer
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule

MAGIC = b"\x89treecast-binary "
_VERSIONS = {MAGIC + f"{version}\r\n".encode(): version for version in range(1, VERSION + 1)}
_MAGIC_SIZE = len(MAGIC) + 3
_SIZE = 8  # bytes of the header's length
_DIGEST = hashlib.sha256().digest_size
_COUNTS = ("rows", "payloads", "ranges", "node_bytes")
_MOST = 2**48  # of anything: no file is as long, and no sum of such numbers overflows


@exporter("binary", suffix=".tcb", summary="for millions of rows")
def encode(schedule: Schedule) -> bytes:
    """Return a schedule in the binary format. Raises FormatError when its header cannot be written."""
    rows, table = schedule.rows, schedule.rows.payloads
    counts = (len(rows), len(table), len(table.first), rows.src.itemsize)
    words = header_with_proof(schedule) | dict(zip(_COUNTS, map(str, counts), strict=True))
    header = json.dumps(words, sort_keys=True).encode()
    columns: dict[str, NDArray[Any]] = rows.columns() | {"start": table.start, "first": table.first, "stop": table.stop}
    shapes, digest = _shapes(*counts), hashlib.sha256()
    parts = [MAGIC + f"{VERSION}\r\n".encode(), len(header).to_bytes(_SIZE, "little"), header]
    parts += [column.astype(shapes[name][0], copy=False).tobytes() for name, column in columns.items()]
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def _shapes(rows: int, payloads: int, ranges: int, node_bytes: int) -> dict[str, tuple[np.dtype[Any], int]]:
    """Return the type and length of each array of a file, in order."""
    types = COLUMNS | {"src": f"i{node_bytes}", "dst": f"i{node_bytes}"}
    table = {"start": payloads + 1, "first": ranges, "stop": ranges}
    columns = {name: (np.dtype(of).newbyteorder("<"), rows) for name, of in types.items()}
    return columns | {name: (np.dtype("<i8"), length) for name, length in table.items()}


@importer("binary", recognises=begins_with(MAGIC))
def decode(data: bytes) -> Schedule:
    """Return the schedule of a binary file. Raises FormatError when it is cut off or was changed."""
    version = _VERSIONS.get(bytes(data[:_MAGIC_SIZE]))
    if version is None:
        raise FormatError("this is no binary treecast file: it does not begin like one")
    body = memoryview(data)[:-_DIGEST]
    if hashlib.sha256(body).digest() != data[-_DIGEST:]:
        raise FormatError("the file was changed or cut off: its digest does not match")
    begin = _MAGIC_SIZE + _SIZE
    end = begin + int.from_bytes(body[_MAGIC_SIZE:begin], "little")
    header = _header(bytes(body[begin : min(end, len(body))]))
    rows, payloads, ranges, node_bytes = (number(header, word, _MOST) for word in _COUNTS)
    shapes = _shapes(rows, payloads, ranges, 8 if node_bytes == 8 else 4)
    if node_bytes not in (4, 8) or end + sum(of.itemsize * length for of, length in shapes.values()) != len(body):
        raise FormatError("this binary file holds no schedule: its columns are not as long as its header says")
    arrays: dict[str, NDArray[Any]] = {}
    for name, (of, length) in shapes.items():
        arrays[name] = np.frombuffer(body, of, length, end)
        end += of.itemsize * length
    table = Payloads(*(arrays.pop(name).astype(np.int64) for name in ("start", "first", "stop")))
    if bool(((table.start < 0) | (table.start > ranges)).any()):
        raise FormatError("this binary file holds no schedule: a payload begins outside the table of ranges")
    words = {word: value for word, value in header.items() if is_word(word)}
    return schedule_of(words, lambda network: Rows.of(table, **arrays), version)


def _header(text: bytes) -> Header:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError("this binary file holds no schedule: its header cannot be read") from None
    words = cast(dict[str, object], found) if isinstance(found, dict) else {}
    header = {word: value for word, value in words.items() if isinstance(value, str)}
    known = all(is_word(word) or word in _COUNTS for word in header)
    if set(header) != set(words) or not set(_COUNTS) <= set(header) or not known:
        raise FormatError(f"this binary file holds no schedule: its header is no table of {', '.join(WORDS + _COUNTS)}")
    return header
