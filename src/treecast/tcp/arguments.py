"""Reads message arguments as mpi4py's methods take them, from buffers and arrays of numpy: in place where memory is contiguous,
else by a copy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from treecast.running.calls import reader
from treecast.running.calls.items import Span, cut, take_apart
from treecast.running.calls.reader import Entries, Place, datatype_of, entries_of
from treecast.tcp import library


class Reader(reader.Reader):
    """Reads the arguments of calls on communicators of ``size`` ranks."""

    def __init__(self, size: int) -> None:
        super().__init__(library, size)
        self._adds = set[tuple[library.Op, library.Datatype]]()  # operations that go with a datatype

    def _read_other(self, argument: Any, form: str, *, writable: bool) -> Place:
        _, pieces, finish = self._take(argument, self._size if form else 0, writable, form == "vector")
        return Place(pieces, finish)

    def _read_entries(self, argument: Any, blocks: int, *, writable: bool) -> Entries:
        return entries_of(*self._take(argument, blocks, writable))

    def _take(
        self, argument: Any, blocks: int, writable: bool, vector: bool = False
    ) -> tuple[Span, list[Any], Callable[[], None] | None]:
        """Return the entries of an argument, the bytes of each block, and how they come to it when they are elsewhere.

        Raises TypeError or ValueError for the error in it.
        """
        items = take_apart(library, argument, vector)
        memory: Any = items.buffer
        # None for no entries is what mpi4py takes
        if items.buffer is None and items.datatype is not None and not np.any(items.counts):
            memory = bytearray()
        view, finish, datatype = memoryview(memory), None, items.datatype
        if writable and view.readonly:
            raise ValueError("the buffer to receive into cannot be written")
        if datatype is None:
            datatype = datatype_of(library, memory)
        elif isinstance(datatype, str):
            datatype = library.Datatype.fromcode(datatype)
        if not (view.c_contiguous or view.f_contiguous):  # a copy, brought back at the end where it was received into
            array = np.asarray(view)
            memory = np.ascontiguousarray(array)
            finish = partial(np.copyto, array, memory)
        span = Span(library.buffer.frombuffer(memory), datatype.size, datatype, items)
        if (found := cut(span, blocks, vector)) is None:
            into, count = f" of {blocks} blocks" if blocks else "", len(span.memory)
            raise ValueError(f"message: counts and places{into} do not fit {count:,} bytes of {datatype.name}")
        return span, found, finish

    def check_sum(self, datatype: Any, op: Any) -> None:
        """Raise TypeError for an operation that does not go with a datatype."""
        if not isinstance(op, library.Op):
            raise TypeError(f"an operation of treecast.tcp adds, such as SUM, not {type(op).__name__}")
        # tried once: an operation of numpy may not go with a type
        if op.is_predefined and (op, datatype) not in self._adds:
            # zeros: no operation fails by their values
            one, other = (library.buffer.allocate(datatype.size, clear=True) for _ in range(2))
            op.reduce_pieces([one, 1, datatype], [other, 1, datatype])
            self._adds.add((op, datatype))
