"""The cost of a network that is less than it was: a plan beside one of the same job on another network."""

from dataclasses import dataclass

from treecast.description import Description, describe
from treecast.lower_bounds import best, schedule_bounds
from treecast.schedule import Schedule


@dataclass(frozen=True)
class Loss:
    """A plan, and one of the same job on the whole network to compare it with.

    >>> from treecast.plans import plan
    >>> print(describe(Loss(plan("allgather", "mesh:3x3"), plan("allgather", "torus:3x3"))).lines["loss"])
    4 steps instead of 2 on torus:3x3, 100.0 % more; bounds 4 and 2
    """

    schedule: Schedule
    whole: Schedule


@describe.register
def _(found: Loss) -> Description:
    steps, before = found.schedule.steps, found.whole.steps
    least, most = (best(schedule_bounds(each), "steps").value for each in (found.schedule, found.whole))
    more = f", {abs(100 * (steps / before - 1)):.1f} % {'less' if steps < before else 'more'}" if before else ""
    said = f"{steps:,} steps instead of {before:,} on {found.whole.network.spec}{more}; bounds {least:,} and {most:,}"
    figures = {"network": found.whole.network.spec, "steps": before, "lower_bound": most}
    return Description({"compared_with": figures}, {"loss": said})
