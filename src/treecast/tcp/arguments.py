"""Reads message arguments as mpi4py's methods take them, from buffers and arrays of numpy; the rest of the rules is shared
with MPI."""

from typing import Any

import numpy as np

from treecast.mpi.arguments.datatypes import datatype_of
from treecast.mpi.arguments.items import Span, cut_simple, cut_vector, take_apart
from treecast.mpi.arguments.reader import Entries, Place
from treecast.tcp import library


class Reader:
    """Reads the arguments of calls on communicators of ``size`` ranks: in place where memory is contiguous, else by a copy."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._adds = set[tuple[library.Op, library.Datatype]]()  # operations that go with a datatype

    def _span(self, argument: Any, writable: bool, vector: bool = False) -> tuple[Span, Place]:
        """Return the entries of an argument, and how they come to it when they are elsewhere. Raises TypeError, ValueError."""
        items = take_apart(library, argument, vector)
        view = memoryview(items.buffer)
        if writable and view.readonly:
            raise ValueError("what is received into cannot be written")
        datatype = items.datatype
        if datatype is None:
            datatype = datatype_of(library, items.buffer)
        elif isinstance(datatype, str):
            datatype = library.Datatype.fromcode(datatype)
        if view.c_contiguous or view.f_contiguous:
            return Span(library.buffer.frombuffer(items.buffer, not writable), datatype.size, datatype, items), Place(
                []
            )
        array = np.asarray(view)
        packed = np.ascontiguousarray(array)

        def finish() -> None:
            array[...] = packed

        return Span(library.buffer.frombuffer(packed), datatype.size, datatype, items), Place([], finish)

    def _cut(self, argument: Any, writable: bool, blocks: int = 0, *, vector: bool = False) -> Place:
        span, place = self._span(argument, writable, vector)
        return Place(self._pieces(span, blocks, vector), place.finish)

    def _pieces(self, span: Span, blocks: int, vector: bool = False) -> list[Any]:
        found = cut_vector(span, blocks) if vector else cut_simple(span, blocks)
        if found is None:
            into = f" of {blocks} blocks" if blocks else ""
            raise ValueError(
                f"message: counts and places{into} do not fit {len(span.memory):,} bytes of {span.datatype.name}"
            )
        return found

    def send(self, argument: Any) -> Any:
        """Return the bytes of a simple argument that is sent."""
        return self._cut(argument, False).pieces[0]

    def receive(self, argument: Any) -> Place:
        """Return where a simple argument is received."""
        return self._cut(argument, True)

    def send_blocks(self, argument: Any) -> list[Any]:
        """Return the bytes of each block of a block argument that is sent."""
        return self._cut(argument, False, self._size).pieces

    def receive_blocks(self, argument: Any) -> Place:
        """Return where each block of a block argument is received."""
        return self._cut(argument, True, self._size)

    def send_vector(self, argument: Any) -> list[Any]:
        """Return the bytes of each block of a vector argument that is sent."""
        return self._cut(argument, False, self._size, vector=True).pieces

    def receive_vector(self, argument: Any) -> Place:
        """Return where each block of a vector argument is received."""
        return self._cut(argument, True, self._size, vector=True)

    def entries(self, argument: Any, blocks: int = 0, *, writable: bool) -> Entries:
        """Return the entries of a simple argument of a sum, or of a block argument of so many blocks."""
        span, place = self._span(argument, writable)
        total = sum(map(len, self._pieces(span, blocks)))
        first = 0 if span.items.places is None else int(span.items.places) * span.entry
        return Entries(span.memory[first : first + total], total // span.entry, span.datatype, place.finish)

    def check_sum(self, datatype: Any, op: Any) -> None:
        """Raise TypeError for an operation that does not go with a datatype."""
        if not isinstance(op, library.Op):
            raise TypeError(f"an operation of treecast.tcp adds, such as SUM, not {type(op).__name__}")
        if op.is_predefined and (op, datatype) not in self._adds:
            one, other = (library.buffer.allocate(datatype.size, clear=True) for _ in range(2))
            op.Reduce_local([one, 1, datatype], [other, 1, datatype])
            self._adds.add((op, datatype))
