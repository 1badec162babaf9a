"""Plain data from bytes that a stranger wrote: pickles and JSON text, packed or not. No code runs, no class is looked up.

It is not enough that an unpickler finds no class: four bytes that name a place in its memo have it take 16 GB. So no unpickler
sees them: one pass over the bytes makes tables, and values are made of these where they are asked for.
"""

import gzip
import io
import json
import pickle
import struct
import zlib
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from treecast.errors import FormatError
from treecast.ragged import Ints

MOST_BYTES = 1 << 30
"""The most bytes of a file, unpacked."""
BROKEN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, struct.error)
"""What it raises to take a stranger's data for something else."""
# Tables of this many rows take about 1.5 GB at most. Records have far fewer.
_MOST_OPCODES = 1 << 24
_BEHIND = np.full(256, -1, np.int64)
"""Of each opcode of plain data how many bytes follow it; 100 + n where n bytes follow that say how many more do."""
for _codes, _many in (
    (b"N()]}(aesut.\x88\x89\x85\x86\x87\x94", 0),
    (b"K\x80hq", 1),
    (b"M", 2),
    (b"Jjr", 4),
    (b"G\x95", 8),
    (b"\x8c\x8a", 101),
    (b"X", 104),
    (b"\x8d", 108),
):
    _BEHIND[list(_codes)] = _many


def _unpack(data: bytes) -> bytes:
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


class Plain:
    """Plain data as tables. ``root`` and all others are values as in ``kernels.records.plain``; ``plain`` returns what they are.

    Raises FormatError for bytes that are neither a pickle nor JSON, hold anything but plain data, or are broken.

    >>> data = Plain(pickle.dumps({"entries": [1, "two"]}))
    >>> data.plain(data.root)
    {'entries': [1, 'two']}
    """

    def __init__(self, data: bytes) -> None:
        from treecast.files.records.kernels.plain import parse

        data = _unpack(data)
        begin = data[:64].lstrip()[:1]
        if not begin:
            raise FormatError("it is empty")
        if begin in b"{[":
            try:
                # JSON goes the same way: it becomes a pickle of our own, so one parser makes the tables.
                data = pickle.dumps(json.loads(data), 2)
            except (ValueError, RecursionError) as error:
                raise FormatError(f"it cannot be read: {type(error).__name__}") from None
        elif begin != b"\x80":
            raise FormatError("it is neither a pickle nor JSON")
        # No opcode is shorter than a byte: so many values there are at most.
        most = min(len(data), _MOST_OPCODES) + 1
        self._data, self._made = data, dict[int, Any]()
        self.cells, self.texts, self.boxes = (np.empty((most, n), np.int64) for n in (2, 3, 4))
        stack, memo = np.empty(most, np.int64), np.zeros(most, np.int64)
        view = np.frombuffer(data, np.uint8)
        self.root = parse(view, _BEHIND, stack, memo, self.cells, self.texts, self.boxes)
        if self.root < 0:
            kinds = "only numbers, texts, lists, tuples and dicts are read"
            raise FormatError(f"byte {-1 - self.root:,} is not plain data: {kinds}")

    def items(self, value: int) -> list[int]:
        """Return the values in a list, dict (keys and values in turn) or tuple, none of others."""
        from treecast.files.records.kernels.plain import LIST, TUPLE

        found, cell = list[int](), -1
        if not value & 1 and LIST <= (value >> 1 & 7) <= TUPLE:
            cell = int(self.boxes[value >> 4, 0])
        while cell >= 0:
            found.append(int(self.cells[cell, 0]))
            cell = int(self.cells[cell, 1])
        return found

    def plain(self, value: int) -> Any:
        """Return what a value is, 1 and 0 for true and false, None for 0; what is there twice is one object."""
        from treecast.files.records.kernels.plain import DICT, FLOAT, TEXT, TUPLE

        kind, number = value >> 1 & 7, value >> 4
        if value & 1:
            return value >> 1
        if kind >= TEXT and value not in self._made:
            try:
                if kind == TEXT:
                    begin, length, _ = self.texts[number].tolist()
                    found: Any = self._data[begin : begin + length].decode(errors="replace")
                elif kind == FLOAT:
                    (found,) = struct.unpack(">d", self._data[number : number + 8])
                else:
                    found = [self.plain(item) for item in self.items(value)]
                    found = tuple(found) if kind == TUPLE else found
                    found = dict(zip(found[::2], found[1::2], strict=True)) if kind == DICT else found
            except (TypeError, RecursionError):
                raise FormatError("it is too deep, or has keys that are no texts") from None
            self._made[value] = found
        return self._made.get(value)

    def table(self, value: int, keys: Sequence[str]) -> Ints:
        """Return for each dict in a list its values of keys, 0 for none: int64 (dicts, keys). Raises FormatError."""
        from treecast.files.records.kernels.plain import LIST, mix, tabulate

        if value & 15 != 2 * LIST:
            raise FormatError("it has no list of entries: write the dump of a flight recorder")
        # Keys are compared by numbers, and no text is made of them.
        digests = [reduce(mix.plain, key.encode(), len(key)) for key in keys]
        table = np.zeros((int(self.boxes[value >> 4, 3]), len(keys)), np.int64)
        known = np.zeros(len(self.texts), np.int64)
        if tabulate(value >> 4, self.cells, self.texts, self.boxes, np.array(digests), known, table) >= 0:
            raise FormatError("an entry is no call: each has a profiling_name")
        return table

    def digests(self, values: Ints) -> Ints:
        """Return of rows of values a number each, int64 (rows,): the same for equal rows, also of other data."""
        from treecast.files.records.kernels.plain import LIST, TEXT, TUPLE, mix

        kinds, where, found = np.where(values & 1, 0, values >> 1 & 7), values >> 4, values.copy()
        for those, rows in ((kinds == TEXT, self.texts), ((kinds >= LIST) & (kinds <= TUPLE), self.boxes)):
            found[those] = rows[where[those], 2]
        return reduce(mix.plain, found.T, np.zeros(len(values), np.int64))
