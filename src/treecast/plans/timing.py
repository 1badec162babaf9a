"""How long a plan takes in seconds, beside what is least."""

from dataclasses import dataclass

from treecast.description import Description, describe
from treecast.errors import ScheduleError
from treecast.lower_bounds.seconds import TimeBound, bound_seconds
from treecast.models import Cost
from treecast.schedule import Schedule
from treecast.schedule.clocks import seconds_by_events, seconds_by_steps
from treecast.schedule.costs import Costs
from treecast.units import spell_seconds


@dataclass(frozen=True)
class Timing:
    """The time of a schedule by two clocks, in seconds, and the least there can be.

    Parameters
    ----------
    by_steps : float
        The steps one after the other, each as long as its slowest send.
    by_events : float or None
        Each send as soon as it can begin; None where there are too many sends to look at.
    bound : TimeBound or None
        What no schedule can beat, where it is known.
    """

    by_steps: float
    by_events: float | None
    bound: TimeBound | None


def time_plan(schedule: Schedule, costs: Costs) -> Timing:
    """Return how long a schedule takes.

    Parameters
    ----------
    schedule : Schedule
        With the sizes of its chunks.
    costs : Costs
        What a send costs, by arc.

    Raises
    ------
    ScheduleError
        When the schedule does not say how long its chunks are.

    Examples
    --------
    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "ring:4", bytes="4kB", latency="1us", rate="1GB/s")
    >>> found = time_plan(schedule, Costs.of("1us", "1GB/s"))
    >>> found.by_events <= found.by_steps
    True
    """
    steps = seconds_by_steps(schedule, costs)
    try:
        events = seconds_by_events(schedule, costs)
    except ScheduleError:
        events = None
    sizes, every = schedule.sizes, [costs.default, *costs.arcs.values()]
    least = Cost(min(cost.startup for cost in every), min(cost.per_byte for cost in every))
    bound = sizes and bound_seconds(
        schedule.collective,
        schedule.network,
        schedule.copies,
        schedule.model,
        block=sizes.least(schedule.collective),
        cost=least,
        against=schedule.against,
    )
    return Timing(steps, events, bound)


@describe.register
def _(timing: Timing) -> Description:
    bound, events = timing.bound, timing.by_events
    figures: dict[str, object] = {"time": timing.by_steps, "time_by_events": events}
    words = [spell_seconds(timing.by_steps)]
    if bound is not None:
        ratio = timing.by_steps / bound.seconds if bound.seconds else 1.0
        figures |= {"time_lower_bound": bound.seconds, "time_ratio": round(ratio, 4)}
        words[0] += f", {ratio:.4g} x the lower bound"
        words.append(f"at least {spell_seconds(bound.seconds)} = {bound}")
    if events is not None and spell_seconds(events) != spell_seconds(timing.by_steps):
        words.append(f"{spell_seconds(events)} if each send begins as soon as it can")
    return Description(figures, {"time": words})
