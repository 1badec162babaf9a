"""A message argument taken apart: its buffer, counts, places and datatype, by mpi4py's rules."""

from collections.abc import Sequence
from itertools import accumulate
from operator import index
from typing import Any, NamedTuple, cast

NATIVE = frozenset("?bBhHiIlLqQfd")
"""Formats of one letter, in this machine's order of bytes, whose entries lie without gaps."""


class Items(NamedTuple):
    """The items of a message argument: None for one that is left out."""

    buffer: Any
    counts: Any = None
    places: Any = None
    datatype: Any = None


class Span(NamedTuple):
    """Entries in this machine's memory, one behind the other: ``memory`` of all bytes, and how many an entry has."""

    memory: Any
    entry: int
    datatype: Any
    items: Items


def take_apart(mpi: Any, argument: Any, vector: bool = False) -> Items:
    """Return the items of a message argument. Raises ValueError for one that has too few or too many.

    ``vector``: counts may be a list then, so that counts and places together are a tuple.
    """
    if not isinstance(argument, list | tuple):
        return Items(argument)
    items = list(cast("Sequence[Any]", argument))
    pairs = (tuple,) if vector else (tuple, list)
    if len(items) == 2:
        buffer, second = items
        if isinstance(second, (str, mpi.Datatype)):
            return Items(buffer, datatype=second)
        return Items(buffer, *(second if isinstance(second, pairs) else (second,)))
    buffer, *pair, datatype = items
    if len(pair) == 1:
        pair = list(cast("Sequence[Any]", pair[0])) if isinstance(pair[0], pairs) else [pair[0], None]
    counts, places = pair
    return Items(buffer, counts, places, datatype)


def recognise(mpi: Any, argument: Any, *, writable: bool, vector: bool = False) -> Span | None:
    """Return the entries of the ordinary case, None of any other: contiguous, native, without gaps, in this machine's memory."""
    try:
        items = take_apart(mpi, argument, vector)
        view = memoryview(items.buffer)
    except (TypeError, ValueError, BufferError):
        return None
    if (writable and view.readonly) or not (view.c_contiguous or view.f_contiguous):
        return None
    datatype = items.datatype
    if datatype is None:
        if view.format not in NATIVE:
            return None
        return Span(mpi.buffer.frombuffer(items.buffer, not writable), view.itemsize, None, items)
    if isinstance(datatype, str):
        try:
            datatype = mpi.Datatype.fromcode(datatype)
        except ValueError:
            return None
    if not datatype or not datatype.is_predefined or not 0 < datatype.size == datatype.extent:
        return None
    return Span(mpi.buffer.frombuffer(items.buffer, not writable), datatype.size, datatype, items)


def cut_simple(span: Span, blocks: int = 0) -> list[Any] | None:
    """Return the bytes of a simple argument, or of each of ``blocks`` blocks; None where they are not as they should be.

    Raises ValueError when they do not fit into the buffer.
    """
    memory, entry, _, items = span
    try:
        first = 0 if items.places is None else index(items.places) * entry
        count = None if items.counts is None else index(items.counts)
    except TypeError:
        return None
    parts = max(1, blocks)
    room = len(memory) - first
    if count is None:
        if room % entry or room // entry % parts:
            return None
        length = room // parts
    else:
        length = count * entry
    if first < 0 or length < 0:
        return None
    _check_room(first + length * parts, len(memory))
    return [memory[first + k * length : first + (k + 1) * length] for k in range(parts)]


def cut_vector(span: Span, blocks: int) -> list[Any] | None:
    """Return the bytes of each block of a vector argument; None when they are not as they should be.

    Raises ValueError when they do not fit into the buffer.
    """
    memory, entry, _, items = span
    if items.counts is None and len(memory) % entry:
        return None
    try:
        counts = counts_of(items.counts, blocks, len(memory) // entry)
        places = places_of(items.places, counts)
    except TypeError:
        return None
    if not len(counts) == len(places) == blocks or min(*counts, *places) < 0:
        return None
    ends = [(place * entry, (place + count) * entry) for place, count in zip(places, counts, strict=True)]
    _check_room(max(end for _, end in ends), len(memory))
    return [memory[first:end] for first, end in ends]


def _check_room(end: int, room: int) -> None:
    """Raise ValueError where MPI would read or write behind a buffer."""
    if end > room:
        raise ValueError(f"message: the buffer has {room:,} bytes, and its entries end at byte {end:,}")


def counts_of(counts: Any, blocks: int, entries: int) -> list[int]:
    """Return how many entries each block of a vector argument has; ``entries`` are dealt out when no counts are given."""
    if counts is None:
        return [entries // blocks + (k < entries % blocks) for k in range(blocks)]
    if _is_number(counts):
        return [index(counts)] * blocks
    return [index(count) for count in counts]


def places_of(places: Any, counts: Sequence[int]) -> list[int]:
    """Return the entry at which each block begins: one behind the other, at a stride, or as given."""
    if places is None:
        return [0, *accumulate(counts)][:-1] if counts else []
    if _is_number(places):
        return [index(places) * k for k in range(len(counts))]
    return [index(place) for place in places]


def _is_number(value: Any) -> bool:
    """Return whether mpi4py takes a value for one number, also where it is an array without axes."""
    try:
        len(value)
    except TypeError:
        return hasattr(value, "__index__")
    return False
