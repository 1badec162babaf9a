"""The keywords that every collective of ``treecast.mpi`` takes."""

from typing import Any, NamedTuple, TypedDict


class Options(TypedDict, total=False):
    """The keywords, each of which may be left out."""

    survive: int
    deadline: float | None
    network: Any


class Asked(NamedTuple):
    """The same, with defaults; what is spelled wrong raises TypeError."""

    survive: int = 0
    deadline: float | None = None
    network: Any = None
