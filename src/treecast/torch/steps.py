"""The messages of one rank in each step of a plan, at most one message a peer; there is no torch in it."""

from collections import defaultdict
from typing import NamedTuple

from treecast.errors import PlanError
from treecast.running.engine.transfers import transfers_of
from treecast.running.execution.layout import Ranges
from treecast.schedule import Schedule

_TAGS = 1 << 40  # more than there are messages: peers match theirs by their order


class StepMessage(NamedTuple):
    """Chunks to or from a peer in one step. ``adds``: they are sums under way, which are added where they end."""

    sends: bool
    peer: int
    adds: bool
    ranges: Ranges


def steps_of(plan: Schedule, rank: int) -> list[list[StepMessage]]:
    """Return a rank's messages step by step, in one order at both ends. Steps in which it has none are left out.

    Finished sums lie where the sums did: their ranges are given so. Raises PlanError for a plan that has relays, or leaves out
    chunks that were sent before: there the messages of a rank depend on those that it hears.
    """
    if plan.collective.relays or plan.sparing:  # there a message depends on what came before
        why = "has relays" if plan.collective.relays else "leaves out chunks that were sent before"
        raise PlanError(f"a plan that {why} cannot be carried out rank by rank: plan without them")
    sums, found = plan.part.sums, defaultdict[tuple[int, bool, bool, int], list[tuple[int, int]]](list)
    every = plan.collective.sums
    for each in transfers_of(plan.at(rank), rank, _TAGS):
        # with a stride chunks go in different steps
        pieces = [(each.first, each.stop)] if not each.stride else [(c, c + 1) for c in range(each.first, each.stop)]
        for first, stop in pieces:
            adds = bool(sums) and first < every  # sums under way have the numbers below ``every``
            shift = every * (every <= first < 2 * every)  # finished sums lie where the sums did
            found[each.step_of(first), each.sends, not adds, each.peer].append((first - shift, stop - shift))
    steps = defaultdict[int, list[StepMessage]](list)
    # sorted: both ends have their messages in one order
    for (step, sends, is_copy, peer), ranges in sorted(found.items()):
        steps[step].append(StepMessage(sends, peer, not is_copy, _joined(ranges)))
    return [steps[step] for step in sorted(steps)]


def _joined(ranges: Ranges) -> Ranges:
    """Return ranges in ascending order, those that touch as one, and none twice."""
    found: Ranges = []
    for first, stop in sorted(ranges):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((first, stop))
    return found
