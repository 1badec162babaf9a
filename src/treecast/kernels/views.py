"""Arrays as interpreted loops see them: memoryviews, whose elements are Python's own numbers.

An element of a memoryview takes half as long to read as one of an array, and a sum of two of them a quarter; nor is there a
largest one. ``numbers`` stands in for ``np`` in the loops that see arrays so: it has the functions they use, and no more.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

_WORD = 2**64 - 1


def to_views(argument: Any) -> Any:
    """Return an array as a memoryview of it, one of NumPy's numbers as Python's, and so for all of a tuple."""
    if isinstance(argument, tuple):
        return tuple(map(to_views, cast("tuple[Any, ...]", argument)))
    if isinstance(argument, np.ndarray):
        return memoryview(cast("Any", argument))
    number: Any = argument
    return number.item() if isinstance(argument, np.generic) else number


def from_views(result: Any) -> Any:
    """Return a memoryview as an array of the same memory, one of NumPy's numbers as Python's, and so for all of a tuple."""
    if isinstance(result, memoryview):
        return np.asarray(result)
    if isinstance(result, tuple):
        return tuple(map(from_views, cast("tuple[Any, ...]", result)))
    number: Any = result
    return number.item() if isinstance(result, np.generic) else number


def _uint64(value: int) -> int:
    return value & _WORD


_KINDS: dict[Any, Any] = {_uint64: np.uint64}


def _making(make: Callable[..., Any]) -> Callable[..., memoryview]:
    def made(*arguments: Any) -> memoryview:
        return memoryview(make(*(_KINDS.get(a, a) if callable(a) else a for a in arguments)))

    return made


numbers = SimpleNamespace(
    zeros=_making(np.zeros),
    ones=_making(np.ones),
    empty=_making(np.empty),
    full=_making(np.full),
    arange=_making(np.arange),
    int8=np.int8,  # these four as kinds of arrays only
    int16=np.int16,
    int32=np.int32,
    uint8=np.uint8,
    uint64=_uint64,
    int64=int,
    float64=float,
    bool_=bool,
)
