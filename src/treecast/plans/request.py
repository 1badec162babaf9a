"""From the request of a person to a job and the builders that can do it, and from a builder's result to a schedule."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from treecast.against import dead
from treecast.description import Description
from treecast.errors import PlanError, did_you_mean
from treecast.models import MODELS, Model
from treecast.models import model as find_model
from treecast.networks import Network
from treecast.plans.built import Built, Job, memory
from treecast.plans.carried import as_known, carried
from treecast.plans.copies import lacks_ways
from treecast.plans.entries import all_builders, all_options, builders, builders_of, fitting
from treecast.plans.job import counted, job, takes
from treecast.plans.registry import Builder
from treecast.schedule import Schedule
from treecast.schedule.recipe import Recipe

_MOST_PORTS = 2**15  # as many as a column of ports can tell apart
_BYTES_PER_ROW = 72  # a row and the memory of sorting it


@takes(job)
def request(job: Job[Any]) -> tuple[Job[Any], list[Builder]]:
    """Return a job as builders read it, and the builders that can do it, in the order in which they are tried.

    Raises PlanError and NetworkError when no builder can do it; the error says why not.
    """
    known = as_known(counted(job))
    if known.likeness is not None:
        with suppress(PlanError):  # builders for graphs alone look at the graph itself
            return _fitting(known)
    return _fitting(job)


def _fitting(job: Job[Any]) -> tuple[Job[Any], list[Builder]]:
    """Return a job with its options read and, if none was given, its model; and the builders that can do it."""
    where, kind, name = job.network, job.collective.kind, job.builder
    given = _read_options(where, job.options)
    entries = _builders_called(kind, where, name, given)
    kept = job.copies > 1 and job.collective.traits.one_way  # the builders' own machines carry one copy
    machine = job.model if kept or "model" in job.said else _own_model(job, entries, given)
    if where.ports > _MOST_PORTS and not machine.routing:
        raise PlanError(
            f"{where.spec} has {where.ports:,} ports: a schedule can name {_MOST_PORTS:,}; take a network of less degree"
        )
    job = replace(job, model=machine, options=given)
    able = fitting(entries, job)
    if name is not None:  # a name stands for a method, which may be unlike on each machine
        able = [entry for entry in able if entry.any_model or entry.is_for(job)] or able
    if job.likeness is not None and job.copies > 1:
        # the calling paths that prove the copies of sparing schedules go by labels of the known network
        able = [entry for entry in able if not entry.sparing]
    if not able:
        raise _refusal(job, entries)
    return job, able


def schedule_of(job: Job[Any], entry: Builder, built: Built) -> Schedule:
    """Return the schedule of a builder's result for a job."""
    orbit = job.collective.alike and entry.orbit
    copies = built.copies or job.copies
    found = Schedule(
        job.network,
        built.collective or job.collective,
        job.model,
        built.rows,
        copies,
        orbit,
        built.claims,
        recipe=recipe_of(job, entry, copies),
        sparing=entry.sparing,
        initiator=built.initiator,
        against=job.against if copies > 1 else "nodes",
        alone=built.alone,
    )
    return found if job.likeness is None else carried(found, job.likeness)


def recipe_of(job: Job[Any], entry: Builder, copies: int) -> Recipe:
    """Return the recipe of a schedule, as its file says it: its builder, options and copies."""
    known = {option.keyword: option for option in entry.options}
    written: dict[str, str] = {}
    for keyword, value in sorted(job.options.items()):
        option = known[keyword]
        text = "yes" if option.flag else option.write(value, job.network)
        if text:
            written[option.name] = text
    return Recipe(entry.name, written, 0 if copies == job.copies else job.copies)


def job_of(schedule: Schedule) -> tuple[Job[Any], Builder]:
    """Return the job and the builder that a schedule was planned from.

    Raises PlanError as ``request_again`` does.
    """
    found, entries = request_again(schedule)
    return found, entries[0]


def request_again(schedule: Schedule) -> tuple[Job[Any], list[Builder]]:
    """Return the job that a schedule was planned from, and the builders of the name that it says.

    Raises PlanError when the schedule does not say, or when no builder can do its recipe.
    """
    if not schedule.recipe.builder:
        raise PlanError("the schedule does not say which builder made it")
    return request(schedule)


def facts(schedule: Schedule, depth: int) -> Description:
    """Return the facts that the builder of a schedule knows, beside those that can be measured on its rows.

    There are none of a schedule that no builder made. ``depth``: that of its trees, measured.

    >>> from treecast.plans import plan
    >>> facts(plan("broadcast", "torus:4x4", messages=60, builder="disjoint-trees"), 5).lines["depth"]
    '5: the least, proved'
    """
    try:
        job, entry = job_of(schedule)
    except PlanError:
        return Description({})
    found = entry.facts(job, schedule, depth)
    if job.likeness is None:
        return found
    known = job.network.spec
    return Description({"like": known}, {"like": f"{known}, under other names: planned as such"}).joined(found)


def check_memory(rows: int, subject: str, ruled: Callable[[], str]) -> None:
    """Raise PlanError when so many rows do not fit in this machine's memory; ``ruled``: whose rows ``program`` can still tell."""
    needed = rows * _BYTES_PER_ROW
    if needed > memory():
        instead = f"; 'program' still gives one node's rows of {whose}" if (whose := ruled()) else ""
        raise PlanError(
            f"{subject}: {rows:,} rows, about {needed / 2**30:,.0f} GiB, are too many for this machine's memory{instead}"
        )


def _builders_called(kind: str, network: Network, name: str | None, options: Mapping[str, Any]) -> list[Builder]:
    """Return the builders of a collective on a network; with ``name``, the one that is called so."""
    known = builders(kind, network, {*options, name or ""})
    fitting = [entry for entry in known if name is None or entry.name == name]
    if name is not None and not fitting:
        names = ", ".join(dict.fromkeys(entry.name for entry in known)) or "none"
        hint = did_you_mean(name, [entry.name for entry in known])
        raise PlanError(f"there is no builder {name!r} of {kind} on {network.spec}; there is: {names}{hint}")
    return fitting


def _own_model(job: Job[Any], entries: list[Builder], options: Mapping[str, Any]) -> Model:
    """Return the model that a job has when none is asked for: the first of the presets that a builder of its copies is for.

    Nobody goes without buffers for want of a machine of his own, where some builder serves any.
    """
    keywords, copies = set(options), job.copies
    if copies > 1:
        able = [entry for entry in entries if entry.by_root or entry.ways(job) >= copies]
        entries = able or entries
    taking = [entry for entry in entries if entry.takes(keywords)] if keywords else entries
    taking = taking or entries
    own = {name for entry in taking for name in entry.models}
    keeps = job.model.buffered and max([entry.any_model for entry in taking], default=False)
    first = (name for name, preset in MODELS.items() if name in own and preset.buffered >= keeps)
    return find_model(next(first, next(iter(MODELS))))


def _read_options(network: Network, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as builders read them; those not given, or switched off, are left out."""
    known, found = all_options() if given else {}, dict[str, Any]()
    for keyword, value in given.items():
        option = known[keyword]
        if option.flag:
            if value not in (True, "yes"):
                raise PlanError(f"{option.name} is given or not: it has no value, not {value!r}")
            found[keyword] = True
        else:
            text = value if isinstance(value, str) else option.write(value, network)
            found[keyword] = option.read(text, network)
    return found


def _refusal(job: Job[Any], entries: list[Builder]) -> PlanError:
    """Return the error of a job that none of some builders can do."""
    # 1. The machine: nobody plans for it.
    kind, network = job.collective.kind, job.network
    if not entries:
        last = builders_of(kind)[-1]
        return PlanError(f"there is no plan of {kind} on {network.spec}: {last.name} {last.why_not(job)}")
    under = [entry for entry in entries if entry.serves(job.machine)]
    if not under and "model" in job.said:
        known = [name for name, preset in MODELS.items() if any(entry.serves(preset) for entry in entries)]
        able = [entry for entry in builders_of(kind) if entry.serves(job.machine) and not entry.baseline]
        needs = f", which {why}" if able and (why := able[-1].on(network)) else ""
        return PlanError(
            f"there is no plan of {kind} on {network.spec} under model {job.model.name}{needs}; there is: {', '.join(known)}"
        )
    # 2. The options: nobody takes them.
    keywords = set(job.options)
    taking = [entry for entry in under if entry.takes(keywords)]
    if not taking:
        takers = sorted({b.name for b in builders(kind, network, keywords) if b.takes(keywords)})
        names = ", ".join(dict.fromkeys(entry.name for entry in under))
        asked = sorted(all_options()[keyword].name for keyword in keywords)
        if not takers:
            return PlanError(
                f"no builder of {kind} on {network.spec} takes {' and '.join(asked)}{_taken_elsewhere(job)}; there is: {names}"
            )
        verb = "take" if ", " in names else "takes"
        return PlanError(
            f"{names} {verb} no {' and no '.join(asked)}; of {kind} on {network.spec} does: {', '.join(takers)}"
        )
    # 3. The copies: there are not so many ways.
    if not job.collective.sums and not job.model.routing and (reason := lacks_ways(job)):
        return PlanError(reason)
    most = max(entry.ways(job) for entry in taking)
    if job.copies > most:
        why = ""
        if job.collective.sums:
            why = (
                "; contributions that went two ways would be added twice: treecast.mpi.wrap(comm, survive=1) and "
                "treecast.connect(survive=1) add anew when a rank dies"
            )
        can = (
            f"from 1 to {most} copies, surviving 0 to {most - 1} faults" if most > 1 else "one copy, surviving no fault"
        )
        best = max(taking, key=lambda entry: entry.ways(job))
        asked = f"survive {dead(job.copies - 1, job.against)} needs {job.copies} copies"
        return PlanError(f"{asked}; {kind} on {network.spec} by {best.name} sends {can}{why}")
    # 4. Else each builder says why not.
    reasons = "; ".join(dict.fromkeys(f"{b.name} {b.why_not(job)}" for b in taking))
    return PlanError(f"there is no plan of {kind} on {network.spec}: {reasons}")


def _taken_elsewhere(job: Job[Any]) -> str:
    """Return who takes the options of a job that nobody takes here, and why it is not for this job."""
    plain, every = replace(job, options={}), [*all_builders(), *builders_of(job.collective.kind)]
    others = {entry.name: entry.why_not(plain) for entry in every if entry.takes(job.options)}
    found = [f"{name} {reason}" for name, reason in others.items() if reason]
    return f" ({'; '.join(found[:2])})" if found else ""
