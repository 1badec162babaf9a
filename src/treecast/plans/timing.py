"""How long a plan takes in seconds, beside the least time."""

from dataclasses import dataclass

from treecast.description import Description, describe
from treecast.errors import ScheduleError
from treecast.lower_bounds.seconds import TimeBound, bound_seconds
from treecast.schedule import Schedule
from treecast.schedule.costs import Costs, seconds_by_events, seconds_by_steps
from treecast.units import spell_ratio, spell_seconds


@dataclass(frozen=True)
class Timing:
    """The time of a schedule by two clocks, in seconds, and the least there can be.

    ``by_steps``: the steps one after the other, each as long as its slowest send. ``by_events``: each send as soon as it can
    begin; None where there are too many sends to look at. ``bound``: the time that no schedule can beat, where it is known.
    """

    by_steps: float
    by_events: float | None
    bound: TimeBound | None


def time_plan(schedule: Schedule, costs: Costs | None = None) -> Timing:
    """Return how long a schedule takes whose chunks have a size; at the costs, by arc, that are given or that it was planned
    for.

    Raises ScheduleError when it is not said how long chunks are, or how much sends cost.

    >>> import treecast
    >>> schedule = treecast.plan("broadcast", "ring:4", bytes="4kB", latency="1us", rate="1GB/s")
    >>> found = time_plan(schedule, Costs.of("1us", "1GB/s"))
    >>> found.by_events <= found.by_steps
    True
    """
    costs = costs or schedule.costs
    if costs is None:
        raise ScheduleError("the costs of sends are not given: plan with latency='1us', rate='12.5GB/s'")
    steps = seconds_by_steps(schedule, costs)
    try:
        events = seconds_by_events(schedule, costs)
    # too many sends to look at
    except ScheduleError:
        events = None
    sizes = schedule.sizes
    bound = sizes and bound_seconds(
        schedule.collective,
        schedule.network,
        schedule.copies,
        schedule.model,
        block=sizes.least(schedule.collective),
        cost=costs.least,
        costs=costs,
        against=schedule.against,
    )
    return Timing(steps, events, bound)


def seconds_of(*schedules: Schedule) -> Description:
    """Return how long the first schedule takes, and how long the others, from before, took, as far as they say it."""
    said = [schedule for schedule in schedules if schedule.sizes is not None and schedule.costs is not None]
    if not said or said[0] is not schedules[0]:
        return Description({})
    found = describe(time_plan(said[0]))
    before = [seconds_by_steps(each, each.costs) for each in said[1:] if each.costs]
    if not before:
        return found
    return found.adding({"time_before": before[0]}, {"took": f"{spell_seconds(before[0])} before"})


@describe.register
def _(timing: Timing) -> Description:
    bound, events = timing.bound, timing.by_events
    figures: dict[str, object] = {"time": timing.by_steps, "time_by_events": events}
    words = [spell_seconds(timing.by_steps)]
    if bound is not None:
        ratio = timing.by_steps / bound.seconds if bound.seconds else 1.0
        figures |= {"time_lower_bound": bound.seconds, "time_ratio": round(ratio, 4)}
        words[0] += f", {spell_ratio(ratio)} x the lower bound"
        words.append(str(describe(bound).lines["takes"]))
    if events is not None and spell_seconds(events) != spell_seconds(timing.by_steps):
        words.append(f"{spell_seconds(events)} if each send begins as soon as it can")
    return Description(figures, {"takes": words})
