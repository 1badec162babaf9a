"""``treecast bounds``."""

from dataclasses import replace
from typing import Annotated

from cyclopts import Parameter

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, JobOptions, Kind, Spec, TimeOptions
from treecast.cli.options import Json
from treecast.description import describe
from treecast.errors import PlanError, TreecastError


def bounds(
    collective: Kind,
    network: Spec,
    /,
    *,
    job: JobOptions = JobOptions(),
    broken: BrokenOptions = BrokenOptions(),
    times: TimeOptions = TimeOptions(),  # noqa: B008
    size: Annotated[
        str | None,
        Parameter(name="--bytes", help="How much data there is, all blocks together: 16MiB."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Print the lower bounds of a collective on a network, each with its formula and source; with --bytes also in seconds.

    Some hold under a condition, which stands behind the source. With several copies that is that each chunk takes disjoint paths:
    a schedule whose paths meet may survive as many faults, and take fewer steps. Of an allreduce it is that each sum is complete
    at one rank, its owner, before any rank receives it.

    Under wormhole switching also the value that the default builder reaches, and whether that is known to be the minimum.

    Example: treecast bounds broadcast star:5 --messages 400 --survive 2
    """
    from treecast import plans
    from treecast.lower_bounds.seconds import bound_seconds
    from treecast.plans.amounts import NO_RATE
    from treecast.schedule.description import amount
    from treecast.schedule.sizes import sizes_as_said
    from treecast.verification.gap import find_gap

    # 1. The job, and the costs of sends.
    asked = plans.job(**job.asked(collective, broken.read(network)))
    where, wanted, copies, machine = asked.network, asked.collective, asked.copies, asked.model
    times = times.with_latency(where) if size is not None else times
    costs, sizes = times.read(where), sizes_as_said(replace(wanted, messages=1), size)  # before the work
    if costs is not None and sizes is None:  # one without the other is no time
        raise TreecastError("seconds are of bytes at a cost: write --bytes 16MiB, too")
    if costs is None and sizes is not None:
        raise PlanError(NO_RATE)
    # 2. Bounds in steps, and with costs in seconds.
    with console.progress("bounds", after=2):
        found = describe(find_gap(where, wanted, copies, machine, against=asked.against))
        if costs is not None and sizes is not None:
            least = sizes.least(wanted)
            bound = bound_seconds(
                wanted, where, copies, machine, block=least, cost=costs.least, against=asked.against, costs=costs
            )
            found = found if bound is None else found.joined(describe(bound))
            # the amount stands before the figures
            found = found.adding({}, {"data": amount(replace(wanted, messages=1), sizes)})
    return console.show(found, as_json)
