"""Gathers and reductions by one rule: every builder of a broadcast, scatter or allgather has them, run backwards.

Communication model: that of the builder that is run backwards.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from treecast.collectives import COLLECTIVES, Kind
from treecast.errors import PlanError
from treecast.plans.built import Built
from treecast.plans.registry import Builder, one_way
from treecast.plans.reversal import one_after_the_other, reversed_in_time
from treecast.schedule import Claims
from treecast.schedule.recipe import Job


def derived(entries: Iterable[Builder]) -> list[Builder]:
    """Return a builder of every collective that follows from one of some builders.

    A sparing schedule cannot be run backwards: what is silent in it depends on what went before. Messages that differ in
    length have builders of their own: nobody knows at first when to begin.
    """
    return [
        _derive(entry, kind, forward)
        for entry in entries
        for kind in COLLECTIVES.values()
        if (forward := kind.backwards or kind.there_and_back) in entry.kinds
        and not (kind.lengths or entry.sparing)
        and entry.orbit
    ]


def _derive(entry: Builder, kind: Kind, forward: str) -> Builder:
    run = _backwards if kind.backwards else _there_and_back
    how = "backwards" if kind.backwards else "backwards, then forwards"

    def build(job: Job[Any]) -> Built:
        return run(job, entry.build(job.doing(forward)))

    def fits(job: Job[Any]) -> str:
        return entry.fits(job.doing(forward))

    def claims(job: Job[Any]) -> Claims:
        once = entry.claims(job.doing(forward)) if entry.claims else Claims(0, 0)
        times = 1 if kind.backwards else 2
        return Claims(times * once.steps, times * once.transmissions)

    def at(job: Job[Any], node: int) -> Built:
        forwards = (entry.at or _no_rule)(job.doing(forward), node)
        return run(job, forwards)

    return replace(
        entry,
        kinds=frozenset({kind.name}),
        what=f"{entry.what} ({forward}, {how})",
        build=build,
        most_copies=one_way if kind.adds else entry.most_copies,
        fits=fits,
        claims=claims if entry.claims else None,
        at=at if entry.at else None,
    )


def _no_rule(job: Job[Any], node: int) -> Built:
    raise PlanError(f"no rule gives the rows of node {node}")


def _backwards(job: Job[Any], built: Built) -> Built:
    return reversed_in_time(job.network, job.collective, built)


def _there_and_back(job: Job[Any], built: Built) -> Built:
    return one_after_the_other(job.collective, _backwards(job, built), built)
