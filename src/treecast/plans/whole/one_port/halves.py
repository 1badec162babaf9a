"""Plans for one port of half duplex: the ways of a plan for full duplex, timed anew.

Communication model: store-and-forward, one-port, half duplex: in a step a node sends or receives.

In a full-duplex step a node sends once and receives once at most, so the sends make paths and cycles. Along each, every other
send goes in a first part and the others in a second. A cycle of odd length has one left, which goes in a third. By steps, and in
a step by parts, sends go as early as both their ports are free: in two or three steps for one, or fewer where parts leave gaps.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treecast.collectives.traits import Trait, all_to_all, each_to_each, one_to_all
from treecast.models import model
from treecast.networks import Cayley, Network
from treecast.networks.arcs import arcs_of
from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import Build, builder, every_port, one_way
from treecast.plans.times.timetable import listed, there_and_back
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.any_machine.known import least_steps
from treecast.plans.whole.one_port import circulant, dimensions_in_turn, one_by_one, orbits_in_turn, shifted_trees
from treecast.plans.whole.one_port.models import HALF, ONE_PORT, depth
from treecast.schedule import Claims, Payloads, Rows, Schedule

_MOST_SENDS = 2**22  # that are timed one by one
_MOST_ARCS = 2**20  # of networks on which they are
_FEW_NODES, _FEW_MESSAGES = 64, 60  # fewer nodes and more messages: periods of hypercubes take fewer steps


def _halved(job: Job[Any], build: Build, period: int) -> Built:
    """Half duplex: the ways of a plan for full duplex, timed anew; of many sends, each step of a period cut in parts."""
    full = replace(job, model=model(ONE_PORT[0]))
    orbit = job.collective.all_source
    known = Schedule(job.network, job.collective, full.model, build(full).rows, job.copies, orbit)
    if known.transmissions > _MOST_SENDS:
        return _cut(known.network, known.rows, period)
    if job.network.arcs > _MOST_ARCS:
        return _cut(known.network, _sends(known.plain()), known.steps)
    ways, arcs = Ways.of_schedule(known, most=_MOST_SENDS), arcs_of(job.network)
    step, part = listed(ways, full.model, [np.arange(len(ways))]).step, np.zeros(len(ways), np.int64)
    order = np.argsort(step, kind="stable")
    for now in np.split(order, np.flatnonzero(np.diff(step[order])) + 1):
        source, target = (each[ways.arc[now]].astype(np.int64) for each in (arcs.tail, arcs.head))
        part[now] = parts_of_step(source, target)
    return there_and_back(listed(ways, job.model, [step, part]), least=least_steps(job)).built()


def _sends(schedule: Schedule) -> Rows:
    """Return the sends of a schedule, as rows of one chunk each."""
    every = [
        np.stack([np.full_like(sends.chunk, sends.step), sends.src, sends.dst, sends.tree, sends.chunk])
        for sends in schedule.expand()
    ]
    step, src, dst, tree, chunk = np.concatenate([np.zeros((5, 0), np.int64), *every], axis=1)
    used, payload = np.unique(chunk, return_inverse=True)
    table, more = Payloads.of_ranges(used, used + 1), {"tree": tree, "payload": payload.reshape(-1)}
    return rows_between(schedule.network, table, step, src, dst, **more)


def _cut(network: Network, rows: Rows, period: int) -> Built:
    """Return some rows with each step of a period cut into parts, the same ones in all periods.

    All sends in steps that differ by periods go to different nodes, and from different nodes, or over the same arc.
    """
    turn, index = np.divmod(rows.step.astype(np.int64), period)
    part, begins, long = np.zeros_like(turn), np.zeros(period, np.int64), 0
    for now in range(period):
        some = np.flatnonzero(index == now)
        arc, which = np.unique(rows.src[some].astype(np.int64) * network.nodes + rows.dst[some], return_inverse=True)
        found = parts_of_step(*np.divmod(arc, network.nodes))
        part[some], begins[now] = found[which.reshape(-1)], long
        long += int(found.max(initial=-1)) + 1
    step = turn * long + begins[index] + part
    step -= step.min(initial=0)
    steps = (rows.steps.astype(np.int64) - 1) // period * long + 1
    last = int((step + steps).max(initial=0))
    cut = rows.columns() | {"step": step, "steps": steps}
    return Built(Rows.of(rows.payloads, **cut), Claims(last, int(rows.chunks_sent.sum())))


def parts_of_step(source: Ints, target: Ints) -> Ints:
    """Return in which part of a step each send goes, 0, 1 or 2, such that no node sends and receives in one part.

    ``source`` and ``target``, int64 (sends,), are those of one step: each node is either once at most.

    >>> parts_of_step(np.array([0, 1, 2]), np.array([1, 2, 0])).tolist()
    [0, 1, 2]
    >>> parts_of_step(np.array([3, 0, 1]), np.array([1, 2, 0])).tolist()
    [0, 0, 1]
    """
    place, heard = {u: at for at, u in enumerate(source.tolist())}, set(target.tolist())
    follows, found = [place.get(v, -1) for v in target.tolist()], [-1] * len(source)
    # paths first: those that begin where nothing arrives
    for first in (*(at for u, at in place.items() if u not in heard), *range(len(found))):
        at, last, part = first, first, 0
        while at >= 0 and found[at] < 0:
            found[at], part, last, at = part, 1 - part, at, follows[at]
        if at == first != last and found[last] == 0:  # the last of an odd cycle
            found[last] = 2
    return np.array(found, np.int64)


def _fits_together(job: Job[Complete]) -> str:
    """Return why a plan in which all nodes have data of their own is none for half duplex, or an empty text."""
    if job.copies == 1:
        return "is for several copies: a tournament sends one"
    sends = 2 * job.collective.messages * job.copies * job.network.nodes**2
    return _too_many(sends)


def _too_many(sends: int) -> str:
    return f"times {sends:,} sends, and {_MOST_SENDS:,} at most" if sends > _MOST_SENDS else ""


def _fits_in_turn(job: Job[Cayley]) -> str:
    """Return why an alltoall of translates is none for half duplex, or an empty text."""
    if reason := orbits_in_turn.fits(job):
        return reason
    return _too_many(job.collective.messages * job.network.nodes**2 * max(1, job.network.diameter // 2))


def _halve(name: str, traits: tuple[Trait, ...], build: Build, period: Callable[[Job[Any]], int], **more: Any) -> None:
    """Register the half-duplex form of a builder, whose steps repeat by a period; ``more``: other fields of ``Builder``."""
    alone = {
        "circulant": "all send as many labels on",
        "dimensions-in-turn": "all exchange along one dimension after the other",
        "orbits": "all send over the same port",
        "disjoint-trees": "trees of one shape, each behind the other",
    }

    def halved(job: Job[Any]) -> Built:
        return _halved(job, build, period(job))

    halved.__doc__ = _halved.__doc__
    builder(
        name,
        *traits,
        under=HALF,
        summary=f"{alone.get(name, 'one send after the other')}, each step cut into two or three, or fewer",
        orbit=False,
        **dict[str, Any](on=Complete, most_copies=every_port, backwards=False) | more,
    )(halved)


def _copies(job: Job[Any]) -> int:
    return job.copies


def _periods_are_shorter(job: Job[Any]) -> str:
    """Return that ``periods`` makes better plans, or an empty text: nodes are few, so that the root need not wait so often."""
    if job.network.nodes < _FEW_NODES and job.copies == 1 and job.collective.messages > _FEW_MESSAGES:
        return f"is for {_FEW_NODES} nodes and more, or up to {_FEW_MESSAGES} messages: periods take fewer steps"
    return ""


_halve("circulant", (one_to_all,), circulant.broadcast, depth, most_copies=one_way, backwards=True)
_halve(
    "dimensions-in-turn",
    (one_to_all,),
    dimensions_in_turn.dimensions_in_turn,
    depth,
    on=dimensions_in_turn.no_cube,
    most_copies=dimensions_in_turn.dimensions,
    fits=_periods_are_shorter,
    backwards=True,
)
_halve("disjoint-trees", (one_to_all,), shifted_trees.shifted_trees, _copies, fits=shifted_trees.fits)
_halve("direct", (all_to_all, each_to_each), one_by_one.together, _copies, fits=_fits_together)
_halve(
    "orbits",
    (each_to_each,),
    orbits_in_turn.orbits_in_turn,
    _copies,
    on=Cayley,
    most_copies=one_way,
    fits=_fits_in_turn,
)
