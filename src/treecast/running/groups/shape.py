"""Which collective a call is, as its outcome depends on it, and that outcome."""

from typing import TYPE_CHECKING, NamedTuple

from treecast.errors import DeliveryError
from treecast.running.groups.members import name_ranks, ranks_of
from treecast.running.groups.record import Made
from treecast.running.groups.states import Decision

if TYPE_CHECKING:
    from treecast.running.groups.group import Group


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


def name_of(shape: Shape, call: Made) -> str:
    """Return the name of a call as its program spells it, with its number; of those without words that of the collective."""
    return f"{call.words.name}, call {call.call}" if call.words.name else shape.name


def lost_with_root(shape: Shape, call: Made) -> DeliveryError:
    """Return the error of a call whose data is lost with the one rank that had it."""
    return DeliveryError(f"{name_of(shape, call)}: the data is lost with its root, rank {shape.source}")


def judge_alone(shape: Shape, group: "Group") -> tuple[int, ...]:
    """Return the outcome that a rank sees, with nobody else. Raises DeliveryError when it lacks data."""
    lacks, dead = group.lacks, group.agreement.dead
    if not lacks:
        return ()
    why = f"; {name_ranks(dead)} failed" if dead else ""
    nothing = f"rank {group.rank} got nothing from {name_ranks(lacks)}{why}; survive=0 outlives no death"
    raise DeliveryError(f"{name_of(shape, group.made)}: {nothing}")


def judge(shape: Shape, made: Decision, group: "Group") -> tuple[int, ...]:
    """Return the failed whose data is missing, by a decision on a call of a group. Raises DeliveryError."""
    agreement, began, survive = group.agreement, group.began, group.terms.survive
    if not made.missing and len(agreement.members) == len(began) == agreement.size:  # the ordinary case
        return ()
    members, missing = set(agreement.members), set(ranks_of(made.missing))
    gone, name = set(began) - members, name_of(shape, group.made)
    if len(gone) > survive:  # more than the terms promise to survive
        said = f"{name_ranks(gone)} failed in one call, and survive={survive}: say survive={len(gone)}"
        raise DeliveryError(f"{name}: {said}")
    if shape.target is not None and shape.target not in members:  # nobody wants the result any more
        return (shape.target,)
    if shape.source is not None and missing:
        raise lost_with_root(shape, group.made)
    if missing & members:  # a living rank lacks what a living rank has: no failure explains that
        raise DeliveryError(f"{name}: the data of {name_ranks(missing & members)} did not come")
    if shape.source is not None:  # nobody else has any data
        return ()
    # whose data is missing by this decision, and who was gone when the call began
    return tuple(sorted(missing | set(range(agreement.size)).difference(began)))
