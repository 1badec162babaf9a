"""Gathers and reductions by one rule: every builder of a broadcast, scatter or allgather has them, run backwards.

Communication model: that of the builder that is run backwards.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from treecast.collectives import COLLECTIVES, Kind
from treecast.description import Description
from treecast.errors import PlanError
from treecast.plans.built import Built, Job
from treecast.plans.registry import Builder, one_way
from treecast.plans.reversal import one_after_the_other, reverse_in_time
from treecast.schedule import Claims, Schedule


def derived(entries: Iterable[Builder]) -> list[Builder]:
    """Return a builder of every collective that follows from one of some builders.

    A builder that plans gathers or reductions itself has no other of them. A sparing schedule cannot be run backwards: its silent
    sends depend on the sends before them. Messages that differ in length have builders of their own: nobody knows at first when
    to begin.
    """
    itself = {(entry.name, kind) for entry in entries for kind in entry.kinds}
    return [
        _derive(entry, kind, forward)
        for entry in entries
        for kind in COLLECTIVES.values()
        if (forward := kind.backwards or kind.there_and_back)
        and entry.plans(forward)
        and not (kind.lengths or entry.sparing)
        and entry.backwards
        and (kind.there_and_back or (entry.name, kind.name) not in itself)
    ]


def _derive(entry: Builder, kind: Kind, forward: str) -> Builder:
    how = "backwards" if kind.backwards else "backwards, then forwards"

    def parts(job: Job[Any]) -> list[Job[Any]]:
        there = job.doing(forward)
        back = replace(there, network=job.network.reversed())  # so that its arcs are there when they turn round
        return [back] if kind.backwards else [back, there]

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

    def at(job: Job[Any], node: int) -> Built:
        return _run(job, parts(job), lambda part: (entry.at or _no_rule)(part, node), entry.orbit)

    def facts(job: Job[Any], schedule: Schedule, depth: int) -> Description:
        return entry.facts(parts(job)[0], schedule, depth)

    return replace(
        entry,
        of=(kind.name,),
        summary=f"{entry.summary} ({forward}, {how})",
        build=build,
        most_copies=one_way if kind.adds else entry.most_copies,
        weaker={} if kind.adds else entry.weaker,
        by_root=entry.by_root and not kind.adds,
        fits=fits,
        claims=claims if entry.claims else None,
        at=at if entry.at else None,
        facts=facts,
        halves=bool(kind.there_and_back),
        alike=True,  # backwards a send keeps its ports at the end of its delay
    )


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
