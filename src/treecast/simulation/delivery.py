"""The beginning of the results of all runs under faults: who got all data, and the faults."""

from collections.abc import Sequence

from treecast.description import Description, list_few
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults

_MOST_LOST = 10  # lines on losses


def describe_delivery(
    delivered: int,
    living: int,
    failed: Sequence[str],
    lacking: Sequence[str] = (),
    words: tuple[str, str] = ("node", "faults"),
) -> Description:
    """Return how many of the living got all that they want (``delivered`` of ``living``), the faults, and the losses.

    ``lacking``: the losses, a line each, for people; ``words``: those for a node and for the faults.
    """
    who, title = words
    lines: dict[str, object] = {"delivered": f"everything to all {living:,} living {who}s"}
    if not living:
        lines["delivered"] = f"NOT to anybody: no {who} is left"
    elif delivered < living:
        lines["delivered"] = f"NOT to all: {living - delivered:,} of {living:,} living {who}s lack something"
    if lacking:
        left = len(lacking) - _MOST_LOST
        lines["lost"] = [*lacking[:_MOST_LOST], *([f"and {left:,} more"] if left > 0 else [])]
    lines[title] = list_few(failed)
    figures = {title: list(failed), "living": living, "delivered": delivered}
    return Description(figures, lines, holds=delivered == living > 0)


def describe_late(schedule: Schedule, *faults: Faults) -> Description:
    """Return which faults happen after a schedule has ended, if some do."""
    late = [name for each in faults for name in each.too_late(schedule).describe(schedule.network)]
    if not late:
        return Description({})
    after = f"{list_few(late)}: after the last step, {schedule.steps - 1:,}, where nothing is sent any more"
    return Description({"too_late": late}, {"too late": after})


def describe_sends(transmissions: int, lost: int) -> str:
    """Return how many sends took place, and how many of them were lost on the way."""
    return f"{transmissions:,}" + (f", {lost:,} of them over failed arcs or to failed nodes" if lost else "")
