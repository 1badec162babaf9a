"""Scatter and ideal gather over trees with one root that may share arcs: the traffic on shared arcs is scheduled.

Communication model: bufferless, multi-port. Source: Bhatt, Pucci, Ranade & Rosenberg, whose second technique drops the condition
of the first, a cover, that trees share no arc; they leave open how. Here each arc of the root begins a tree of shortest ways that
spans all nodes. Messages are placed one after the other, those for the farthest nodes first. Each goes by the tree, and begins in
the step, by which it is there soonest with all arcs of its way free when its flits pass.
"""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from treecast.collectives import Lengths
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.papers.trees.builders.cover import least_steps
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.lengths import lengths_of
from treecast.plans.registry import builder
from treecast.plans.search import best_of
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.schedule import Claims, Payloads

_MOST_HOPS = 2**20  # of all ways in all trees
_TRIES = 10  # orders of equals
Way = tuple[int, ...]
"""The nodes of a way, from the root on."""


def _cannot(job: Job[Network]) -> str:
    network = job.network
    if network.parallel_arcs or network.relays is not None:
        return "is for networks without relays, and without several arcs between two nodes"
    hops = network.degree_at(job.collective.root) * network.nodes * max(1, network.diameter)
    return "" if hops <= _MOST_HOPS else f"looks at {hops:,} hops of ways, and {_MOST_HOPS:,} at most"


@builder(
    "overlapping-trees",
    "scatterv",
    under=("bufferless-multiport",),
    fits=_cannot,
    summary="down trees that may share arcs, each message when its whole way is free",
)
@builder(
    "overlapping-trees",
    "gatherv",
    under=("bufferless-multiport",),
    fits=_cannot,
    baseline=True,
    summary="up trees that may share arcs, each message when its whole way is free, as if all knew when to begin",
)
def overlapping_trees(job: Job[Network]) -> Built:
    """Bufferless, multi-port: scatter down a tree for each arc of the root, traffic on shared arcs scheduled; or backwards."""
    away, lengths = job.collective.direction == "from", lengths_of(job.collective)
    network, root, flits = job.network if away else job.network.reversed(), job.collective.root, lengths.flits
    near, ways = breadth_first(network, root), _ways(network, root)
    some = np.flatnonzero(flits)
    chance = (np.random.default_rng(seed).random(len(flits)) for seed in range(_TRIES))
    keys = chain([(flits, near.depth), (near.depth, near.depth + flits)], ((by, near.depth) for by in chance))
    tried = (
        _placed(some[np.lexsort([-key[some] for key in each])], ways, flits) for each in keys
    )  # the last key counts most
    steps, placed = best_of(tried, lambda each: each[:1], least_steps(near, flits, network.degree_at(root)))
    numbered = replace(job.collective, lengths=Lengths(flits, lengths.sequence))
    rows = [
        (begin + hop if away else steps - begin - hop - int(flits[node]), *(ends if away else ends[::-1]), tree, at)
        for at, (node, tree, begin, way) in enumerate(placed)
        for hop, ends in enumerate(pairwise(way))
    ]
    step, src, dst, tree, at = np.array(rows, np.int64).reshape(-1, 5).T
    nodes = np.array([node for node, *_ in placed], np.int64)
    table = Payloads.of_ranges(lengths_of(numbered).first[nodes], lengths_of(numbered).stop[nodes])
    sends = sum(int(flits[node]) * (len(way) - 1) for node, _, _, way in placed)
    return Built(
        rows_between(job.network, table, step, src, dst, tree=tree, payload=at), Claims(steps, sends), numbered
    )


Placed = list[tuple[int, int, int, Way]]
"""Of each message its node, its tree, the step in which its first flit leaves the root, and its way."""


def _ways(network: Network, root: int) -> list[dict[int, Way]]:
    """Return for each arc of the root the shortest ways to all nodes that begin there and do not come back."""
    arcs, found = arcs_of(network), list[dict[int, Way]]()
    first, head = arcs.first.tolist(), arcs.head.tolist()
    for child in head[first[root] : first[root + 1]]:
        ways: dict[int, Way] = {child: (root, child)}
        queue = [child]
        for u in queue:
            for v in head[first[u] : first[u + 1]]:
                if v != root and v not in ways:
                    ways[v] = (*ways[u], v)
                    queue.append(v)
        found.append(ways)
    return found


def _placed(order: Ints, ways: list[dict[int, Way]], flits: Ints) -> tuple[int, Placed]:
    """Return the steps, and messages placed one after the other, each where it is there soonest.

    Bit t of ``busy``: whether an arc is busy in step t.
    """
    busy, placed = dict[tuple[int, int], int](), Placed()
    for node in order.tolist():
        length, found = int(flits[node]), Placed()
        for tree, known in enumerate(ways):
            if way := known.get(node):
                taken = 0
                for hop, arc in enumerate(pairwise(way)):
                    # Seen from the root: hop h of a message that begins in step s is busy in step s + h.
                    taken |= busy.get(arc, 0) >> hop
                found.append((node, tree, _first_gap(taken, length), way))
        # Arrival counts, and of equals the shorter way, which keeps fewer arcs busy.
        _, _, begin, way = soonest = min(found, key=lambda each: (each[2] + len(each[3]), len(each[3])))
        placed.append(soonest)
        for hop, arc in enumerate(pairwise(way)):
            busy[arc] = busy.get(arc, 0) | ((1 << length) - 1) << begin + hop
    return max((begin + len(way) - 2 + int(flits[node]) for node, _, begin, way in placed), default=0), placed


def _first_gap(taken: int, length: int) -> int:
    """Return the first bit from which on so many bits in a row are 0."""
    wide = 1
    # By doubling: after it a bit is set where any of the next `length` steps is taken.
    while wide < length:
        more = min(wide, length - wide)
        taken |= taken >> more
        wide += more
    return (~taken & (taken + 1)).bit_length() - 1
