"""As much of mpi4py's module as collectives ask for, without MPI: buffers, datatypes, operations, and the errors of wrong
arguments."""

import pickle as _pickle
from collections.abc import Callable
from functools import cache, partial
from operator import gt, lt
from types import SimpleNamespace
from typing import Any

import numpy as np

from treecast.running.calls.reader import NUMPYS

ERR_TAG, ERR_COMM, ERR_RANK, ERR_REQUEST, ERR_ROOT, ERR_TRUNCATE = 4, 5, 6, 7, 8, 15


class Exception(RuntimeError):  # noqa: A001, N818
    """An error of a class of MPI's."""

    def Get_error_class(self) -> int:  # noqa: N802
        """Return the number of the class."""
        return int(self.args[0])

    def __str__(self) -> str:
        usual = (
            "the root is no rank of the communicator" if self.args[0] == ERR_ROOT else f"error {self.args[0]} of MPI"
        )
        return self.args[1] if self.args[1:] else usual


class _InPlace:
    def __repr__(self) -> str:
        return "IN_PLACE"


IN_PLACE = _InPlace()


class Datatype:
    """The datatype of entries: a type of numpy's."""

    is_predefined, lb = True, 0

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.name, self.typechar = self.dtype.name, self.dtype.char
        self.size = self.extent = self.dtype.itemsize

    @classmethod
    @cache
    def fromcode(cls, code: str) -> "Datatype":
        """Return the datatype of a letter of the buffer protocol, or of numpy's. Raises ValueError for none."""
        try:
            return cls(NUMPYS.get(code, code))
        except TypeError:
            raise ValueError(f"{code!r} is no type of entries") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Datatype) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"Datatype({self.name!r})"


class buffer:  # noqa: N801
    """Memory as bytes."""

    @staticmethod
    def allocate(count: int, clear: bool = False) -> memoryview:
        """Return so many bytes of memory."""
        return (np.zeros if clear else np.empty)(count, np.uint8).data

    @staticmethod
    def frombuffer(thing: Any, readonly: bool = False) -> memoryview:
        """Return the bytes of contiguous memory. Raises TypeError for a thing that has none."""
        view = memoryview(thing)
        if view.nbytes == 0:
            return memoryview(bytearray())
        if view.ndim == 1 and view.c_contiguous:  # in place
            return view.cast("B")
        array = np.asarray(view)
        # Fortran's order: the bytes as they lie
        return (array if view.c_contiguous else array.T).reshape(-1).view(np.uint8).data


pickle = SimpleNamespace(dumps=partial(_pickle.dumps, protocol=_pickle.HIGHEST_PROTOCOL), loads=_pickle.loads)
"""Objects as bytes."""


class Op:
    """An operation on two contributions: of objects when it is called, of buffers by ``Reduce_local``.

    ``of_arrays`` leaves its result in ``out``, which is the second.
    """

    is_predefined = commutes = True

    def __init__(self, name: str, of_arrays: Callable[..., Any], of_objects: Callable[[Any, Any], Any]) -> None:
        self.name, self._of_arrays, self._of_objects = name, of_arrays, of_objects

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> "Op":  # noqa: N802
        """Return the operation of a function of two buffers and a datatype, which leaves its result in the second."""

        def of_arrays(one: Any, other: Any, out: Any) -> None:
            function(one.data, other.data, Datatype(one.dtype))

        made = cls("of a function", of_arrays, lambda one, other: function(one, other, None))
        made.is_predefined, made.commutes = False, commute  # its results are not known, so nothing may be reordered
        return made

    def Is_commutative(self) -> bool:  # noqa: N802
        """Return whether the order of contributions does not matter."""
        return self.commutes

    def __call__(self, one: Any, other: Any) -> Any:
        """Return the result of two objects."""
        return self._of_objects(one, other)

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:  # noqa: N802
        """Leave the result of two buffers or arrays in the second. Raises ValueError, or TypeError, as a sum of them does."""
        from treecast.running.calls.table import check_alike
        from treecast.tcp.arguments import Reader

        reader = Reader(1)
        one, other = reader.entries(inbuf, writable=False), reader.entries(inoutbuf, writable=True)
        check_alike(one, other)  # as in a call of several ranks
        reader.check_sum(one.datatype, self)
        self.reduce_pieces([one.piece, one.number, one.datatype], [other.piece, other.number, other.datatype])
        if other.finish is not None:
            other.finish()

    def reduce_pieces(self, one: Any, other: Any) -> None:
        """Do so with contiguous bytes, ``[bytes, entries, datatype]`` each."""
        first, second = (np.frombuffer(piece, one[2].dtype) for piece in (one[0], other[0]))
        self._of_arrays(first, second, out=second)

    def __repr__(self) -> str:
        return f"Op({self.name!r})"


def _locate(is_better: Callable[[Any, Any], Any]) -> tuple[Callable[..., None], Callable[[Any, Any], Any]]:
    """Return the operation on pairs of a value and a place that takes the better value, and of equal ones the first place."""

    def of_arrays(one: Any, other: Any, out: Any) -> None:
        (value, place), takes = one.dtype.names, None
        takes = is_better(one[value], other[value])
        # Of equal values the lower place, as MPI says.
        takes |= (one[value] == other[value]) & (one[place] < other[place])
        out[takes] = one[takes]

    def of_objects(one: Any, other: Any) -> Any:
        if one[0] == other[0]:
            return one[0], min(one[1], other[1])
        return tuple(one if is_better(one[0], other[0]) else other)

    return of_arrays, of_objects


def _replace(one: Any, other: Any, out: Any) -> None:
    out[...] = one  # REPLACE takes the first contribution into the second's place


SUM = Op("SUM", np.add, lambda one, other: one + other)
PROD = Op("PROD", np.multiply, lambda one, other: one * other)
MAX = Op("MAX", np.maximum, max)
MIN = Op("MIN", np.minimum, min)
LAND = Op("LAND", np.logical_and, lambda one, other: bool(one and other))
LOR = Op("LOR", np.logical_or, lambda one, other: bool(one or other))
LXOR = Op("LXOR", np.logical_xor, lambda one, other: bool(one) is not bool(other))
BAND = Op("BAND", np.bitwise_and, lambda one, other: one & other)
BOR = Op("BOR", np.bitwise_or, lambda one, other: one | other)
BXOR = Op("BXOR", np.bitwise_xor, lambda one, other: one ^ other)
MAXLOC, MINLOC = Op("MAXLOC", *_locate(gt)), Op("MINLOC", *_locate(lt))
REPLACE = Op("REPLACE", _replace, lambda one, other: other)

BYTE, CHAR, SHORT, INT, LONG = (Datatype(code) for code in ("u1", "i1", "h", "i", "l"))
FLOAT, DOUBLE, COMPLEX, DOUBLECOMPLEX, BOOL = (Datatype(code) for code in ("f", "d", "F", "D", "?"))
INT8_T, INT16_T, INT32_T, INT64_T = (Datatype(code) for code in ("i1", "i2", "i4", "i8"))
UINT8_T, UINT16_T, UINT32_T, UINT64_T = (Datatype(code) for code in ("u1", "u2", "u4", "u8"))
FLOAT_INT, DOUBLE_INT, LONG_INT, INT_INT, SHORT_INT = (
    Datatype(np.dtype([("value", code), ("place", "i")], align=True)) for code in "fdlih"
)
TWOINT = INT_INT
