"""Plans for one port of half duplex: the steps of a plan for full duplex, each cut into two or three.

Communication model: store-and-forward, one-port, half duplex: in a step a node sends or receives.

In a full-duplex step a node sends once and receives once at most, so the sends make paths and cycles. Along each, every other
send goes in the first part and the others in the second. A cycle of odd length has one left, which goes in a third.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from treecast.collectives import Collective, find_kind
from treecast.models import model
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built
from treecast.plans.one_port import circulant, one_by_one, shifted_trees
from treecast.plans.one_port.models import HALF, ONE_PORT
from treecast.plans.one_port.shape import shape
from treecast.plans.registry import Build, builder, every_port, one_way
from treecast.schedule import Claims, Payloads, Rows, Schedule
from treecast.schedule.recipe import Job

_MOST_SENDS = 2**22  # of the plans whose steps are counted, where all nodes have data of their own

Number = Callable[[Job[Complete]], int]


@dataclass(frozen=True)
class _Full:
    """A plan for full duplex.

    Its builder and what that claims; from how many messages on its steps repeat, and after how many more they do.
    """

    build: Build
    full_claims: Callable[[Job[Any]], Claims]
    enough: Number
    period: Number

    def halved(self, job: Job[Complete]) -> Built:
        """Half duplex: the plan for full duplex, each step cut into parts in which no node both sends and receives."""
        return Built(self.rows(job), self.claims(job))

    def rows(self, job: Job[Complete]) -> Rows:
        """Return the rows of a plan."""
        full = replace(job, model=model(ONE_PORT[0]))
        orbit = job.collective.all_source
        found = Schedule(job.network, job.collective, full.model, self.build(full).rows, job.copies, orbit)
        return _in_parts(found.plain())

    def claims(self, job: Job[Complete]) -> Claims:
        """Return the steps and transmissions: the steps of few messages counted, and those of as many periods as there are."""
        messages, period = job.collective.messages, self.period(job)
        times = max(0, (messages - self.enough(job)) // period)
        steps = self._steps(job, messages - times * period)
        if times:
            steps += times * (self._steps(job, messages - (times - 1) * period) - steps)
        return Claims(steps, self.full_claims(replace(job, model=model(ONE_PORT[0]))).transmissions)

    def _steps(self, job: Job[Complete], messages: int) -> int:
        """Return the steps of a few messages. They do not depend on the root."""
        return _count_steps(self, job.network, job.collective.kind, messages, job.copies)


@lru_cache(256)
def _count_steps(full: _Full, network: Complete, kind: str, messages: int, copies: int) -> int:
    job = Job(network, Collective(kind, network.nodes, messages), model(HALF[0]), copies)
    return int(full.rows(job).step.max(initial=-1)) + 1


def _in_parts(schedule: Schedule) -> Rows:
    """Return the sends of a schedule, one row each, with every step cut into parts."""
    nodes, begun, columns = schedule.network.nodes, 0, list[tuple[Ints, ...]]()
    for sends in schedule.expand():
        part = parts_of_step(sends.src, sends.dst, nodes)
        columns.append((part + begun, sends.src, sends.dst, sends.port, sends.tree, sends.chunk))
        begun += int(part.max(initial=-1)) + 1
    columns = columns or [tuple(np.zeros((6, 0), np.int64))]
    step, src, dst, port, tree, chunk = (np.concatenate(column) for column in zip(*columns, strict=True))
    used, payload = np.unique(chunk, return_inverse=True)
    table = Payloads.of_ranges(used, used + 1)
    return Rows.of(table, step=step, src=src, dst=dst, port=port, tree=tree, payload=payload.reshape(-1))


def parts_of_step(source: Ints, target: Ints, nodes: int) -> Ints:
    """Return in which part of a step each send goes, 0, 1 or 2, such that no node sends and receives in one part.

    Parameters
    ----------
    source, target
        The sends of one step: int64 (sends,). Each node is a source once at most, and a target once at most.
    nodes
        The number of nodes.

    Examples
    --------
    >>> parts_of_step(np.array([0, 1, 2]), np.array([1, 2, 0]), 3).tolist()
    [0, 1, 2]
    >>> parts_of_step(np.array([3, 0, 1]), np.array([1, 2, 0]), 4).tolist()
    [0, 0, 1]
    """
    from treecast.kernels.halves import parts

    found, by_source, heard = np.empty(len(source), np.int64), np.full(nodes, -1), np.zeros(nodes, np.bool_)
    by_source[source] = np.arange(len(source))
    heard[target] = True
    parts(source, target, by_source, heard, found)
    return found


def _fits_alone(job: Job[Complete]) -> str:
    """Return no reason why not."""
    return ""


def _fits_together(job: Job[Complete]) -> str:
    """Return why a plan in which all nodes have data of their own is none for half duplex, or an empty text."""
    if job.copies == 1:
        return "is for several copies: in-pairs sends one"
    sends = 3 * 2 * job.copies * job.network.nodes * (job.network.nodes - 1)
    return f"counts {sends:,} sends, and {_MOST_SENDS:,} at most" if sends > _MOST_SENDS else ""


def _halve(
    name: str,
    kind: str,
    build: Build,
    claims: Callable[[Job[Any]], Claims],
    *,
    enough: Number = lambda job: 3,
    period: Number = lambda job: 1,
    fits: Callable[[Job[Any]], str] = _fits_alone,
    several: bool = True,
) -> None:
    """Register the half-duplex form of a builder."""
    full = _Full(build, claims, enough, period)
    alone = {"circulant": "all send as many labels on", "shifted-trees": "trees of one shape, each behind the other"}
    builder(
        f"halved-{name}",
        kind,
        on=Complete,
        under=HALF,
        most_copies=every_port if several else one_way,
        fits=fits,
        claims=full.claims,
        what=f"{alone.get(name, 'one send after the other')}, each step cut into two or three",
        backwards=not several,
        orbit=not find_kind(kind).all_source,
        rank=30,
    )(full.halved)


def _skips(job: Job[Complete]) -> int:
    return max(1, (job.network.nodes - 1).bit_length())


def _until_busy(job: Job[Complete]) -> int:
    """Return from how many messages on all shifted trees are busy at once."""
    found = shape(job.network.nodes - 1, job.copies)
    return 3 + (found.length // job.copies if found else 0)


_halve(
    "circulant",
    "broadcast",
    circulant.broadcast,
    circulant.claims,
    enough=lambda job: 3 * _skips(job),
    period=_skips,
    several=False,
)
_halve(
    "shifted-trees",
    "broadcast",
    shifted_trees.shifted_trees,
    shifted_trees.claims,
    enough=_until_busy,
    fits=shifted_trees.fits,
)
_halve("one-by-one", "allgather", one_by_one.allgather, one_by_one.claims_of_allgather, fits=_fits_together)
_halve("one-by-one", "alltoall", one_by_one.alltoall, one_by_one.claims_of_alltoall, fits=_fits_together)
