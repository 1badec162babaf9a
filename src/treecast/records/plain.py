"""Plain data from bytes that a stranger wrote: pickles and JSON text, packed or not. No code runs, no class is looked up.

It is not enough that an unpickler finds no class: four bytes that name a place in its memo have it take 16 GB. So a pass over the
bytes refuses whatever is not numbers, texts, lists, tuples and dicts before anything is made.
"""

import gzip
import io
import json
import pickle
import zlib
from functools import cache
from typing import Any

import numpy as np

from treecast.errors import FormatError
from treecast.ragged import Ints

MOST_BYTES = 1 << 30
"""The most bytes of a file, unpacked."""
_MOST_OPCODES = 1 << 25
_PLAIN = {
    **dict.fromkeys(b"N()]}(aesut.\x88\x89\x85\x86\x87\x94", 0),
    **dict.fromkeys(b"K\x80hq", 1),
    **dict.fromkeys(b"M", 2),
    **dict.fromkeys(b"Jjr", 4),
    **dict.fromkeys(b"G\x95", 8),
    ord("X"): 104,
    0x8C: 101,
    0x8A: 101,
    0x8D: 108,
}
"""Of each opcode of plain data how many bytes follow it; 100 + n where n bytes follow that say how many more do."""


@cache
def _behind() -> Ints:
    table = np.full(256, -1, np.int64)
    table[list(_PLAIN)] = list(_PLAIN.values())
    return table


def unpack(data: bytes) -> bytes:
    """Return the contents of bytes that gzip has packed, others as they are. Raises FormatError where they are too many."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(io.BytesIO(data)) as file:
            found = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"gzip cannot unpack it: {error}") from None
    if len(found) > MOST_BYTES:
        raise FormatError(f"it holds more than {MOST_BYTES >> 30} GiB: pack less in one file")
    return found


class _Unpickler(pickle.Unpickler):
    """The pass has refused all that asks for these; they are a second lock."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise FormatError("it names a class: only pickles of plain data are read")

    def persistent_load(self, pid: Any, /) -> Any:
        raise FormatError("it names an object elsewhere: only pickles of plain data are read")


def load(data: bytes) -> Any:
    """Return the plain data of a pickle or a JSON text, packed by gzip or not.

    Raises
    ------
    FormatError
        Where it is neither, holds anything but plain data, or is broken.

    Examples
    --------
    >>> load(pickle.dumps({"entries": [1, "two"]}))
    {'entries': [1, 'two']}
    >>> load(b"\\x80\\x04cos\\nsystem\\n.")
    Traceback (most recent call last):
        ...
    treecast.errors.FormatError: byte 2 of the pickle is not plain data: only numbers, texts, lists, tuples and dicts are read
    """
    from treecast.kernels.records.plain import check_plain

    data = unpack(data)
    begin = data[:64].lstrip()[:1]
    if not begin:
        raise FormatError("it is empty")
    try:
        if begin in b"{[":
            return json.loads(data)
        if begin != b"\x80":
            raise FormatError("it is neither a pickle nor JSON")
        place = check_plain(np.frombuffer(data, np.uint8), _behind(), _MOST_OPCODES)
        if place >= 0:
            kinds = "only numbers, texts, lists, tuples and dicts are read"
            raise FormatError(f"byte {place:,} of the pickle is not plain data: {kinds}")
        return _Unpickler(io.BytesIO(data)).load()
    except FormatError:
        raise
    except (ValueError, TypeError, LookupError, EOFError, RecursionError, AttributeError, pickle.PickleError) as error:
        raise FormatError(f"it cannot be read: {type(error).__name__}") from None
