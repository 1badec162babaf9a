"""Allgather in several copies on any network: down trees at every rank whose ways to each node share no other node.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Each root deals its messages over its trees, x trees to a message. An arc that is free begins the send that has most sends
below it: a list schedule. Where the network looks the same from every node, node 0's trees stand for all, its ports for the arcs.
"""

from functools import partial
from typing import Any

import numpy as np

from treecast.against import Against, apart
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arc_connectivity, arcs_of, connectivity, fewest_apart, least_cut
from treecast.plans.all_port.allgather import least_crowded
from treecast.plans.all_port.pipelines import streams
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every
from treecast.plans.trees import axes
from treecast.plans.trees.disjoint import known_trees
from treecast.plans.trees.independent import independent_trees
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet

_MOST_SENDS = 2**21  # arcs of all trees of all roots
_MOST_TREES = 2**10  # of all roots that are looked for where fewer would do
_SHOWN = 5  # nodes of a cut
_PASSES = 12  # of choosing which trees carry more


def _looks_alike(network: Network) -> str:
    return "has translated trees for networks that look the same from every node" if network.seen_alike else ""


def _looks_different(network: Network) -> str:
    return "" if network.seen_alike else "has other trees at every root of networks that do not look the same from it"


def _lacks_rotation(network: Network) -> str:
    return "is for networks that look different over their ports: builder disjoint-trees is for others" * (
        network.ports_alike
    )


def _lacks_need(job: Job[Network]) -> str:
    network = job.network
    if network.relays is not None and job.copies == 1:
        return "is for several copies where there are relays: builder balanced-trees sends one"
    sources = 1 if network.seen_alike and job.collective.alike else network.rank_count
    if sources * network.nodes * job.copies > _MOST_SENDS:
        return f"has trees of up to {_MOST_SENDS:,} arcs in all, and {network.spec} needs more"
    # one way leads everywhere: whoever asks for an allgather has checked that, and connectivity takes long to count
    return _cut_off(job) if job.copies > 1 and job.copies > _most(network, job.against) else ""


def _most(network: Network, against: Against) -> int:
    return connectivity(network) if against == "nodes" else arc_connectivity(network, against)


def _cut_off(job: Job[Network]) -> str:
    """Return between which nodes there are fewer ways than copies, and what cuts them."""
    network = job.network
    if network.rank_count == 1:
        return f"sends nothing on {network.spec}, which has one node: one copy, then"
    asked = f"needs {job.copies} {apart(job.against)} ways between any two nodes"
    for root in network.views:
        found = fewest_apart(network, root, job.against)
        if found.ways < job.copies:
            cut = least_cut(network, root, found.node, job.against)
            names = f" (cut by {', '.join(cut[:_SHOWN])}{' …' if len(cut) > _SHOWN else ''})" if cut else ""
            return f"{asked}, but {network.label(root)} has {found.ways} to {network.label(found.node)}{names}"
    return asked


_TREES: dict[str, Any] = {
    "under": ALL_PORT,
    "most_copies": connectivity,
    "weaker": {"links": arc_connectivity, "arcs": partial(arc_connectivity, against="arcs")},
    "by_root": True,
    "fits": _lacks_need,
    "backwards": False,
    "rank": 60,
}
_EVERY_ROOT: dict[str, Any] = _TREES | {
    "orbit": False,
    "what": "trees at every root with node-disjoint ways, a list schedule: an arc sends what has most below it",
}


@builder("independent-trees", "allgatherv", **_EVERY_ROOT)
@builder("independent-trees", "allgather", on=_looks_alike, **_EVERY_ROOT)
def over_trees_of_every_root(job: Job[Network]) -> Built:
    """All-port: each root's messages go down x trees of its own with node-disjoint ways: to N - 1 nodes x times each.

    The bound is ⌈M x (N - 1) / least in-degree⌉ steps. It is met where the arcs into each node are used alike and the list
    schedule leaves no gaps; each schedule shows how far it is from it.
    """
    network, arcs = job.network, arcs_of(job.network)
    number = np.full(network.nodes * network.ports, -1)
    number[network.arc(arcs.tail, arcs.port)] = np.arange(len(arcs.head))
    roots = np.flatnonzero(job.collective.sizes()) if network.rank_count > 1 else network.ranks[:0]
    found = [_trees(job, root) for root in np.intersect1d(roots, network.ranks).tolist()]
    return listed(job, found, spread_evenly(job, found, number), number)


@builder(
    "independent-trees",
    "allgather",
    on=every(_looks_different, _lacks_rotation),
    what="trees with node-disjoint ways, translated to every root, a list schedule: a port sends what has most below it",
    **_TREES,
)
def over_translated_trees(job: Job[Network]) -> Built:
    """All-port: node 0's messages go down x trees with node-disjoint ways, and all others' down the translates of these.

    The bound is ⌈M x (N - 1) / k⌉ steps. It is met where all ports are used alike and the list schedule leaves no gaps.
    """
    network = job.network
    number = np.tile(np.arange(network.ports), network.nodes)
    found = [_trees(job, 0)] if network.nodes > 1 else []
    longer = [least_crowded(trees, _left_over(job, trees)) for trees in found]
    built = listed(job, found, longer, number)
    return built._replace(claims=Claims(built.claims.steps, built.claims.transmissions * network.nodes))


def _trees(job: Job[Network], root: int) -> TreeSet:
    """Return x trees of a root or more, any two of which have node-disjoint ways to each node. Raises PlanError."""
    network, copies = job.network, job.copies
    if copies > 1 and network.grid is not None and not network.grid.wraps:
        return axes.axis_trees(network, root)
    known = known_trees().get(network.family)
    if copies > 1 and known is not None:
        return known.disjoint_trees(network, root)
    roots = 1 if network.seen_alike else network.rank_count
    most, against = _most(network, job.against) if copies > 1 else 1, job.against
    found = independent_trees(network, root, most, against=against) if most * roots <= _MOST_TREES else None
    found = independent_trees(network, root, copies, against=against) if found is None else found
    if found is None:
        raise PlanError(
            f"no {copies} trees to all ranks with {apart(against)} ways were found on {network.spec} from {network.label(root)}"
        )
    return found


def _left_over(job: Job[Network], trees: TreeSet) -> int:
    """Return how many trees carry one chunk more than the others."""
    return _size(job, trees) * job.copies % len(trees)


def _size(job: Job[Network], trees: TreeSet) -> int:
    """Return how many chunks the root of some trees has."""
    return int(job.collective.sizes()[trees.root])


def spread_evenly(job: Job[Network], found: list[TreeSet], number: Ints) -> list[list[int]]:
    """Return for each root the trees that carry a chunk more, chosen such that the busiest arcs have little more than others.

    No arc is in two trees of a root. So each root takes the trees that cost least beside those of the others, a few times over.
    """
    load = np.zeros(int(number.max(initial=0)) + 1, np.int64)
    arcs = [
        [
            number[trees.network.arc(up[up >= 0], port[up >= 0])]
            for up, port in zip(trees.parent, trees.port, strict=True)
        ]
        for trees in found
    ]
    longer: list[list[int]] = [[] for _ in found]
    for root, trees in enumerate(found):
        for tree in range(len(trees)):
            load[arcs[root][tree]] += _size(job, trees) * job.copies // len(trees)
    for _ in range(_PASSES):
        for root, trees in enumerate(found):
            for tree in longer[root]:
                load[arcs[root][tree]] -= 1
            least = load.min()
            costs = [int(((load[used] - least + 1) ** 4).sum()) for used in arcs[root]]
            longer[root] = sorted(range(len(trees)), key=lambda tree: costs[tree])[: _left_over(job, trees)]
            for tree in longer[root]:
                load[arcs[root][tree]] += 1
    return longer


def dealt(job: Job[Network], trees: TreeSet, longer: list[int]) -> list[list[tuple[int, int]]]:
    """Return the ranges of chunks that each tree carries, those of ``longer`` one chunk more than the others, if some do."""
    carried = streams(_size(job, trees), len(trees), job.copies)
    ordered = sorted(carried, key=lambda ranges: sum(b - a for a, b in ranges))
    last = len(ordered) - len(longer)
    short, long = iter(ordered[:last]), iter(ordered[last:])
    return [next(long if tree in longer else short) for tree in range(len(trees))]


def listed(job: Job[Network], found: list[TreeSet], longer: list[list[int]], number: Ints) -> Built:
    """Return the rows of a list schedule of what goes down some trees. ``number``: which arcs take turns, by Network.arc."""
    begin, parts = job.collective.begins(), list[tuple[TreeSet, list[list[tuple[int, int]]]]]()
    for trees, more in zip(found, longer, strict=True):
        base = int(begin[trees.root])
        parts.append((trees, [[(base + a, base + b) for a, b in ranges] for ranges in dealt(job, trees, more)]))
    return list_of_trees(parts, number)


def list_of_trees(parts: list[tuple[TreeSet, list[list[tuple[int, int]]]]], number: Ints | None = None) -> Built:
    """Return the rows of a list schedule of ranges of chunks, each down a tree. ``number``: as in ``listed``; else each arc does.

    Parameters
    ----------
    parts
        Sets of trees, and the ranges of chunks that each tree carries.
    number : int64, optional
        Which arcs take turns, by ``Network.arc``.
    """
    from treecast.kernels.packing import list_schedule, weigh

    table, columns, above, count = list[list[tuple[int, int]]](), list[Ints](), list[Ints](), 0
    for trees, carried in parts:
        for tree, ranges in enumerate(carried):
            if not ranges:
                continue
            parent, port = trees.parent[tree].astype(np.int64), trees.port[tree].astype(np.int64)
            dst = np.flatnonzero(parent >= 0)
            place = np.full(len(parent), -1)
            place[dst] = count + np.arange(len(dst))
            above.append(place[parent[dst]])
            facts = np.array([[sum(b - a for a, b in ranges)], [tree], [len(table)]])
            ends = np.stack([parent[dst], dst, port[dst], trees.network.arc(parent[dst], port[dst])])
            columns.append(np.concatenate([ends, np.broadcast_to(facts, (3, len(dst)))]))
            table.append(ranges)
            count += len(dst)
    src, dst, port, arc, lasts, tree, payload = np.concatenate([np.empty((7, 0), np.int64), *columns], axis=1)
    arc = arc if number is None else number[arc]
    up, below = np.concatenate([np.empty(0, np.int64), *above]), np.empty(count, np.int64)
    weigh(up, below)
    ranked = np.argsort(-below * lasts, kind="stable")
    rank, step = np.empty_like(ranked), np.empty(count, np.int64)
    rank[ranked] = np.arange(count)
    waits, above_all = (up >= 0).astype(np.int64), np.where(up < 0, count, up)
    first, child = starts(np.bincount(above_all, minlength=count + 1)), np.argsort(above_all, kind="stable")
    busy = np.unique(arc, return_inverse=True)[1].astype(np.int64)
    room = starts(np.bincount(busy))
    each = np.arange(len(room) - 1)  # copies may not change arcs
    steps = int(list_schedule(first, child, waits, busy, each, rank, ranked, lasts, room, step))
    rows = Rows.of(Payloads.of(table), step=step, steps=lasts, src=src, dst=dst, port=port, tree=tree, payload=payload)
    return Built(rows, Claims(steps, int(lasts.sum())))
