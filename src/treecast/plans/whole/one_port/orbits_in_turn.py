"""Allgather and alltoall over one port on networks that look the same from every node: one send of each node a step.

Communication model: store-and-forward, one-port, full duplex, one message of fixed length per arc and step.

A plan for all ports gives node 0's part, and every other node does the same, translated. If node 0's rows go one after the
other, all nodes send over the same port in each step, so each sends once and receives once. So the steps are the sends of a node:
M (N - 1) in an allgather, M times the sum of the distances in an alltoall over shortest paths. Both are the fewest there can be.
Source: treecast's own, after Lemma 7 of Fragopoulou & Akl.
"""

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each
from treecast.lower_bounds import is_least
from treecast.networks import Cayley
from treecast.plans.built import Built, Job
from treecast.plans.choice import run_builder
from treecast.plans.registry import Builder, builder
from treecast.plans.search import best_of
from treecast.plans.whole.any_machine.known import for_all_ports, known_builders
from treecast.plans.whole.one_port.models import ONE_PORT
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


@builder(
    "orbits",
    all_to_all,
    each_to_each,
    on=Cayley,
    under=ONE_PORT,
    fits=fits,
    summary="all nodes send over the same port in a step: the translates of node 0's sends for all ports, one after the other",
)
def orbits_in_turn(job: Job[Cayley]) -> Built:
    """One-port: the sends of node 0's part of a plan for all ports, one after the other, by all nodes at once.

    M (N - 1) steps of an allgather, M Σ distances of an alltoall: the fewest there can be.
    """
    free, known = _known(job)
    tried = (_in_turn(run_builder(free, entry)) for entry in known)
    return best_of(
        tried,
        lambda built: (built.claims.steps,),
        lambda steps: is_least(steps, job.collective, job.network, job.model),
    )


def _in_turn(built: Built) -> Built:
    """Return the rows one after the other, each as long as it was, in the order in which they began."""
    rows = built.rows
    order = np.argsort(rows.step, kind="stable")
    begun = starts(rows.steps[order].astype(np.int64))
    step = np.empty(len(rows), np.int64)
    step[order] = begun[:-1]
    moved = Rows.of(rows.payloads, **rows.columns() | {"step": step})
    return built._replace(rows=moved, claims=Claims(int(begun[-1]), built.claims.transmissions))
