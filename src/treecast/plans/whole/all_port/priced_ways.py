"""Scatter in several copies, and alltoall, on any network: disjoint paths to each node, chosen by price.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step; or any other model.
Each pair of nodes takes x ways that share no node between the ends (or no link, or no arc) and are cheapest together: a flow of
least cost. An arc has a price for its length, and each of its resources on the machine, itself, a link or a port, costs more, the
more ways use it. Pairs choose anew, one after the other, while that makes the most used resource less used. Then a list schedule:
of the chunks that wait for an arc, the one that has farthest to go goes first. At least one of the ways avoids any x - 1 nodes or
links, whenever they fail. One copy may go round arcs that all shortest paths use: 26 steps of an alltoall on debruijn:2,4 instead
of 29.
"""

from typing import Any, NamedTuple

import numpy as np

from treecast.against import apart
from treecast.errors import PlanError
from treecast.graphs.flows import arc_connectivity, connectivity, fewest_apart
from treecast.graphs.ways import split
from treecast.lower_bounds import best, bounds
from treecast.models import takes
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.times.timetable import Timed, listed, there_and_back
from treecast.plans.ways.ways import Ways, grouped
from treecast.plans.whole.all_port.priced_paths import UNIT, least_load, orders, prices
from treecast.ragged import starts

_TURNS, _TRIES = 12, 8
_MOST_WORK = 2**26  # arcs, pairs and copies, multiplied
_SHARE_OF_ONE = 2**5  # … of one copy, which has shortest ways, too
_LENGTH = UNIT // 8  # the price of a hop beside the price of an arc for being used


class _Pairs(NamedTuple):
    """The source and the target of each pair of nodes, and the first chunk and the length of its block."""

    source: Ints
    target: Ints
    chunk: Ints
    size: Ints


def _why_not(job: Job[Network]) -> str:
    """Return why there are no such copies: who has better schedules of one copy, or which node has too few ways."""
    network, copies = job.network, job.copies
    if copies == 1 and (network.seen_alike or not job.collective.all_source):
        return "is for several copies, or an alltoall on a network that does not look the same from every node"
    if network.rank_count == 1:
        return ""
    count, most = (network.rank_count - 1) * (network.rank_count if job.collective.all_source else 1), _MOST_WORK
    if copies == 1:
        most //= _SHARE_OF_ONE
    if network.nodes * network.degree * count * copies > most:
        return f"finds paths where arcs, pairs of nodes and copies, multiplied, are at most {most:,}"
    sources, targets = map(np.unique, job.collective.addressed()[1:])
    back = len(targets) < len(sources)  # all ways lead to few nodes: on the network turned round they lead from them
    for node in (targets if back else sources)[: 1 if network.seen_alike else None].tolist():
        few = fewest_apart(network.reversed() if back else network, node, job.against)
        if few.ways < copies:
            start, end = network.labels([few.node, node] if back else [node, few.node])
            if back:
                return f"needs {copies} {apart(job.against)} paths from every node to {end}, but {start} has {few.ways}"
            return f"needs {copies} {apart(job.against)} paths from {start} to every node, but {end} has {few.ways}"
    return ""


def _pairs(job: Job[Network]) -> _Pairs:
    block, source, target = job.collective.addressed()
    return _Pairs(source, target, job.collective.begins()[block], job.collective.sizes()[block])


_WAYS: dict[str, Any] = {
    "most_copies": connectivity,
    "any_model": True,
    "weaker": {"links": arc_connectivity, "arcs": arc_connectivity},
    "by_root": True,
    "fits": _why_not,
    "summary": "disjoint paths to each node, chosen by price so that arcs, links or ports are used alike",
}


@builder("priced-ways", "scatter", **_WAYS)
@builder("priced-ways", "alltoall", "alltoallv", orbit=False, **_WAYS)
def over_priced_ways(job: Job[Network]) -> Built:
    """All-port, or any other model: each message goes over x disjoint paths, as a stream over each, and survives any x-1 faults.

    Raises PlanError when there are not so many ways.
    """
    network, found, size = job.network, list[Timed](), int(_pairs(job).size.max(initial=1))
    least = best(bounds(job.collective, network, job.copies, job.model, against=job.against), "steps").value
    for seed in range(_TRIES if network.rank_count > 1 else 1):
        ways = _ways(job, -(-least_load(job, least) // size), seed)
        found += [listed(ways, job.model, keys) for keys in orders(ways, takes(job.model, network), seed)]
        if min(timed.steps for timed in found) == least:
            break
    return there_and_back(*found, least=least).built()


def _ways(job: Job[Network], share: int, seed: int) -> Ways:
    """Return a run of all messages for each way of each pair; nothing is to be taken by more than ``share`` runs."""
    from treecast.kernels.graphs.ways import priced_ways

    network, copies, pairs = job.network, job.copies, _pairs(job)
    arcs, count, inner = arcs_of(network, single=job.against == "links"), len(pairs.source), 0
    if job.against == "nodes":
        arcs, inner = split(arcs), network.nodes
    wanted, table = takes(job.model, network), prices(share) + _LENGTH
    number = arcs_of(network).number(arcs.tail[inner:] - inner, arcs.port[inner:])
    taken = wanted.resource[number]
    load, price = np.zeros(wanted.resources, np.int64), np.full(len(arcs.head), table[0] * taken.shape[1])
    sharing = grouped(taken.reshape(-1), np.repeat(np.arange(len(taken)), taken.shape[1]), len(load))
    price[:inner] = 0
    most_arcs = network.nodes + copies if inner else network.nodes * copies
    way, length = np.zeros((count, most_arcs), np.int32), np.zeros((count, copies), np.int32)
    kept, most, chance = (way, length), 1 << 62, np.random.default_rng(seed)
    for turn in range(_TURNS):
        order = chance.permutation(count)
        ends = (pairs.source + inner, pairs.target)
        if not priced_ways(arcs[:5], ends, order, copies, table, taken, sharing, load, price, way, length, inner):
            raise PlanError(
                f"there are no {copies} {apart(job.against)} paths from each node to each on {network.spec}"
            )
        if int(load.max(initial=0)) < most:
            kept, most = (way.copy(), length.copy()), int(load.max(initial=0))
        elif turn > 3:
            break
        if most <= share:
            break
    way, length = kept
    total = length.sum(axis=1)
    arc = number[way[np.arange(way.shape[1]) < total[:, None]] - inner]
    chunk, size = np.repeat(pairs.chunk, copies), np.repeat(pairs.size, copies)
    tree = np.tile(np.arange(copies), count)
    return Ways.of_paths(network, starts(length.reshape(-1)), arc, chunk=chunk, size=size, tree=tree)
