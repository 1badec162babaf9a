"""Reads message arguments as mpi4py's methods take them, from buffers and arrays of numpy: in place where memory is contiguous,
else by a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from treecast.calls import reader
from treecast.calls.items import Span, cut, take_apart
from treecast.calls.reader import Entries, Place, datatype_of, entries_of
from treecast.tcp import library


class Reader(reader.Reader):
    """Reads the arguments of calls on communicators of ``size`` ranks."""

    def __init__(self, size: int) -> None:
        super().__init__(library, size)
        self._adds = set[tuple[library.Op, library.Datatype]]()  # operations that go with a datatype

    def _read_other(self, argument: Any, form: str, *, writable: bool) -> Place:
        span, finish = self._span(argument, writable, form == "vector")
        return Place(_pieces(span, self._size if form else 0, form == "vector"), finish)

    def _read_entries(self, argument: Any, blocks: int, *, writable: bool) -> Entries:
        span, finish = self._span(argument, writable)
        return entries_of(span, _pieces(span, blocks), finish)

    def _span(self, argument: Any, writable: bool, vector: bool = False) -> tuple[Span, Callable[[], None] | None]:
        """Return the entries of an argument, and how they come to it when they are elsewhere. Raises TypeError, ValueError."""
        items = take_apart(library, argument, vector)
        view = memoryview(items.buffer)
        if writable and view.readonly:
            raise ValueError("the buffer to receive into cannot be written")
        datatype = items.datatype
        if datatype is None:
            datatype = datatype_of(library, items.buffer)
        elif isinstance(datatype, str):
            datatype = library.Datatype.fromcode(datatype)
        if view.c_contiguous or view.f_contiguous:
            return Span(library.buffer.frombuffer(items.buffer, not writable), datatype.size, datatype, items), None
        array = np.asarray(view)
        packed = np.ascontiguousarray(array)

        def finish() -> None:
            array[...] = packed

        return Span(library.buffer.frombuffer(packed), datatype.size, datatype, items), finish

    def check_sum(self, datatype: Any, op: Any) -> None:
        """Raise TypeError for an operation that does not go with a datatype."""
        if not isinstance(op, library.Op):
            raise TypeError(f"an operation of treecast.tcp adds, such as SUM, not {type(op).__name__}")
        if op.is_predefined and (op, datatype) not in self._adds:
            one, other = (library.buffer.allocate(datatype.size, clear=True) for _ in range(2))
            op.Reduce_local([one, 1, datatype], [other, 1, datatype])
            self._adds.add((op, datatype))


def _pieces(span: Span, blocks: int, vector: bool = False) -> list[Any]:
    found = cut(span, blocks, vector)
    if found is None:
        into = f" of {blocks} blocks" if blocks else ""
        raise ValueError(
            f"message: counts and places{into} do not fit {len(span.memory):,} bytes of {span.datatype.name}"
        )
    return found
