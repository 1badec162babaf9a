"""From the request of a person to a job and the builders that can do it, and from a builder's result to a schedule."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from typing import Any, cast

import numpy as np

from treecast.against import dead
from treecast.collectives import COLLECTIVES, Collective, find_kind
from treecast.collectives.reach import check_reach
from treecast.errors import PlanError, did_you_mean
from treecast.models import MODELS, Model
from treecast.models import model as find_model
from treecast.networks import Network, NodeName
from treecast.networks import network as find_network
from treecast.networks.reading.links import label_of
from treecast.plans.built import Built, Job, memory
from treecast.plans.carried import as_known, carried
from treecast.plans.copies import against_of, copies_of, lacks_ways
from treecast.plans.lengths import lengths_by_block
from treecast.plans.registry import Builder, all_builders, all_options, builders, fitting, refuse_no_builder
from treecast.schedule import Schedule
from treecast.schedule.recipe import Recipe

_MOST_PORTS = 2**15  # as many as a column of ports can tell apart
_BYTES_PER_ROW = 72  # a row and the memory of sorting it


def collective_of(
    kind: str,
    network: Network,
    *,
    root: NodeName | None = None,
    messages: int = 1,
    targets: Any = (),
    lengths: Any = None,
) -> Collective:
    """Return a collective on a network, from nodes or labels as people give them.

    ``root``: by default the first rank; collectives in which every node has the same part have none. ``messages``: the chunks
    of each source. ``targets``: those of a multicast. ``lengths``: see ``lengths_by_node`` and ``lengths_by_pair``. Raises
    PlanError and NetworkError for a kind, node or length that does not exist, for a relay as a root or target, and for ranks
    that are not reached.
    """
    start = root_of(network, root)
    if isinstance(targets, str) or not np.iterable(targets):
        raise PlanError(f"targets are several nodes or labels, not {targets!r}: write [{targets!r}]")
    named = [node_of(network, target, "a target") for target in targets]
    aims = set(named)
    if len(aims) < len(named):
        twice = next(target for target in named if named.count(target) > 1)
        raise PlanError(f"target {network.label(twice)} is named twice: name each once")
    if aims == {start} and find_kind(kind).targets:
        raise PlanError(f"the root {network.label(start)} has the data and is no target: name other nodes")
    for target in sorted(aims):
        _refuse_relay(network, target, "target")
    rootless = find_kind(kind).all_source
    if rootless and root is not None and start:
        raise PlanError(f"{kind} has no root: every node has data of its own")
    flits = None if lengths is None else lengths_by_block(network, find_kind(kind), start, lengths)
    found = Collective.over(
        network,
        kind,
        messages,
        root=0 if rootless else start,
        targets=tuple(sorted(aims - {start})),
        lengths=flits,
    )
    check_reach(found, network)
    return found


def place_of(kind: str, network: Any) -> Network:
    """Return the network on which a collective of some kind is to take place.

    Raises PlanError and NetworkError when there is no such network; the message says so where the two stand the wrong way
    round.
    """
    if isinstance(network, str) and network in COLLECTIVES and kind not in COLLECTIVES:
        raise PlanError(f"{network!r} is no network but a collective: write it first, and then {kind!r}")
    return find_network(network)


def root_of(network: Network, root: NodeName | None) -> int:
    """Return the node that a root is given by: a number or label; by nothing, the first rank.

    Raises PlanError and NetworkError for a value that names no node, and for a relay.
    """
    if root is None:
        return 0 if network.relays is None else int(network.ranks[0])
    start = node_of(network, root, "root") if root else network.node(root)
    _refuse_relay(network, start, "root")
    return start


def _refuse_relay(network: Network, node: int, what: str) -> None:
    if network.relays is not None and network.relays[node]:
        some = network.label(int(network.ranks[0]))
        raise PlanError(
            f"{what} {network.label(node)} is a relay, which has nothing and wants nothing: take a rank, as {some}"
        )


def request(
    kind: str,
    network: Any,
    *,
    copies: int | None = None,
    survive: int | None = None,
    against: str | None = None,
    model: str | Model | None = None,
    builder: str | None = None,
    options: Mapping[str, Any] | None = None,
    **what: Any,
) -> tuple[Job[Any], list[Builder]]:
    """Return the job that is asked for, and the builders that can do it, in the order in which they are tried.

    ``what`` is the rest of the collective, as ``collective_of`` takes it. Raises PlanError and NetworkError when no builder
    can do it; the error says why not.
    """
    where = place_of(kind, network)
    wanted = copies_of(copies, survive)
    job = Job(
        where,
        collective_of(kind, where, **what),
        find_model(next(iter(MODELS)) if model is None else model),
        wanted,
        options or {},
        against_of(against, wanted),
    )
    known = as_known(job)
    if known.likeness is not None:
        with suppress(PlanError):  # builders for graphs alone look at the graph itself
            return _fitting(known, builder, model is not None)
    return _fitting(job, builder, model is not None)


def _fitting(job: Job[Any], builder: str | None, model_given: bool) -> tuple[Job[Any], list[Builder]]:
    """Return a job with its options read and, if none was given, its model; and the builders that can do it."""
    where, kind = job.network, job.collective.kind
    given = _read_options(where, job.options)
    entries = _builders_called(kind, where, builder, given)
    machine = job.model if model_given else _own_model(entries, given)
    if where.ports > _MOST_PORTS and not machine.routing:
        raise PlanError(
            f"{where.spec} has {where.ports:,} ports: a schedule can name {_MOST_PORTS:,}; take a network of less degree"
        )
    job = replace(job, model=machine, options=given)
    able = fitting(entries, job)
    if job.likeness is not None and job.copies > 1:
        # the calling paths that prove the copies of sparing schedules go by labels of the known network
        able = [entry for entry in able if not entry.sparing]
    if not able:
        raise _refusal(job, entries, model_given)
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

    Raises PlanError when the schedule does not say, or when no builder can do its recipe.
    """
    recipe, collective, lengths = schedule.recipe, schedule.collective, schedule.collective.lengths
    network = schedule.network
    if not recipe.builder:
        raise PlanError("the schedule does not say which builder made it")
    job, entries = request(
        collective.kind,
        network,
        root=None if collective.all_source else network.label(collective.root),
        messages=collective.messages,
        targets=network.labels(collective.targets),
        lengths=None if lengths is None else lengths.flits,
        copies=recipe.copies or schedule.copies,
        against=None if schedule.against == "nodes" else schedule.against,
        model=schedule.model,
        builder=recipe.builder,
        options=options_of(schedule),
    )
    return job, entries[0]


def options_of(schedule: Schedule) -> dict[str, str]:
    """Return the options of a recipe by keyword; of a file that does not say them, the defaults of its time."""
    recipe, network = schedule.recipe, schedule.network
    said = {name.replace("-", "_"): value for name, value in recipe.options.items()}
    if recipe.whole:
        return said
    named = [
        entry for entry in builders(schedule.collective.kind, network, {recipe.builder}) if entry.name == recipe.builder
    ]
    meant = {keyword: option.before(network) for keyword, option in all_options(named).items()}
    return {keyword: value for keyword, value in meant.items() if value} | said


def check_memory(rows: int, what: str, ruled: Callable[[], str]) -> None:
    """Raise PlanError when so many rows do not fit in this machine's memory; ``ruled``: whose rows ``program`` can still tell."""
    needed = rows * _BYTES_PER_ROW
    if needed > memory():
        instead = f"; 'program' still gives one node's rows of {whose}" if (whose := ruled()) else ""
        raise PlanError(
            f"{what}: {rows:,} rows, about {needed / 2**30:,.0f} GiB, are too many for this machine's memory{instead}"
        )


def node_of(network: Network, value: Any, what: str) -> int:
    """Return the node that a number or label names. Raises PlanError and NetworkError for a value that names none.

    A graph may have whole numbers for names: one that is the name of a node and the number of another is refused.
    """
    if isinstance(value, tuple):  # as networkx names the nodes of grids
        value = label_of(cast("object", value))
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise PlanError(f"{what} must be a node or its label, not {value!r}")
    if not network.named_nodes or isinstance(value, str):
        return network.node(value)
    named = network.node(str(value))
    if named != value and 0 <= value < network.nodes:
        raise PlanError(
            f"{value} is the name of one node of {network.spec} and the number of another: write {str(value)!r} for "
            f"the name, or {network.label(value)!r} for the name of the other"
        )
    return named


def keywords() -> list[str]:
    """Return the keywords that ``plan`` takes, whatever the builder."""
    from treecast.plans import plan

    return [name for name, given in signature(plan).parameters.items() if given.kind is given.KEYWORD_ONLY]


def _builders_called(kind: str, network: Network, name: str | None, options: Mapping[str, Any]) -> list[Builder]:
    """Return the builders of a collective on a network; with ``name``, the one that is called so."""
    known = builders(kind, network, {*options, name or ""})
    fitting = [entry for entry in known if name is None or entry.name == name]
    if name is not None and not fitting:
        names = ", ".join(dict.fromkeys(entry.name for entry in known)) or "none"
        hint = did_you_mean(name, [entry.name for entry in known])
        raise PlanError(f"there is no builder {name!r} of {kind} on {network.spec}; there is: {names}{hint}")
    return fitting


def _own_model(entries: list[Builder], options: Mapping[str, Any]) -> Model:
    """Return the model that a job has when none is asked for: the first of the presets that a builder is for."""
    keywords = set(options)
    taking = [entry for entry in entries if entry.takes(keywords)] or entries
    own = {name for entry in taking for name in entry.models}
    return find_model(next((name for name in MODELS if name in own), next(iter(MODELS))))


def _read_options(network: Network, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as builders read them; those not given, or switched off, are left out."""
    asked = {keyword: value for keyword, value in given.items() if value is not None and value is not False}
    known, found = all_options() if asked else {}, dict[str, Any]()
    for keyword, value in asked.items():
        if keyword not in known:
            hint = did_you_mean(keyword, [*known, *keywords()]) or f"; there is: {', '.join(sorted(known))}"
            raise PlanError(f"no builder has an option {keyword!r}{hint}")
        option = known[keyword]
        if option.flag:
            if value not in (True, "yes"):
                raise PlanError(f"{option.name} is given or not: it has no value, not {value!r}")
            found[keyword] = True
        else:
            text = value if isinstance(value, str) else option.write(value, network)
            found[keyword] = option.read(text, network)
    return found


def _refusal(job: Job[Any], entries: list[Builder], model_given: bool) -> PlanError:
    """Return the error of a job that none of some builders can do."""
    kind, network = job.collective.kind, job.network
    if not entries:
        others = sorted(_kinds_on(network))
        reasons = dict.fromkeys(entry.on(network) for entry in all_builders() if kind in entry.kinds)
        why = " or ".join(list(reasons)[:2])
        return PlanError(
            f"there is no plan of {kind} on {network.spec} yet; there it is {', '.join(others)}; {kind} {why}"
        )
    under = [entry for entry in entries if entry.serves(job.model)]
    if not under and model_given:
        known = ", ".join(sorted({name for entry in entries for name in entry.models}))
        return PlanError(
            f"there is no plan of {kind} on {network.spec} under model {job.model.name}; there is: {known}"
        )
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
    if not job.collective.sums and not job.model.routing and (reason := lacks_ways(job)):
        return PlanError(reason)
    most = max(entry.most(network, job.against) for entry in taking)
    if job.copies > most:
        why = "; contributions that went two ways would be added twice" if job.collective.sums else ""
        can = (
            "one copy, surviving no fault"
            if most == 1
            else f"from 1 to {most} copies, surviving 0 to {most - 1} faults"
        )
        best = max(taking, key=lambda entry: entry.most(network, job.against))
        asked = f"survive {dead(job.copies - 1, job.against)} needs {job.copies} copies"
        return PlanError(f"{asked}; {kind} on {network.spec} by {best.name} sends {can}{why}")
    return refuse_no_builder(job, taking)


def _taken_elsewhere(job: Job[Any]) -> str:
    """Return who takes the options of a job that nobody takes here, and why it is not for this job."""
    plain = replace(job, options={})
    others = {entry.name: entry.why_not(plain) for entry in all_builders() if entry.takes(job.options)}
    found = [f"{name} {reason}" for name, reason in others.items() if reason]
    return f" ({'; '.join(found[:2])})" if found else ""


def _kinds_on(network: Network) -> set[str]:
    return {kind for entry in all_builders() if not entry.on(network) for kind in entry.kinds}
