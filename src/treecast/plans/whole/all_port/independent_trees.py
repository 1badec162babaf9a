"""Allgather in several copies on any network: down trees at every rank whose ways to each node share no other node.

Each root deals its messages over its trees, x trees to a message. An arc that is free begins the send that has most sends
below it: a list schedule. Where the network looks the same from every node, node 0's trees stand for all, its ports for the arcs.
"""

from functools import partial
from typing import Any

import numpy as np

from treecast.against import Against, apart
from treecast.errors import PlanError
from treecast.graphs.flows import arc_connectivity, connectivity, fewest_apart, least_cut
from treecast.models import Takes, model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.times.pipelines import streams
from treecast.plans.times.timetable import listed, translated
from treecast.plans.ways.trees import axes
from treecast.plans.ways.trees.disjoint import known_trees
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.allgather import least_crowded
from treecast.schedule import Claims
from treecast.schedule.trees import TreeSet

_MOST_SENDS = 2**21  # arcs of all trees of all roots
_MOST_TREES = 2**10  # of all roots that are looked for where fewer would do
_SHOWN = 5  # nodes of a cut
_PASSES = 12  # of choosing which trees carry more


def _looks_alike(network: Network) -> str:
    return "has translated trees for networks that look the same from every node" if network.seen_alike else ""


def _looks_different_over_ports(network: Network) -> str:
    if not network.seen_alike:
        return "has other trees at every root of networks that do not look the same from it"
    return "needs a network whose ports do not look alike; on this one use disjoint-trees" * network.ports_alike


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
    """Return between which nodes there are fewer ways than copies, and the least cut between them."""
    network = job.network
    if network.rank_count == 1:
        return f"sends nothing on {network.spec}, which has one node: one copy, then"
    asked = f"needs {job.copies} {apart(job.against)} paths between any two nodes"
    for root in network.views:
        found = fewest_apart(network, root, job.against)
        if found.ways < job.copies:
            cut = least_cut(network, root, found.node, job.against)
            names = f" (cut by {', '.join(cut[:_SHOWN])}{' …' if len(cut) > _SHOWN else ''})" if cut else ""
            return f"{asked}, but {network.label(root)} has {found.ways} to {network.label(found.node)}{names}"
    return asked


_TREES: dict[str, Any] = {
    "most_copies": connectivity,
    "weaker": {"links": arc_connectivity, "arcs": partial(arc_connectivity, against="arcs")},
    "by_root": True,
    "fits": _lacks_need,
    "backwards": False,
}
_EVERY_ROOT: dict[str, Any] = _TREES | {
    "orbit": False,
    "summary": "trees at every root with node-disjoint paths; an arc first sends the chunk with most sends below it",
}


@builder("independent-trees", "allgatherv", **_EVERY_ROOT)
@builder("independent-trees", "allgather", on=_looks_alike, **_EVERY_ROOT)
def over_trees_of_every_root(job: Job[Network]) -> Built:
    """All-port: each root's messages go down x trees of its own with node-disjoint paths: to N - 1 nodes x times each.

    The bound is ⌈M x (N - 1) / least in-degree⌉ steps. It is met where the arcs into each node are used alike and the list
    schedule leaves no gaps; each schedule shows how far it is from it.
    """
    network = job.network
    roots = np.flatnonzero(job.collective.sizes()) if network.rank_count > 1 else network.ranks[:0]
    found = [_trees(job, root) for root in np.intersect1d(roots, network.ranks).tolist()]
    return list_of_trees(ways_of_trees(job, found, spread_evenly(job, found)))


@builder(
    "independent-trees",
    "allgather",
    on=_looks_different_over_ports,
    summary="trees with node-disjoint paths, translated to every root; a port first sends the chunk with most sends below it",
    **_TREES,
)
def over_translated_trees(job: Job[Network]) -> Built:
    """All-port: node 0's messages go down x trees with node-disjoint paths, and all others' down the translates of these.

    The bound is ⌈M x (N - 1) / k⌉ steps. It is met where all ports are used alike and the list schedule leaves no gaps.
    """
    network = job.network
    found = [_trees(job, 0)] if network.nodes > 1 else []
    longer = [least_crowded(trees, _left_over(job, trees)) for trees in found]
    built = list_of_trees(ways_of_trees(job, found, longer), translated(network))
    return built._replace(claims=Claims(built.claims.steps, built.claims.transmissions * network.nodes))


def _trees(job: Job[Network], root: int) -> TreeSet:
    """Return x trees of a root or more, any two of which have node-disjoint paths to each node. Raises PlanError."""
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
            f"no {copies} trees to all ranks with {apart(against)} paths were found on {network.spec} from {network.label(root)}"
        )
    return found


def _left_over(job: Job[Network], trees: TreeSet) -> int:
    """Return how many trees carry one chunk more than the others."""
    return _size(job, trees) * job.copies % len(trees)


def _size(job: Job[Network], trees: TreeSet) -> int:
    """Return how many chunks the root of some trees has."""
    return int(job.collective.sizes()[trees.root])


def spread_evenly(job: Job[Network], found: list[TreeSet]) -> list[list[int]]:
    """Return for each root the trees that carry a chunk more, chosen such that the busiest arcs have little more than others.

    No arc is in two trees of a root. So each root takes the trees that cost least beside those of the others, a few times over.
    """
    load, every = np.zeros(job.network.arcs, np.int64), arcs_of(job.network)
    arcs = [
        [every.number(up[up >= 0], port[up >= 0]) for up, port in zip(trees.parent, trees.port, strict=True)]
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


def ways_of_trees(job: Job[Network], found: list[TreeSet], longer: list[list[int]]) -> Ways:
    """Return the ways of each root's messages down its trees, those of ``longer`` carry a chunk more than the others."""
    begin, parts = job.collective.begins(), list[tuple[TreeSet, list[list[tuple[int, int]]]]]()
    for trees, more in zip(found, longer, strict=True):
        base = int(begin[trees.root])
        parts.append((trees, [[(base + a, base + b) for a, b in ranges] for ranges in dealt(job, trees, more)]))
    return Ways.of_trees(job.network, parts)


def list_of_trees(ways: Ways, wanted: Takes | None = None) -> Built:
    """Return a list schedule of ways down trees for all ports: those go first that have most sends below them.

    ``wanted``: the resources of arcs, where those are not the arcs themselves.
    """
    return listed(ways, model("all-port"), [-ways.below * ways.lengths], wanted=wanted).built()
