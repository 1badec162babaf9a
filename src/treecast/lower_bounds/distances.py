"""Counts for proofs of lower bounds: distances between nodes, and disjoint paths."""

from collections.abc import Sequence

import numpy as np

from treecast.against import Against
from treecast.errors import NetworkError, PlanError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.flows import least_lengths
from treecast.networks.kept import kept

LOOKED_AT = 256
"""In a network that looks different from its nodes, each of so many nodes is looked at; of more nodes, only node 0."""
LISTED = 2**14
"""All arcs are looked at in networks of so many nodes."""
_MOST_DISTANCES = 2**20  # that are computed one by one to tell how long several ways are
_MOST_LOOKED = 2**26  # ranks, times arcs, of a network whose distances are all summed: two seconds
_MOST_TYPED = 2**16  # nodes of a network whose types are looked at
_MOST_SEARCHED = 2**27  # arcs, types of nodes and copies, multiplied, of a search for shortest ways: half a second


@kept(16)
def channels_at(network: Network, *, inwards: bool) -> Ints:
    """Return how many sends can come to each node in a step, or leave it, past relays if there are routes: int64 (N,).

    A route takes a channel of every hop alone. So no more routes go at once than they have different channels of hop 1, 2 …;
    one with fewer hops counts with its last.
    """
    arcs, routes = arcs_of(network), network.past_routes
    ends = (arcs.head if inwards else arcs.tail).astype(np.int64)
    hops = [np.arange(len(ends))] if routes is None else [routes.channel[:, 0]]
    for hop in () if routes is None else routes.channel.T[1:]:
        hops.append(np.where(hop < 0, hops[-1], hop))
    many = 1 + max(int(hop.max(initial=0)) for hop in hops)
    # arcs that share a channel at a node count as one there
    pairs = (np.unique(ends * many + hop) // many for hop in hops)
    return np.min([np.bincount(ends_of, minlength=network.nodes) for ends_of in pairs], axis=0)


@kept(64)
def degrees(network: Network) -> Ints:
    """Return how many arcs leave each node."""
    return np.diff(arcs_of(network).first)


@kept(64)
def arcs_into_layers(network: Network, root: int) -> Ints:
    """Return how many arcs lead from nearer nodes to the nodes at distance d and beyond: entry d - 1, up to the eccentricity."""
    arcs, far = arcs_of(network), network.distance(root, np.arange(network.nodes))
    outwards = (far[arcs.head] > far[arcs.tail]) & (far[arcs.tail] >= 0)
    return np.bincount(far[arcs.head[outwards]])[1:]  # such an arc leads one layer on


def looked_at(network: Network) -> Sequence[int]:
    """Return the ranks whose distances are counted: one if the network looks alike from all nodes or has too many of them."""
    if len(network.views) <= LOOKED_AT:
        return network.views
    return range(1) if network.relays is None else network.ranks[:1].tolist()


@kept(1024)
def levels(network: Network, node: int) -> tuple[int, ...]:
    """Return how many nodes are 0, 1, 2 … arcs from ``node``. Raises PlanError when there are too many to count."""
    if network.seen_alike and node:
        return levels(network, 0)
    try:
        return network.levels(node)
    except NetworkError as error:
        raise PlanError(str(error)) from error


@kept(1024)
def ways(network: Network, node: int, copies: int, against: Against = "nodes") -> tuple[int, str]:
    """Return the least number of arcs of x disjoint paths from ``node`` to each other node, in total, and the formula in words.

    Where a search for the ways would take too long, and where they may share nodes, only their first arcs are looked at: see
    ``_first_arcs``. On the hypercube there are ways of those lengths (Saad & Schultz 1988). Raises PlanError when some node has
    fewer ways.
    """
    if network.seen_alike and node:
        return ways(network, 0, copies, against)
    if copies == 1:
        return sum(distance * count for distance, count in enumerate(levels(network, node))), "Σ distances"
    if against != "nodes" or network.flips_bits or not searched(network, copies):
        return _first_arcs(network, node, copies)
    types = network.types() if network.seen_alike else {v: 1 for v in network.ranks.tolist() if v != node}
    lengths = least_lengths(network, node, list(types), copies)
    for v, found in zip(types, lengths, strict=True):
        if found[-1] < 0:
            raise PlanError(
                f"{copies} copies need {copies} disjoint paths, but {np.count_nonzero(found >= 0)} lead from "
                f"{network.label(node)} to {network.label(v)} on {network.spec}"
            )
    return int(lengths[:, -1] @ np.array(list(types.values()))), "Σ least lengths of x paths"


def searched(network: Network, copies: int, roots: int = 1) -> bool:
    """Whether shortest disjoint paths from so many nodes to all others are few enough to be searched for."""
    if network.nodes > _MOST_TYPED:
        return False
    types = len(network.types()) if network.seen_alike else network.rank_count - 1
    return roots * types * copies * network.arcs <= _MOST_SEARCHED


def _first_arcs(network: Network, node: int, copies: int) -> tuple[int, str]:
    """Return the least total length that the first arcs of the ways allow.

    Disjoint paths begin with different arcs, and one that begins with the arc to w has at least 1 + distance(w, target)
    arcs. That is h over the f arcs that lead nearer, and on bipartite networks h + 2 over the others. Where this count would
    take too long, the bound is x times the distance.
    """
    distances = sum(distance * count for distance, count in enumerate(levels(network, node)))
    if starts := network.shortest_starts():
        more = sum(2 * max(0, copies - near) * count for (far, near), count in starts.items() if far)
        return copies * distances + more, "Σ lengths of x paths"
    if network.degree_at(node) * network.nodes > _MOST_DISTANCES:
        return copies * distances, "x Σ distances"
    return int(least_by_arcs(network, node, copies, network.ranks[network.ranks != node]).sum()), "Σ lengths of x paths"


def least_by_arcs(network: Network, node: int, copies: int, to: Ints) -> Ints:
    """Return the least total length that x ways to each node of ``to`` have by their first arcs: int64, as long as ``to``."""
    far = network.distance(np.array(network.neighbors(node), np.int64)[:, None], to)
    # the x least, one for each first arc
    return np.sort(np.where(far < 0, network.nodes, 1 + far), axis=0)[:copies].sum(axis=0)


def ways_of_all(network: Network, copies: int, against: Against = "nodes") -> tuple[int, str]:
    """Return the same, in total for all ranks. Where that would take too long, each way counts as the distance."""
    views, nodes = network.views, network.rank_count
    if network.seen_alike:
        total, formula = ways(network, 0, copies, against)
        return nodes * total, f"N {formula}"
    if copies == 1 or len(views) > LOOKED_AT:
        return copies * apart(network), f"{'x ' * (copies > 1)}Σ over all nodes of Σ distances"
    of = ways if against == "nodes" and searched(network, copies, len(views)) else _first_arcs
    found = [of(network, v, copies) for v in views]
    return nodes // len(views) * sum(total for total, _ in found), f"Σ over all nodes of {found[0][1]}"


@kept(64)
def apart(network: Network) -> int:
    """Return the distances from each rank to each other, summed; or less, where the ranks to look from are too many.

    No more than δ^d nodes are d arcs from a node, if no more than δ arcs leave any; δ (δ - 1)^(d - 1), if each has one back.

    >>> from treecast.networks import network
    >>> apart(network("mesh:32x32")), apart(network("ring:6"))
    (22347776, 54)
    """
    nodes, views, grid = network.rank_count, network.views, network.grid
    if grid is not None and not grid.wraps:  # axes are independent: (n³ - n) / 3 is the sum of |i - j|, of all pairs
        return sum((side**3 - side) // 3 * (nodes // side) ** 2 for side in grid.sides)
    if len(views) * network.arcs <= _MOST_LOOKED:
        return nodes // len(views) * sum(d * count for v in views for d, count in enumerate(levels(network, v)))
    back = int(network.both_ways)
    left, total, near, far = nodes - 1, 0, max(1, network.ports), 1
    while left > 0:
        total, left = total + far * min(near, left), left - near
        near, far = near * max(1, network.ports - back), far + 1
    return nodes * total
