"""Allgather and alltoall over counted ports on networks that look the same from every node: all do what node 0 does.

Communication model: store-and-forward, full duplex, one message of fixed length per arc and step; one port, several, or all and
chunks that arrive late.

A plan for all ports gives node 0's part, and every other node does the same, translated. If k rows of node 0 go at once, over
different ports, each node sends k times in a step and receives k times. So over one port the steps are the sends of a node:
M (N - 1) in an allgather, M times the sum of the distances in an alltoall over shortest paths. Both are the fewest there can be.
Source: treecast's own, after Lemma 7 of Fragopoulou & Akl.
"""

from collections.abc import Iterator

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each
from treecast.lower_bounds import is_least
from treecast.networks import Cayley
from treecast.plans.built import Built, Job
from treecast.plans.choice import run_builder
from treecast.plans.registry import Builder, builder
from treecast.plans.request import schedule_of
from treecast.plans.search import best_of
from treecast.plans.times.timetable import list_orbits
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.any_machine.known import for_all_ports, known_builders
from treecast.plans.whole.one_port.models import ONE_PORT, at_once
from treecast.ragged import starts
from treecast.schedule import Claims, Rows


def _known(job: Job[Cayley]) -> tuple[Job[Cayley], list[Builder]]:
    """Return the job for all ports, and the builders that make orbits of it."""
    free = for_all_ports(job)
    return free, [entry for entry in known_builders(free) if entry.orbit]


def fits(job: Job[Cayley]) -> str:
    """Return why no such plan does a job, or an empty text."""
    if job.copies > 1:
        return "sends one copy"
    return (
        "" if _known(job)[1] else "orders a plan for all ports of which each node has the same part, and there is none"
    )


def _fits(job: Job[Cayley]) -> str:
    return at_once(job) or fits(job)


@builder(
    "orbits",
    all_to_all,
    each_to_each,
    on=Cayley,
    under=ONE_PORT,
    any_model=True,
    alike=True,
    fits=_fits,
    summary="the translates of node 0's sends for all ports, in each step as many as nodes have ports",
)
def orbits_in_turn(job: Job[Cayley]) -> Built:
    """Of full duplex: the sends of node 0's part of a plan for all ports, as many at once as there are ports, by all nodes.

    Over one port M (N - 1) steps of an allgather, M Σ distances of an alltoall: the fewest there can be.
    """
    free, known = _known(job)
    tried = (each for entry in known for each in _retimed(job, free, entry))
    return best_of(
        tried,
        lambda built: (built.claims.steps,),
        lambda steps: is_least(steps, job.collective, job.network, job.model),
    )


def _retimed(job: Job[Cayley], free: Job[Cayley], entry: Builder) -> Iterator[Built]:
    """Yield node 0's part of a plan for all ports, timed anew."""
    built = run_builder(free, entry)
    if job.model.room == job.model.latency == 1:
        yield _in_turn(built)
        return
    ways = Ways.of_schedule(schedule_of(free, entry, built), of_one=True)
    for key in (-ways.below, -ways.heights):
        timed = list_orbits(ways, [key], job.model)
        yield timed.built()._replace(claims=Claims(timed.steps, built.claims.transmissions))


def _in_turn(built: Built) -> Built:
    """Return the rows one after the other, each as long as it was, in the order in which they began."""
    rows = built.rows
    order = np.argsort(rows.step, kind="stable")
    begun = starts(rows.steps[order].astype(np.int64))
    step = np.empty(len(rows), np.int64)
    step[order] = begun[:-1]
    moved = Rows.of(rows.payloads, **rows.columns() | {"step": step})
    return built._replace(rows=moved, claims=Claims(int(begun[-1]), built.claims.transmissions))
