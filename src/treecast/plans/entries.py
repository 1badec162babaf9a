"""The builders of a collective: those that registered for it, and those of another one that run backwards.

Every builder of a broadcast, scatter or allgather makes gathers and reductions, too, by one rule: it runs backwards.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from typing import Any

from treecast.collectives import COLLECTIVES, Kind
from treecast.description import Description
from treecast.discovery import import_all
from treecast.errors import PlanError
from treecast.lower_bounds import bounds, tightest
from treecast.networks import Network
from treecast.networks.kept import kept
from treecast.plans.built import Built, Job
from treecast.plans.registry import Builder, Option, few_arrivals, one_way, registered, until_registered
from treecast.plans.reversal import one_after_the_other, reverse_in_time
from treecast.schedule import Claims, Schedule


@until_registered
def all_builders() -> tuple[Builder, ...]:
    """Return every builder that registered, in the order in which they are tried."""
    import_all("treecast.plans")
    import_all("treecast", "builders")
    found = sorted(
        registered(),
        key=lambda e: (-e.on.special, e.most_copies is not one_way, -len(e.models), e.name, e.build.__module__),
    )
    return _in_order(found)


def _in_order(entries: Iterable[Builder]) -> tuple[Builder, ...]:
    """Return builders in the order in which they are tried, of equals the first.

    It follows from their fields. Those that are there to compare with come last, and before them those that are no model's own
    choice. Of the others closed forms come first: they cost nothing to compare, and may meet the bound. Of these come first
    those of which a node knows its part from its label, so that ``program`` and ``plan`` take the same. Then come builders for
    named kinds of networks, for any network, and for those that conditions choose, which search longest; behind them those
    whose method is bound by more than the job. Of equals come first those for fewer networks, then those that send each chunk
    once, then those for more machines, then names by the alphabet.
    """
    return tuple(
        sorted(
            entries,
            key=lambda e: (e.baseline, not e.models, e.claims is None, e.at is None, e.on.breadth, e.least is not None),
        )
    )


@until_registered
def builders_of(kind: str) -> tuple[Builder, ...]:
    """Return the builders of a collective, those that run backwards included, in the order in which they are tried."""
    every = all_builders()
    return _in_order([*(e for e in every if e.plans(kind)), *(back for e in every for back in _backwards(e, kind))])


def kinds_of(entry: Builder) -> list[str]:
    """Return the names of the collectives that a builder makes, by itself or backwards."""
    return [kind for kind in COLLECTIVES if entry.plans(kind) or _backwards(entry, kind)]


def builders(collective: str, network: Network, asked: Container[str] = ()) -> list[Builder]:
    """Return the builders of a collective on a network, whatever the model, in the order in which they are tried.

    ``asked``: the keywords of options that are given, or names of builders; those that need an option are left out without it.
    """
    found = _builders_on(network, collective)
    return [entry for entry in found if not entry.needs or entry.needs in asked or entry.name in asked]


@until_registered
@kept(32)
def _builders_on(network: Network, kind: str) -> tuple[Builder, ...]:
    return tuple(entry for entry in builders_of(kind) if not entry.on(network))


def fitting(entries: Iterable[Builder], job: Job[Any]) -> list[Builder]:
    """Return the builders that can do a job.

    Those for weaker machines, or for any, are among them where there is no other, and behind the others where they cost little:
    their schedules hold on a freer machine, too, so it never takes more steps.
    """
    able = [(entry, entry.is_for(job)) for entry in entries if not entry.why_not(job)]
    own, others = ([entry for entry, is_own in able if is_own is wanted] for wanted in (True, False))
    if all(entry.baseline for entry in own):
        return [entry for entry, _ in able]
    small = bool(others) and few_arrivals(job)
    return [*own, *(entry for entry in others if (small if entry.cheap is None else entry.cheap(job)))]


@until_registered
def all_options() -> dict[str, Option]:
    """Return the options of all builders, by keyword."""
    return {o.keyword: o for entry in all_builders() for o in entry.options}


def _backwards(entry: Builder, name: str) -> list[Builder]:
    """Return a builder as it is for a kind of collective that follows when it runs backwards; none where none does.

    A builder that plans gathers or reductions itself has no other of them. A sparing schedule of several copies cannot be run
    backwards: its silent sends depend on the sends before them. Messages that differ in length have builders of their own: nobody
    knows at first when to begin.
    """
    kind = COLLECTIVES[name]
    forward = kind.backwards or kind.there_and_back
    if not (forward and entry.plans(forward) and entry.backwards) or kind.lengths or (entry.sparing and not kind.adds):
        return []
    return [_derive(entry, kind, forward)] if kind.there_and_back or not entry.plans(name) else []


def _derive(entry: Builder, kind: Kind, forward: str) -> Builder:
    # 1. The jobs that it runs: there and back.
    how = "backwards" if kind.backwards else "backwards, then forwards"

    def parts(job: Job[Any]) -> list[Job[Any]]:
        there = job.doing(forward)
        back = replace(there, network=job.network.reversed())  # so that its arcs are there when they turn round
        return [back] if kind.backwards else [back, there]

    # 2. What it does for each is what the builder does for all of these.
    def build(job: Job[Any]) -> Built:
        return _run(job, parts(job), entry.build, entry.orbit)

    def fits(job: Job[Any]) -> str:
        if not job.collective.all_source and job.collective.root in job.collective.relays:
            return f"has no {forward} from a relay"
        reasons = [entry.fits(part) for part in parts(job)]
        return next((reason for reason in reasons if reason), "")

    def claims(job: Job[Any]) -> Claims:
        each = [entry.claims(part) if entry.claims else Claims(0, 0) for part in parts(job)]
        return Claims(sum(some.steps for some in each), sum(some.transmissions for some in each))

    def least(job: Job[Any]) -> tuple[int, int]:
        return least_of(parts(job))

    def at(job: Job[Any], node: int) -> Built:
        return _run(job, parts(job), lambda part: (entry.at or _no_rule)(part, node), entry.orbit)

    def facts(job: Job[Any], schedule: Schedule, depth: int) -> Description:
        return entry.facts(parts(job)[0], schedule, depth)

    # 3. A builder with other names, and these functions.
    return replace(
        entry,
        of=(kind.name,),
        summary=f"{entry.summary} ({forward}, {how})",
        build=build,
        most_copies=one_way if kind.adds else entry.most_copies,
        weaker={} if kind.adds else entry.weaker,
        sparing=False,  # of one copy no send is silent
        by_root=entry.by_root and not kind.adds,
        fits=fits,
        claims=claims if entry.claims else None,
        at=at if entry.at else None,
        facts=facts,
        least=least if kind.there_and_back else None,
        alike=True,  # backwards a send keeps its ports at the end of its delay
    )


def least_of(parts: Iterable[Job[Any]]) -> tuple[int, int]:
    """Return the least steps and transmissions of some jobs that come one after the other; 0 where no bounds tell."""
    steps = sends = 0
    for job in parts:
        if job.model.routing:  # distance counts, too
            return 0, 0
        try:
            known = bounds(job.collective, job.network, job.copies, job.model, against=job.against)
        except PlanError:
            return 0, 0
        steps, sends = (more + tightest(known, of).value for more, of in ((steps, "steps"), (sends, "transmissions")))
    return steps, sends


def _no_rule(job: Job[Any], node: int) -> Built:
    raise PlanError(f"no rule gives the rows of node {node}")


def _run(job: Job[Any], parts: list[Job[Any]], build: Callable[[Job[Any]], Built], orbit: bool) -> Built:
    """Return the first part run backwards, and behind it the second, if there is one; of orbits, node 0's part."""
    first = build(parts[0])
    backwards = reverse_in_time(job.network, job.collective, first, job.model.latency)
    if len(parts) == 1:
        return backwards
    second = first if parts[1].network is parts[0].network else build(parts[1])
    done = job.collective.from_node_zero() if orbit else job.collective
    return one_after_the_other(done, backwards, second)
