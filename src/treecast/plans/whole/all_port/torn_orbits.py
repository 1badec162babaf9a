"""Orbits on a network that lacks few arcs of one with a symmetry: that of the whole network, and ways for what is cut off.

Communication model: store-and-forward, all-port, full duplex. The orbit is sent as if nothing were gone, as far as it gets. Then
what is lost goes shortest ways of the rest, chosen so that no arc carries much more than others. A chunk for one rank starts at
its source; or, where a single arc ever left this, at the node behind, which has it by then. One for all ranks starts at all nodes
that have it, and goes down trees to those that have not.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.flows import away
from treecast.plans.built import Built, Job, joined
from treecast.plans.search import best_of
from treecast.plans.times.timetable import listed
from treecast.plans.ways.even_trees import ways_over
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.priced_paths import WeightedPairs, orders
from treecast.ragged import read_only
from treecast.schedule import Claims, Payloads, Schedule
from treecast.schedule.torn import Torn
from treecast.takes import takes

_TURNS = 3
_SHARES = (1, 2, 4)  # of what the nodes at which most begins or ends ask of their arcs


class _Lost(NamedTuple):
    """What is lost: runs of chunks, from where they start now, and where they are to go. int64 (runs,) each.

    Of those for all ranks both are their source.
    """

    first: Ints
    size: Ints
    start: Ints
    goal: Ints


def torn_orbit(job: Job[Network], orbit: Built) -> Built:
    """Return the plan of the whole network as it is on the job's, with ways for what is lost behind it."""
    network = job.network
    schedule = Schedule(network, job.collective, job.model, orbit.rows, orbit=True)
    lost, steps = _lost(schedule), schedule.steps
    if schedule.torn is None or not len(lost.first):
        return orbit._replace(claims=Claims(steps, schedule.transmissions))
    wanted, personal = takes(job.model, network), job.collective.personal
    ways = _ways(network, lost) if personal else _forest(schedule.torn, lost)
    keys = (keys for seed in range(2) for keys in (orders(ways, wanted, seed) if personal else _down(ways, seed)))
    timed = best_of(
        (listed(ways, job.model, each) for each in keys),
        lambda timed: timed.cost,
        int(ways.loads(wanted).max()),
    )
    whole = replace(ways, network=schedule.whole, arc=schedule.torn.places[ways.arc])
    rows = timed._replace(ways=whole).built().rows
    claims = Claims(steps + timed.steps, schedule.transmissions + timed.transmissions)
    return Built(joined([orbit.rows, rows], [0, steps]), claims, alone=len(rows))


def _lost(schedule: Schedule) -> _Lost:
    """Return what does not reach its goal."""
    network, collective, torn = schedule.network, schedule.collective, schedule.torn
    first, size = (np.empty(0, np.int64),) * 2 if torn is None else torn.lost
    source, arcs = collective.source_of(first), arcs_of(network)
    if not collective.personal:
        return _Lost(first, size, source, source)
    # of two cables that a node had, one may be left: then its chunks that were to take the other have not gone
    alone = np.diff(arcs_of(schedule.whole).first)[source] == 1
    start = np.where(alone, arcs.head[arcs.first[source]], source)
    return _Lost(first, size, start, collective.destination_of(first))


def _ways(network: Network, lost: _Lost) -> Ways:
    """Return ways of the rest for what is lost: from their starts, or backwards where their goals are fewer."""
    starting, ending = (np.bincount(end, minlength=network.nodes) for end in (lost.start, lost.goal))
    back, parts = ending[lost.goal] > starting[lost.start], list[Ways]()
    for some, where, (start, goal) in (
        (~back, network, (lost.start, lost.goal)),
        (back, network.reversed(), (lost.goal, lost.start)),
    ):
        if not some.any():
            continue
        first, arc = _even(where, start[some], goal[some], lost.size[some])
        if some is back:
            way = np.repeat(np.arange(len(first) - 1), np.diff(first))
            arc = arcs_of(network).turned[1][arc[first[way] + first[way + 1] - 1 - np.arange(len(arc))]]
        parts.append(Ways.of_paths(network, first, arc, chunk=lost.first[some], size=lost.size[some]))
    return Ways.joined(parts)


def _down(ways: Ways, seed: int) -> list[list[Ints]]:
    """Return the orders of hops down trees: those with the longest way, or the most sends, below them first."""
    chance = np.random.default_rng(seed).permutation(len(ways))
    return [[-ways.heights, chance], [-ways.below, chance]]


def _forest(torn: Torn, lost: _Lost) -> Ways:
    """Return ways of runs of chunks for all ranks: for each, trees of shortest ways from who has it to who lacks it."""
    from treecast.plans.kernels.hanging import hang

    network, order, sent = torn.network, np.argsort(lost.first), torn.sent(torn.touched)
    arcs, (first, size, source, _) = arcs_of(network), (column[order] for column in lost)
    has = np.zeros((len(first), network.nodes), np.bool_)
    has[np.arange(len(first)), source] = True
    has[np.searchsorted(first, sent.payloads.first[sent.payload]), sent.dst] = True
    up, every = np.full(has.shape, -1, np.int32), np.arange(len(arcs.tail))
    columns, load = (read_only(arcs.into, np.int64), arcs.entering, arcs.tail, every), np.zeros(len(every), np.int64)
    for held, own in zip(has, up, strict=True):
        far, lacks = away(arcs, np.flatnonzero(held)).astype(np.int64), ~held
        if network.relays is not None:
            lacks &= ~network.relays
        nearest = np.argsort(far, kind="stable")
        hang(nearest[np.count_nonzero(far[nearest] < 1) - 1 :], far, *columns, 0, load, lacks, own)
    ways = ways_over(network, [0] * len(first), up)
    return replace(ways, payloads=Payloads.of_ranges(first, first + size), tree=np.full_like(ways.tree, -1))


def _even(network: Network, start: Ints, goal: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Return shortest ways, chosen by price: where each begins, and the arcs of all, one way behind the other."""
    arcs, wanted = arcs_of(network), takes(model("all-port"), network)
    ends = (start, np.diff(arcs.first)), (goal, np.diff(arcs.into))
    needed = max(int((-(-np.bincount(end, size, network.nodes) // np.maximum(many, 1))).max()) for end, many in ends)
    roots, of = np.unique(start, return_inverse=True)
    far = network.distance(roots[:, None], np.arange(network.nodes)).astype(np.int16)
    pairs = WeightedPairs(network, wanted, far, of.reshape(-1), goal, size)

    def tried() -> Iterator[tuple[Ints, Ints]]:
        for share in _SHARES:
            yield pairs.routed(share * needed, 0, _TURNS)

    def load(routed: tuple[Ints, Ints]) -> tuple[int]:
        return (int(np.bincount(routed[1], np.repeat(size, np.diff(routed[0]))).max()),)

    return best_of(tried(), load, needed)
