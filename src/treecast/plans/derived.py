"""Gathers and reductions by one rule: every builder of a broadcast, scatter or allgather has them, run backwards.

Communication model: that of the builder that is run backwards.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from treecast.errors import PlanError
from treecast.plans.built import Built
from treecast.plans.registry import Builder, one_way
from treecast.plans.reversal import one_after_the_other, reversed_in_time
from treecast.schedule import Claims
from treecast.schedule.recipe import Job

BACKWARDS = {"gather": "scatter", "reduce": "broadcast", "reduce-scatter": "allgather"}
"""Of which collective each of these is the reverse in time."""
THERE_AND_BACK = {"reduce-broadcast": "broadcast", "allreduce": "allgather"}
"""Which collective, run backwards and then forwards, each of these is."""
_SUMS = {"reduce", "reduce-scatter", *THERE_AND_BACK}
_WHAT = {
    "gather": "{} (scatter backwards)",
    "reduce": "{} (broadcast backwards)",
    "reduce-scatter": "{} (allgather backwards)",
    "reduce-broadcast": "{} (reduce, then broadcast)",
    "allreduce": "{} (reduce-scatter, then allgather)",
}


def derived(entries: Iterable[Builder]) -> list[Builder]:
    """Return a builder of every collective that follows from one of some builders.

    A sparing schedule cannot be run backwards: what is silent in it depends on what went before.
    """
    found: list[Builder] = []
    for entry in entries:
        for kind, forward in (BACKWARDS | THERE_AND_BACK).items():
            if forward in entry.kinds and not entry.sparing and entry.orbit:
                found.append(_derive(entry, kind, forward))
    return found


def _derive(entry: Builder, kind: str, forward: str) -> Builder:
    run = _there_and_back if kind in THERE_AND_BACK else _backwards

    def build(job: Job[Any]) -> Built:
        return run(job, entry.build(job.doing(forward)))

    def fits(job: Job[Any]) -> str:
        return entry.fits(job.doing(forward))

    def claims(job: Job[Any]) -> Claims:
        once = entry.claims(job.doing(forward)) if entry.claims else Claims(0, 0)
        times = 2 if kind in THERE_AND_BACK else 1
        return Claims(times * once.steps, times * once.transmissions)

    def at(job: Job[Any], node: int) -> Built:
        forwards = (entry.at or _no_rule)(job.doing(forward), node)
        return run(job, forwards)

    return replace(
        entry,
        kinds=frozenset({kind}),
        what=_WHAT[kind].format(entry.what),
        build=build,
        most_copies=one_way if kind in _SUMS else entry.most_copies,
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
