"""The forms of arguments: all that their reading goes by, but for where a buffer lies. Calls of one form are read alike."""

from array import array
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from mpi4py import MPI

from treecast.errors import PlanError
from treecast.running.calls.collectives import ROWS

LISTS = frozenset({list, tuple})
WRONG = PlanError, TypeError, ValueError, AttributeError, IndexError, BufferError, KeyError
"""The errors of arguments that have no form, or are wrong."""
_PLAIN = frozenset({int, str, type(None)})  # types that are their own form
_KNOWN: dict[int, object] = {
    id(each): object() for each in vars(MPI).values() if type(each) in (MPI.Datatype, MPI.Op) and each
}
"""A mark of each of MPI's own datatypes and operations, by where these lie: nobody frees them."""
_BUFFER = MPI.buffer
_WHOLE = "bBhHiIlLqQ"
_EMPTY = signature(print).empty
_NAMED = {name: [*signature(row.make).parameters.values()][1:] for name, row in ROWS.items()}
BUFFERS = {name: sum("buf" in each.name for each in places) for name, places in _NAMED.items()}
"""How many of the first arguments of a collective are buffers, by its name."""


def form_of_call(name: str, arguments: Sequence[Any]) -> Any:
    """Return the form of all arguments of a collective. Raises as ``form_of``."""
    buffers = BUFFERS[name]
    # This stands before every call, and each line of Python counts as often as there are ranks on a core.
    if len(arguments) == buffers:  # the ordinary cases, in few steps
        if buffers < 2:  # a barrier has no arguments
            return (name, form_of(arguments[0])) if buffers else name
        one, other = arguments
        if one.__class__ is other.__class__ is np.ndarray:  # two arrays are what most calls have
            return name, one.nbytes, one.dtype, one.flags.num, other.nbytes, other.dtype, other.flags.num
        return name, form_of(one), form_of(other)
    return name, *map(form_of, arguments[:buffers]), *map(word_of, arguments[buffers:])


def form_of(argument: Any) -> Any:
    """Return the form of a buffer; it may stand beside counts and a datatype. Raises TypeError for what has none."""
    kind = argument.__class__
    if kind is np.ndarray:
        return argument.nbytes, argument.dtype, argument.flags.num
    if kind is _BUFFER:
        return argument.nbytes, argument.format, argument.readonly
    if kind in LISTS:
        if len(argument) == 2:  # the ordinary cases, in few steps
            buffer, datatype = argument
            # MPI's own datatypes have a mark; others are looked at
            return form_of(buffer), _KNOWN.get(id(datatype)) or word_of(datatype)
        if len(argument) == 3:
            buffer, counts, datatype = argument
            word = counts if counts.__class__ is int else word_of(counts)
            return form_of(buffer), word, _KNOWN.get(id(datatype)) or word_of(datatype)
        return kind, form_of(argument[0]), *map(word_of, argument[1:])
    if argument is None or argument is MPI.IN_PLACE:  # both are known by themselves
        return argument is None
    view = memoryview(argument)  # anything else by the buffer protocol
    return view.nbytes, view.format, view.c_contiguous, view.readonly


def word_of(argument: Any) -> Any:
    """Return the form of an argument that is no buffer: numbers, a datatype or an operation. Raises as ``form_of``."""
    kind = argument.__class__
    if kind in _PLAIN:
        return argument
    if kind in LISTS:  # counts alone, in few steps, or counts and places
        if _PLAIN.issuperset(map(type, argument)):
            return kind, *argument
        return kind, *[each if type(each) in _PLAIN else word_of(each) for each in argument]
    if (known := _KNOWN.get(id(argument))) is not None:
        return known
    if kind is array and argument.typecode in _WHOLE:  # in few steps
        return list, *argument
    # counts may be an array of numpy's, or a number of numpy's
    return word_of(argument.tolist()) if hasattr(argument, "tolist") else (kind, argument.handle)


def in_order(name: str, arguments: Sequence[Any], named: dict[str, Any]) -> Sequence[Any]:
    """Return all arguments of a collective by their places. Raises TypeError where they do not fit."""
    places = _NAMED[name]
    given = dict(zip([each.name for each in places], arguments, strict=False))
    if len(given) < len(arguments) or given.keys() & named.keys():  # too many, or one twice
        raise TypeError
    given |= named
    found = [given.pop(each.name, each.default) for each in places]
    if given or _EMPTY in found:
        raise TypeError
    return found
