"""``treecast plan``."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any, cast

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, BytesOptions, JobOptions, Kind, Output, Spec
from treecast.cli.files import check_output, show_plan
from treecast.cli.options import Flag, Json, with_options
from treecast.description import Description, count_of, describe
from treecast.errors import PlanError, TreecastError
from treecast.plans import all_builders, all_options
from treecast.schedule import Schedule

_FEW_NODES = 12  # of networks of which the plan if relays add, or do not, is made, too


def builder_options() -> list[tuple[str, str, str, type]]:
    """Return the options of builders as those of the command line, each with a sentence of help that names the builders."""
    found = list[tuple[str, str, str, type]]()
    for option in all_options().values():
        names = sorted({entry.name for entry in all_builders() if option in entry.options})
        choices = f" One of {', '.join(option.choices)}." if option.choices else ""
        words = f"{option.summary}{choices} For {', '.join(names)}."
        found.append((option.keyword, option.name, words, bool if option.flag else str))
    return found


@with_options("Options of builders", 5, builder_options())
class BuilderOptions:
    """The options of builders."""


def plan(
    collective: Kind,
    network: Spec,
    /,
    *,
    job: JobOptions = JobOptions(),
    broken: BrokenOptions = BrokenOptions(),
    amount: BytesOptions = BytesOptions(),  # noqa: B008
    builder: str | None = None,
    options: BuilderOptions = BuilderOptions(),
    compare_with: str | None = None,
    bounds: Flag = False,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Plan a collective on a network, verify the schedule, and report it beside the lower bound.

    Example: treecast plan broadcast star:5 --messages 400 --survive 2 -o plan.tc

    Parameters
    ----------
    builder
        The construction, where there are several; an unknown name is answered with those that there are.
    compare_with
        A network, the whole one where NETWORK has lost something: say how long it takes there. 'whole' is the fabric of a file
        with its missing parts put back.
    bounds
        Print every lower bound, not the greatest alone.
    output
        Write the schedule to this file: binary when it ends in .tcb, else text; - is standard output.
    """
    import treecast
    from treecast import plans
    from treecast.networks.past_relays import straight_of, whole_of
    from treecast.plans.after.differences import Loss
    from treecast.plans.timing import seconds_of
    from treecast.units import spell_seconds
    from treecast.verification.report import with_all_bounds
    from treecast.verification.verifier import verify

    # 1. What can be wrong with the options: all of it is said before the work, which may take minutes.
    where, compare_with = broken.read(network), broken.other(network, compare_with)
    if output not in (None, "-"):
        treecast.formats.format_of_name(output)  # before the work, since the name may be that of a picture
    check_output(output, as_json)
    if job.files is None:
        amount = amount.filled(where, job.messages is not None)
    chunk, _ = amount.chunk, amount.usual()  # which may be wrong: before the work
    if job.files is not None:
        if amount.size is not None or chunk is not None:
            raise TreecastError(
                "the files say how many bytes there are, and --flit how long a flit is: leave the others out"
            )
        chunk = str(job.flit_bytes) if amount.latency is not None or amount.rate is not None else None

    # 2. The plan, and how long making it took.
    def planned_on(where: Any) -> Schedule:
        return plans.plan(
            builder=builder,
            **job.asked(collective, where),
            bytes=amount.size,
            **amount.asked,
            costs=costs_of_arcs(amount, where),
            chunk=chunk,
            **vars(options),
        )

    began = perf_counter()
    with console.progress("plan", after=2):
        schedule = planned_on(where)
    schedule, took = replace(schedule, costs=amount.read(schedule.network)), perf_counter() - began
    # 3. The verdict: whatever the builder claims, it is measured.
    report = verify(schedule)

    # 4. The report, made only where somebody reads it.
    def shown() -> Description:
        found = with_all_bounds(report, describe(report)) if bounds else describe(report)
        found = found.joined(plans.facts(schedule, report.depth), after="trees")
        if compare_with is not None:
            found = found.joined(describe(Loss(schedule, planned_on(compare_with))), after="steps")
        times = seconds_of(schedule)
        found = found.joined(times, after="steps").adding({}, {"planned in": spell_seconds(took)})
        found = found.joined(_bandwidths(schedule, times), after="takes")
        past, adding = straight_of(schedule.network) is not None, whole_of(schedule.network).adds is not None
        if past or (adding and schedule.collective.sums):
            other = "--relays-add if yours do, by SHARP or NVLS" if past else "--relays-add no if yours do not"
            other += _otherwise(schedule, planned_on, amount, adds=past)
            found = found.adding({}, {"network": f"{found.lines['network']} ({other})"})
        return found.joined(describe(plans.baseline(schedule)), after="transmissions")

    return show_plan(schedule, report, shown, output, as_json)


def costs_of_arcs(amount: BytesOptions, where: Any) -> dict[tuple[int, int], Any] | None:
    """Return the costs of arcs that shape the plan of so many bytes, by the numbers of the whole network; None where none do."""
    from treecast import networks
    from treecast.networks.past_relays import whole_of

    if amount.costs is None or amount.size is None:
        return None
    found = amount.read(whole_of(networks.network(where)))
    return None if found is None else dict(found.arcs)


def _bandwidths(schedule: Schedule, times: Description) -> Description:
    """Return the bandwidths of a plan as nccl-tests counts them, where it has a time."""
    from treecast.advice.logs import bandwidths

    if schedule.sizes is None or not times.lines:
        return Description({})
    total, took = schedule.sizes.total(schedule.collective), cast("dict[str, float]", times.figures)["time"]
    return bandwidths(schedule.collective.kind, schedule.network.rank_count, total, took)


def _otherwise(schedule: Schedule, planned_on: Callable[[Any], Schedule], amount: BytesOptions, *, adds: bool) -> str:
    """Return how long a plan takes if relays add, or do not, as the end of a sentence; nothing where that takes long."""
    from treecast.networks.past_relays import whole_of
    from treecast.schedule.costs import seconds_by_steps
    from treecast.units import spell_seconds

    where = whole_of(schedule.network)
    if where.nodes > _FEW_NODES:
        return ""
    try:
        other = planned_on(where.adding(adds))
    except PlanError:  # the builder that is asked for, say, is none there
        return ""
    # those of arcs go by the numbers of the whole network
    costs = amount.read(other.network) if amount.costs else schedule.costs
    if costs is None or schedule.sizes is None:
        return f": then {count_of(other.steps, 'step')}"
    return f": then {spell_seconds(seconds_by_steps(other, costs))}"
