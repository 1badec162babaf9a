"""Which collective a call is, as its outcome depends on it, and that outcome."""

from collections.abc import Collection
from typing import NamedTuple

from treecast.errors import DeliveryError
from treecast.groups.agreement import Agreement
from treecast.groups.members import name_ranks, ranks_of
from treecast.groups.states import Decision


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


def judge_alone(shape: Shape, lacks: Collection[int], dead: Collection[int], rank: int) -> tuple[int, ...]:
    """Return the outcome that a rank sees, with nobody else. Raises DeliveryError when it lacks data."""
    if not lacks:
        return ()
    why = f"; {name_ranks(dead)} failed" if dead else ""
    raise DeliveryError(
        f"{shape.name}: rank {rank} got nothing from {name_ranks(lacks)}{why}; survive=0 outlives no death"
    )


def judge(shape: Shape, made: Decision, agreement: Agreement, began: Collection[int], survive: int) -> tuple[int, ...]:
    """Return the failed whose data is missing, by a decision on a call that ``began`` with these. Raises DeliveryError."""
    if not made.missing and len(agreement.members) == len(began) == agreement.size:  # the ordinary case
        return ()
    members, missing = set(agreement.members), set(ranks_of(made.missing))
    gone = set(began) - members
    if len(gone) > survive:
        raise DeliveryError(f"{shape.name}: {name_ranks(gone)} failed in one call, which survives {survive}")
    if shape.target is not None and shape.target not in members:
        return (shape.target,)
    if shape.source is not None and missing:
        raise lost_with_root(shape)
    if missing & members:
        raise DeliveryError(f"{shape.name}: the data of {name_ranks(missing & members)} did not come")
    if shape.source is not None:  # nobody else has any data
        return ()
    return tuple(sorted(missing | set(range(agreement.size)).difference(began)))
