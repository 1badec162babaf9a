"""Which collective a call is, as its outcome depends on it."""

from typing import NamedTuple

from treecast.errors import DeliveryError


class Shape(NamedTuple):
    """Which collective it is: ``source`` when one rank has the data, ``target`` when one rank wants it; else all.

    ``spread``: all want the same data, so whoever has some can give it. ``redo``: when data is lost, all begin anew.
    """

    name: str
    source: int | None = None
    target: int | None = None
    spread: bool = False
    redo: bool = False

    @property
    def end(self) -> int | None:
        """The one rank that has the data, or wants it; None where all do."""
        return self.target if self.source is None else self.source


def lost_with_root(shape: Shape) -> DeliveryError:
    """Return the error of a call whose data is lost with the one rank that had it."""
    return DeliveryError(f"{shape.name}: the data is lost with its root, rank {shape.source}")
