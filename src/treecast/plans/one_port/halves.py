"""Plans for one port of half duplex: the steps of a plan for full duplex, each cut into two or three.

Communication model: store-and-forward, one-port, half duplex: in a step a node sends or receives.

In a full-duplex step a node sends once and receives once at most, so the sends make paths and cycles. Along each, every other
send goes in the first part and the others in the second. A cycle of odd length has one left, which goes in a third.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from treecast.collectives import find_kind
from treecast.machine import model
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built
from treecast.plans.one_port import circulant, one_by_one, shifted_trees
from treecast.plans.one_port.models import HALF, ONE_PORT
from treecast.plans.registry import Build, builder, every_port, one_way
from treecast.schedule import Claims, Payloads, Rows, Schedule
from treecast.schedule.recipe import Job


@dataclass(frozen=True)
class _Full:
    """A plan for full duplex: its builder, and after how many more chunks its steps look the same again."""

    build: Build
    period: Callable[[Job[Complete]], int]

    def halved(self, job: Job[Complete]) -> Built:
        """Half duplex: the plan for full duplex, each step cut into parts in which no node both sends and receives."""
        full = replace(job, model=model(ONE_PORT[0]))
        built = self.build(full)
        orbit = job.collective.all_source
        rows = _in_parts(Schedule(job.network, job.collective, full.model, built.rows, job.copies, orbit).plain())
        steps = int(rows.step.max(initial=-1)) + 1
        return Built(rows, Claims(steps, built.claims.transmissions))

    def claims(self, job: Job[Complete]) -> Claims:
        """Return the steps and transmissions: of many messages, as few as show the period, and then as many periods."""
        found = self.build(replace(job, collective=replace(job.collective, messages=1), model=model(ONE_PORT[0])))
        messages, period = job.collective.messages, self.period(job)
        enough = 3 * period + found.claims.steps // job.copies  # from here on all trees are busy
        times = max(0, (messages - enough) // period)
        few = _steps(self, replace(job, collective=replace(job.collective, messages=messages - times * period)))
        if times:
            more = replace(job, collective=replace(job.collective, messages=messages - (times - 1) * period))
            few += times * (_steps(self, more) - few)
        return Claims(few, messages * found.claims.transmissions)


@lru_cache(256)
def _steps_of(full: _Full, network: Complete, kind: str, messages: int, copies: int) -> int:
    from treecast.collectives import Collective

    job = Job(network, Collective(kind, network.nodes, messages), model(HALF[0]), copies)
    return full.halved(job).claims.steps


def _steps(full: _Full, job: Job[Complete]) -> int:
    """Return the steps of a few messages; they do not depend on the root."""
    return _steps_of(full, job.network, job.collective.kind, job.collective.messages, job.copies)


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
    return Rows.of(
        Payloads.of_ranges(used, used + 1),
        step=step,
        steps=np.ones_like(step),
        src=src,
        dst=dst,
        port=port,
        tree=tree,
        payload=payload.reshape(-1),
    )


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


def _always(job: Job[Complete]) -> str:
    """Return no reason why not."""
    return ""


def _halve(name: str, kind: str, build: Build, period: Callable[[Job[Complete]], int], *, several: bool) -> None:
    """Register the half-duplex form of a builder."""
    full = _Full(build, period)
    alone = {"circulant": "all send as many labels on", "shifted-trees": "trees of one shape, each behind the other"}
    builder(
        f"halved-{name}",
        kind,
        on=Complete,
        under=HALF,
        most_copies=every_port if several else one_way,
        fits=shifted_trees.fits if name == "shifted-trees" else _always,
        claims=full.claims,
        what=f"{alone.get(name, 'one send after the other')}, each step cut into two or three",
        backwards=name != "shifted-trees",
        orbit=not find_kind(kind).all_source,
        rank=30,
    )(full.halved)


_halve(
    "circulant",
    "broadcast",
    circulant.broadcast,
    lambda job: max(1, (job.network.nodes - 1).bit_length()),
    several=False,
)
_halve("shifted-trees", "broadcast", shifted_trees.shifted_trees, lambda job: 1, several=True)
_halve("one-by-one", "scatter", one_by_one.scatter, lambda job: 1, several=True)
_halve("one-by-one", "allgather", one_by_one.allgather, lambda job: 1, several=True)
_halve("one-by-one", "alltoall", one_by_one.alltoall, lambda job: 1, several=True)
