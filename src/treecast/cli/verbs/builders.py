"""``treecast builders``."""

from dataclasses import replace
from typing import Any

from treecast.cli import console
from treecast.cli.arguments import BrokenOptions, BytesOptions, JobOptions, Kind, Spec
from treecast.cli.options import Json
from treecast.cli.verbs.plan import costs_of_arcs
from treecast.description import Description, Table, describe
from treecast.errors import PlanError, TreecastError
from treecast.plans.choice import Alternatives


def builders(
    collective: Kind,
    network: Spec,
    /,
    *,
    job: JobOptions = JobOptions(),
    broken: BrokenOptions = BrokenOptions(),
    amount: BytesOptions = BytesOptions(),  # noqa: B008
    as_json: Json = False,
) -> int:
    """List the builders of a collective on a network: the cost of each, which one is the default, and why.

    Example: treecast builders broadcast torus:4x4x4 --messages 600

    The builder that 'plan' takes stands first; those that cannot do the job stand last, with the reason. With --bytes each
    also has the time of its plan, of as many chunks as suit it best.
    """
    from treecast import plans

    if amount.costs is not None and amount.size is None:
        raise TreecastError("--costs are for bytes: say how many, as in --bytes 16MiB")
    where = broken.read(network)
    amount = amount.filled(where, job.messages is not None)
    asked = job.asked(collective, where)
    with console.progress("builders", after=2):
        found = plans.alternatives(**asked)
        shown = describe(found)
        if amount.size is not None:
            more = {"bytes": amount.size, "chunk": amount.chunk, "costs": costs_of_arcs(amount, where)}
            shown = shown.joined(_by_time(found, asked | amount.asked | more))
    return console.show(shown, as_json)


def _by_time(found: Alternatives, asked: dict[str, Any]) -> Description:
    """Return the time of the plan of each builder, the fastest first."""
    from treecast import plans
    from treecast.plans.timing import time_plan
    from treecast.units import spell_ratio, spell_seconds

    wanted, rows = found.job.model, list[tuple[float, str, int, int, float | None]]()
    for each in found.candidates:
        try:
            schedule = plans.plan(builder=each.builder.name, **asked) if each.claims else None
        except PlanError:
            continue
        if schedule is not None and schedule.costs is not None:
            timing = time_plan(schedule)
            weaker = not schedule.model.arcs and schedule.model <= wanted and schedule.model != wanted
            # the bound is that of the machine that is asked for, not of a weaker one
            bound = time_plan(replace(schedule, model=wanted)).bound if weaker else timing.bound
            ratio = timing.by_steps / bound.seconds if bound and bound.seconds else None
            rows.append((timing.by_steps, each.builder.name, schedule.collective.messages, schedule.steps, ratio))
    rows.sort()
    cells = [
        (name, spell_seconds(seconds), f"{spell_ratio(ratio)} x" if ratio else "-", chunks, steps)
        for seconds, name, chunks, steps, ratio in rows
    ]
    names = ("name", "seconds", "messages", "steps")
    figures = [
        dict(zip(names, (name, seconds, chunks, steps), strict=True)) for seconds, name, chunks, steps, _ in rows
    ]
    columns = ("builder", "takes", "the lower bound", "messages", "steps")
    return Description({"times": figures}, {}, (Table(columns, cells, of="builders"),) if cells else ())
