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
    if not isinstance(argument, list | tuple):  # a buffer alone
        return Items(argument)
    #   [buffer, type]
    #   [buffer, count]                   [buffer, (counts, places)]
    #   [buffer, count, type]             [buffer, (counts, places), type]
    #   [buffer, counts, places, type]
    items = list(cast("Sequence[Any]", argument))
    pairs = (tuple,) if vector else (tuple, list)
    if len(items) == 2:
        buffer, second = items
        # a type, or how many: only a type is text or a datatype
        if isinstance(second, (str, mpi.Datatype)):
            return Items(buffer, datatype=second)
        return Items(buffer, *(second if isinstance(second, pairs) else (second,)))
    buffer, *pair, datatype = items
    if len(pair) == 1:  # ``(counts, places)``, or counts alone
        pair = list(cast("Sequence[Any]", pair[0])) if isinstance(pair[0], pairs) else [pair[0], None]
    counts, places = pair
    return Items(buffer, counts, places, datatype)


def recognise(mpi: Any, argument: Any, *, writable: bool, vector: bool = False) -> Span | None:
    """Return the entries of the ordinary case, None of any other: contiguous, native, without gaps, in this machine's memory."""
    try:
        items = take_apart(mpi, argument, vector)
        view, datatype = memoryview(items.buffer), items.datatype
        if isinstance(datatype, str):
            datatype = mpi.Datatype.fromcode(datatype)
    except (TypeError, ValueError, BufferError):
        return None
    # bytes in the order of memory are all that is copied
    if (writable and view.readonly) or not (view.c_contiguous or view.f_contiguous):
        return None
    # Where size and extent are equal, entries lie without gaps, and their bytes are one piece.
    if datatype is None and view.format in NATIVE:
        entry = view.itemsize
    # MPI's own types only: others may have gaps inside
    elif datatype and datatype.is_predefined and 0 < datatype.size == datatype.extent:
        entry = datatype.size
    else:
        return None
    return Span(mpi.buffer.frombuffer(items.buffer, not writable), entry, datatype, items)


def cut(span: Span, blocks: int = 0, vector: bool = False) -> list[Any] | None:
    """Return the bytes of an argument, or of each of its ``blocks`` blocks; None where they are not as they should be.

    ``vector``: they may have any lengths and places. Raises ValueError when they do not fit into the buffer.
    """
    memory, entry, _, items = span
    if items.counts is None is items.places and not vector:  # the ordinary case, in few steps
        size, rest = divmod(len(memory), blocks or 1)
        if not rest and not size % entry:  # it divides into blocks, and each into entries
            return [memory[k * size : (k + 1) * size] for k in range(blocks)] or [memory]
    try:
        if vector:
            parts = blocks
            counts = counts_of(items.counts, parts, len(memory) // entry)
            places = places_of(items.places, counts)
            rest = len(memory) % entry
        else:
            parts, first = max(1, blocks), index(0 if items.places is None else items.places)
            rest = (len(memory) - first * entry) % (entry * parts)  # bytes that no block would get
            count = (len(memory) // entry - first) // parts if items.counts is None else index(items.counts)
            counts, places = [count] * parts, [first + count * k for k in range(parts)]
    except TypeError:
        return None
    # given counts may leave a rest, and others may not
    if (rest and items.counts is None) or not len(counts) == len(places) == parts or min(*counts, *places) < 0:
        return None
    ends = [(place * entry, (place + count) * entry) for place, count in zip(places, counts, strict=True)]
    if (end := max(end for _, end in ends)) > len(memory):
        raise ValueError(f"message: the buffer has {len(memory):,} bytes, and its entries end at byte {end:,}")
    return [memory[first:end] for first, end in ends]


def cut_typed(mpi: Any, argument: Any, *, writable: bool) -> list[Any] | None:
    """Return the bytes of each block of an argument with a datatype for each; None of any but the ordinary case.

    It has counts, and places in bytes, and its datatypes are MPI's own ones without gaps.
    """
    try:
        buffer, *given, types = argument
        counts, places = given[0] if len(given) == 1 else given
        span = recognise(mpi, [buffer, mpi.BYTE], writable=writable)
        # size below extent: a gap behind each entry
        plain = all(each.is_predefined and 0 < each.size == each.extent for each in types)
        lengths = [index(count) * each.size for count, each in zip(counts, types, strict=True)]
        ends = [(index(place), index(place) + length) for place, length in zip(places, lengths, strict=True)]
    except (TypeError, ValueError, AttributeError):
        return None
    # places in bytes, so an end beyond the memory is wrong here
    if span is None or not plain or min(lengths) < 0 or any(a < 0 or b > len(span.memory) for a, b in ends):
        return None
    return [span.memory[first:last] for first, last in ends]


def counts_of(counts: Any, blocks: int, entries: int) -> list[int]:
    """Return how many entries each block of a vector argument has; ``entries`` are dealt out when no counts are given."""
    if counts is None:
        return [entries // blocks + (k < entries % blocks) for k in range(blocks)]  # the first blocks get one more
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
