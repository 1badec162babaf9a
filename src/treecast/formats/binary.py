"""The binary format: a header in JSON, the columns as npy arrays, and a digest at the end. See docs/format.md."""

import hashlib
import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.formats.header import Header, header_of, schedule_of
from treecast.schedule import COLUMNS, Payloads, Rows, Schedule

MAGIC = b"\x89treecast-binary 1\r\n"
_DIGEST = hashlib.sha256().digest_size
_TABLE = ("payload_start", "chunk_first", "chunk_stop")


def encode(schedule: Schedule) -> bytes:
    """Return a schedule in the binary format."""
    table = schedule.rows.payloads
    header = json.dumps(header_of(schedule), sort_keys=True).encode()
    out = io.BytesIO()
    out.write(MAGIC + len(header).to_bytes(8, "little") + header)
    for column in (*schedule.rows.columns().values(), table.start, table.first, table.stop):
        np.lib.format.write_array(out, column.astype(column.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
    out.write(hashlib.sha256(out.getbuffer()).digest())
    return out.getvalue()


def decode(data: bytes) -> Schedule:
    """Return the schedule of a binary file. Raises FormatError when it is cut off or was changed."""
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FormatError("the file was changed or cut off: its digest does not match")
    source = io.BytesIO(data[:-_DIGEST])
    source.seek(len(MAGIC))
    try:
        size = int.from_bytes(source.read(8), "little")
        header: Any = json.loads(source.read(size))
        arrays = {name: _array(source) for name in (*COLUMNS, *_TABLE)}
    except (ValueError, EOFError, OSError, MemoryError, RecursionError):
        raise FormatError("this binary file holds no schedule: its header or a column cannot be read") from None
    if not isinstance(header, dict) or not all(isinstance(value, str) for value in header.values()):  # type: ignore[reportUnknownVariableType]
        raise FormatError("this binary file holds no schedule: its header is no table of words")
    words: Header = {str(key): str(value) for key, value in header.items()}  # type: ignore[reportUnknownVariableType]
    table = Payloads(*(arrays.pop(name).astype(np.int64) for name in _TABLE))
    return schedule_of(words, lambda network, collective: Rows.of(table, **arrays))


def _array(source: io.BytesIO) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(source, allow_pickle=False)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError("a column must be one-dimensional and of whole numbers")
    return array
