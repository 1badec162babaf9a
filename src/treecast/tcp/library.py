"""As much of mpi4py's module as collectives ask for, without MPI: buffers, datatypes, operations, and the errors of wrong
arguments."""

import pickle as _pickle
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from treecast.calls.reader import NUMPYS

ERR_ROOT, ERR_TRUNCATE = 8, 15


class Exception(RuntimeError):  # noqa: A001, N818
    """An error of a class of MPI's."""

    def Get_error_class(self) -> int:  # noqa: N802
        """Return the number of the class."""
        return int(self.args[0])

    def __str__(self) -> str:
        return "the root is no rank of the communicator" if self.args[0] == ERR_ROOT else f"error {self.args[0]} of MPI"


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
        if view.ndim == 1 and view.c_contiguous:
            return view.cast("B")
        array = np.asarray(view)
        return (array if view.c_contiguous else array.T).reshape(-1).view(np.uint8).data


pickle = SimpleNamespace(dumps=partial(_pickle.dumps, protocol=_pickle.HIGHEST_PROTOCOL), loads=_pickle.loads)
"""Objects as bytes."""


class Op:
    """An operation on two contributions: of objects when it is called, of buffers by ``Reduce_local``."""

    is_predefined = commutes = True

    def __init__(self, name: str, of_arrays: Callable[..., Any], of_objects: Callable[[Any, Any], Any]) -> None:
        self.name, self._of_arrays, self._of_objects = name, of_arrays, of_objects

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> "Op":  # noqa: N802
        """Return the operation of a function of two buffers and a datatype, which leaves its result in the second."""

        def of_arrays(one: Any, other: Any, out: Any) -> None:
            function(one.data, other.data, Datatype(one.dtype))

        made = cls("of a function", of_arrays, lambda one, other: function(one, other, None))
        made.is_predefined, made.commutes = False, commute
        return made

    def Is_commutative(self) -> bool:  # noqa: N802
        """Return whether the order of contributions does not matter."""
        return self.commutes

    def __call__(self, one: Any, other: Any) -> Any:
        """Return the result of two objects."""
        return self._of_objects(one, other)

    def Reduce_local(self, one: Any, other: Any) -> None:  # noqa: N802
        """Leave the result of two buffers, ``[bytes, entries, datatype]`` each, in the second."""
        first, second = (np.frombuffer(piece, one[2].dtype) for piece in (one[0], other[0]))
        self._of_arrays(first, second, out=second)

    def __repr__(self) -> str:
        return f"Op({self.name!r})"


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

BYTE, CHAR, SHORT, INT, LONG = (Datatype(code) for code in ("u1", "i1", "h", "i", "l"))
FLOAT, DOUBLE, COMPLEX, DOUBLECOMPLEX, BOOL = (Datatype(code) for code in ("f", "d", "F", "D", "?"))
INT8_T, INT16_T, INT32_T, INT64_T = (Datatype(code) for code in ("i1", "i2", "i4", "i8"))
UINT8_T, UINT16_T, UINT32_T, UINT64_T = (Datatype(code) for code in ("u1", "u2", "u4", "u8"))
