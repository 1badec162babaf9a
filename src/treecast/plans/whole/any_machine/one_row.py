"""Scatters and gathers of messages of different lengths, on any machine: an alltoallv in which one node alone sends, or hears.

Communication model: any in which nodes keep the chunks that they relay, and messages have no routes.
The matrix of demands has one row, or one column, that is not empty. Its chunks are numbered alike, so the rows are the same.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from treecast.collectives import Lengths
from treecast.networks import Network
from treecast.plans.built import Built, Job
from treecast.plans.lengths import lengths_of
from treecast.plans.registry import any_machine, builders, every_port, fitting
from treecast.plans.whole.any_machine.known import no_ways

_MOST_NODES = 2**10  # of which all pairs have a place in the matrix


def _why_not(job: Job[Any]) -> str:
    nodes = job.network.nodes
    if nodes > _MOST_NODES:
        return f"looks at each pair of {nodes:,} nodes, {_MOST_NODES:,} at most"
    if job.copies == 1:
        return ""
    return no_ways(_as_alltoallv(job))


def _as_alltoallv(job: Job[Network]) -> Job[Network]:
    """Return the alltoallv in which the messages of a job alone have flits."""
    collective, nodes = job.collective, job.network.nodes
    lengths = lengths_of(collective)
    along, across = (1, nodes) if collective.direction == "to" else (nodes, 1)
    block = collective.root * along + np.arange(nodes) * across
    flits = np.zeros(nodes * nodes, np.int64)
    flits[block] = lengths.flits
    first = block[lengths.sequence]
    sequence = np.concatenate([first, np.setdiff1d(np.arange(nodes * nodes), first)])
    whole = replace(collective, kind="alltoallv", root=0, lengths=Lengths(flits, sequence))
    return replace(job, collective=whole, likeness=None)


@any_machine(
    "one-row",
    "scatterv",
    "gatherv",
    most_copies=every_port,
    by_root=True,
    fits=_why_not,
    summary="as an alltoallv in which the root alone sends, or receives",
)
def one_row(job: Job[Network]) -> Built:
    """Any machine: the schedule of an alltoallv in which the messages of the root alone are not empty.

    It is not proved how near the bound this is: each schedule shows it.
    """
    from treecast.plans.choice import run_best

    whole = _as_alltoallv(job)
    return run_best(whole, fitting(builders(whole.collective.kind, whole.network), whole))[1]
