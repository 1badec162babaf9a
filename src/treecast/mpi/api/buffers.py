"""Buffers as mpi4py's upper-case calls take them, as bytes."""

from typing import Any, NamedTuple, cast

import numpy as np

from treecast.errors import PlanError
from treecast.execution.layout import Bytes


class Message(NamedTuple):
    """The bytes of a buffer, the MPI datatype of its items, and their size. ``counts``, ``places``: of blocks, in items."""

    data: Bytes
    datatype: Any
    itemsize: int
    counts: tuple[int, ...] | None = None
    places: tuple[int, ...] | None = None

    def block(self, rank: int) -> Bytes:
        """Return the bytes of the block of a rank."""
        counts, places = self.counts or (), self.places or ()
        first = places[rank] * self.itemsize
        return self.data[first : first + counts[rank] * self.itemsize]


def read_buffer(mpi: Any, spec: Any, what: str, writable: bool = False) -> Message:
    """Return what ``buf``, ``[buf, datatype]``, ``[buf, count, datatype]`` or ``[buf, (counts, places), datatype]`` names.

    Raises PlanError for what is not contiguous, is too short, or cannot be written and has to be.
    """
    parts: list[Any] = list(cast(Any, spec)) if isinstance(spec, list | tuple) else [spec]
    if not 1 <= len(parts) <= 4:
        raise PlanError(f"{what}: a buffer is written buf, [buf, datatype] or [buf, count, datatype]")
    buffer, rest = parts[0], parts[1:]
    data = _bytes(buffer, what)
    if writable and not data.flags.writeable:
        raise PlanError(f"{what} is read-only, and has to be written")
    datatype = _datatype(mpi, rest.pop() if rest and not _number(rest[-1]) else None, buffer)
    itemsize, extent = int(datatype.Get_size()), int(datatype.Get_extent()[1])
    if itemsize != extent:
        raise PlanError(f"{what}: a datatype with gaps cannot be sent; pack it first")
    if rest and isinstance(rest[0], tuple | list) and len(cast(Any, rest[0])) == 2:
        pair: list[Any] = list(cast(Any, rest[0]))
        rest = rest if _number(pair[0]) else pair
    counts, places = None, None
    amount = cast(Any, rest[0]) if rest else None
    if amount is not None and not _number(amount):
        counts = tuple(int(c) for c in amount)
        given = rest[1] if len(rest) > 1 and rest[1] is not None else None
        ends = np.cumsum((0, *counts))
        places = tuple(int(p) for p in (ends[:-1] if given is None else given))
        if min((*counts, *places), default=0) < 0:
            raise PlanError(f"{what}: counts and places are numbers from 0")
        needed = max((p + c for p, c in zip(places, counts, strict=True)), default=0)
    else:
        needed = int(amount) if amount is not None else len(data) // max(itemsize, 1)
    if needed * itemsize > len(data):
        raise PlanError(f"{what} has {len(data):,} bytes, and {needed * itemsize:,} are needed")
    return Message(data if counts is not None else data[: needed * itemsize], datatype, itemsize, counts, places)


def _number(value: Any) -> bool:
    return value is None or hasattr(value, "__index__")


def _bytes(buffer: Any, what: str) -> Bytes:
    if buffer is None:
        return np.empty(0, np.uint8)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise PlanError(f"{what} is no buffer: give a numpy array, or bytes") from None
    if not view.c_contiguous and not view.f_contiguous:
        raise PlanError(f"{what} is not contiguous: copy it first")
    if not view.nbytes:
        return np.empty(0, np.uint8)
    array = np.asarray(buffer)
    if array.dtype == np.dtype(object) or array.nbytes != view.nbytes:
        array = np.frombuffer(view, np.uint8)
    return array.reshape(-1, order="A").view(np.uint8)


def _datatype(mpi: Any, given: Any, buffer: Any) -> Any:
    if given is None:
        dtype: np.dtype[Any] = np.asarray(buffer).dtype if hasattr(buffer, "dtype") else np.dtype(np.uint8)
        return mpi.Datatype.fromcode(dtype.char)
    return mpi.Datatype.fromcode(given) if isinstance(given, str) else given
