"""Collectives, seen from the data: which chunk starts where, and where it must end."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treecast.collectives.kinds import COLLECTIVES, Kind, find_backwards, find_kind, find_unequal

if TYPE_CHECKING:
    from treecast.collectives.collective import Collective
    from treecast.collectives.demand import Demand
    from treecast.collectives.holdings import Holdings
    from treecast.collectives.lengths import Lengths

__all__ = [
    "COLLECTIVES",
    "Collective",
    "Demand",
    "Holdings",
    "Kind",
    "Lengths",
    "find_backwards",
    "find_kind",
    "find_unequal",
]


def __getattr__(name: str) -> Any:
    """Import modules that need numpy when they are first used: help texts read the table alone."""
    if name not in __all__:
        raise AttributeError(f"module 'treecast.collectives' has no attribute {name!r}")
    value = getattr(import_module(f"treecast.collectives.{name.lower()}"), name)
    globals()[name] = value
    return value
