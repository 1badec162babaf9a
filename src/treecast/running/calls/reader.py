"""Reads message arguments as mpi4py's methods take them: in place where they are ordinary."""

import ctypes
from collections.abc import Callable
from functools import cache
from operator import index
from struct import Struct
from typing import Any, NamedTuple

from treecast.running.calls.items import Span, cut, cut_typed, recognise, take_apart

NUMPYS = {"Zf": "F", "Zd": "D", "Zg": "G"}
_BYTE = "|u1"  # a datatype that stands for bytes of anything
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_TENSOR = Struct("PiiiBBH")  # DLPack's DLTensor: data, device and its number, dimensions; kind and bits of an entry


class Place(NamedTuple):
    """Where data is received: the bytes of each block, and the step that brings them to the argument when they are elsewhere."""

    pieces: list[Any]
    finish: Callable[[], None] | None = None


class Entries(NamedTuple):
    """Entries that are added: their bytes as they lie in memory, how many, their datatype; ``finish`` as of ``Place``."""

    piece: Any
    number: int
    datatype: Any
    finish: Callable[[], None] | None = None


class Reader:
    """Reads the arguments of calls on communicators of ``size`` ranks; ``mpi``: mpi4py's module, or as much as is asked of it.

    Ordinary arguments are read alike whatever carries messages. All others are read by ``_read_other``, and of sums by
    ``_read_entries``: such readers differ in these.
    """

    def __init__(self, mpi: Any, size: int) -> None:
        self._mpi, self._size = mpi, size

    def send(self, argument: Any, form: str = "") -> Any:
        """Return the bytes of an argument that is sent: of each block of one that has a ``form``, as ``Row.blocks`` names it."""
        pieces = self._read(argument, form, writable=False).pieces
        return pieces if form else pieces[0]

    def receive(self, argument: Any, form: str = "") -> Place:
        """Return where an argument is received."""
        return self._read(argument, form, writable=True)

    def type_of(self, argument: Any, form: str = "") -> str:
        """Return the type of entries of an argument as numpy spells it; "" of one that is not plain, or bytes of anything."""
        # of numpy or torch: the array names its type
        if (plain := getattr(argument, "dtype", None)) is not None and form != "typed":
            return getattr(plain, "str", None) or spell(memoryview(argument).format)
        if form == "typed" or isinstance(argument, (bytes, bytearray, memoryview)):
            return ""  # typed blocks differ, bytes may be anything
        try:
            buffer, _, _, datatype = take_apart(self._mpi, argument, form == "vector")
            if datatype is None:
                return spell(memoryview(buffer).format)
        except (TypeError, ValueError, BufferError):
            return ""
        # bytes of MPI stand for anything, too
        return spell(datatype) if isinstance(datatype, str) else self.spell(datatype).replace(_BYTE, "")

    def spell(self, datatype: Any) -> str:
        """Return a datatype as numpy spells it, "" of one that is not plain."""
        return spell(datatype.typechar) if datatype.is_predefined else ""

    def _read(self, argument: Any, form: str, *, writable: bool) -> Place:
        vector = form == "vector"
        if form == "typed":
            found = cut_typed(self._mpi, argument, writable=writable)
            # a block for each rank, or it is somebody else's to read
            found = found if found and len(found) == self._size else None
        else:
            span = recognise(self._mpi, argument, writable=writable, vector=vector)
            found = cut(span, self._size if form else 0, vector) if span else None
        return Place(found) if found else self._read_other(argument, form, writable=writable)

    def entries(self, argument: Any, blocks: int = 0, *, writable: bool) -> Entries:
        """Return the entries of a simple argument of a sum, or of a block argument of so many blocks.

        Raises PlanError for a datatype whose entries do not lie one extent behind the other.
        """
        span = recognise(self._mpi, argument, writable=writable)
        found = cut(span, blocks) if span else None
        if not span or not found:
            return self._read_entries(argument, blocks, writable=writable)
        datatype = datatype_of(self._mpi, span.items.buffer) if span.datatype is None else span.datatype
        return entries_of(span._replace(datatype=datatype), found)

    def _read_other(self, argument: Any, form: str, *, writable: bool) -> Place:
        """Return the bytes of an argument that is not ordinary. Raises the error in it."""
        raise NotImplementedError

    def _read_entries(self, argument: Any, blocks: int, *, writable: bool) -> Entries:
        """Return the entries of an argument of a sum that is not ordinary. Raises the error in it."""
        raise NotImplementedError


def datatype_of(mpi: Any, buffer: Any) -> Any:
    """Return the datatype of a buffer's entries, as mpi4py finds it: buffer protocol, DLPack, ``__cuda_array_interface__``.

    Raises TypeError for a thing that is no buffer, ValueError for entries that MPI has no datatype for.
    """
    try:
        code = (memoryview(buffer).format or "B").lstrip("@")  # "@": in this machine's order, as it is without
    except (TypeError, BufferError):
        if hasattr(buffer, "__dlpack__"):
            code = _read_dlpack(buffer)
        elif hasattr(buffer, "__cuda_array_interface__"):
            code = buffer.__cuda_array_interface__["typestr"][1:]  # behind the sign of the order of bytes
        else:
            raise
    return mpi.Datatype.fromcode(code)


def _read_dlpack(buffer: Any) -> str:
    """Return the type of entries as numpy spells it, without the order of bytes."""
    capsule = buffer.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    *_, code, bits, lanes = _TENSOR.unpack(ctypes.string_at(pointer(capsule, b"dltensor"), _TENSOR.size))
    kind = _DLPACK_KINDS.get(code, "")
    return f"{'c' if kind == 'f' and lanes == 2 else kind}{bits * lanes // 8}"  # two floats an entry: complex numbers


@cache
def spell(code: str | None) -> str:
    """Return a letter of the buffer protocol as numpy spells the type, "" of one that it has not.

    >>> spell("l"), spell("q"), spell("Zd"), spell("T{i:a:}")
    ('<i8', '<i8', '<c16', '')
    """
    import numpy as np

    try:
        # longlong and long are one type to numpy, and two letters
        return np.dtype(NUMPYS.get(code or "", code or "")).str
    except (TypeError, ValueError):
        return ""


def entries_of(span: Span, pieces: list[Any], finish: Callable[[], None] | None = None) -> Entries:
    """Return the entries of which pieces have the bytes, one behind the other."""
    # the entries begin where the first place is
    first = 0 if span.items.places is None else index(span.items.places) * span.entry
    length = sum(map(len, pieces))
    return Entries(span.memory[first : first + length], length // span.entry, span.datatype, finish)
