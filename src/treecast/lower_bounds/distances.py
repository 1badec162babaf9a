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
_AT_ONCE = 2**20  # pairs of nodes and arcs that are looked at in one go
_MOST_DISTANCES = 2**20  # that are computed one by one to tell how long several ways are
_MOST_TYPED = 2**16  # nodes of a network whose types are looked at
_MOST_SEARCHED = 2**27  # arcs, types of nodes and copies, multiplied, of a search for shortest ways: half a second


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


@kept(16)
def from_each(network: Network) -> Ints:
    """Return the arcs from each node that is looked at to each node, -1 where no way leads: int64 (looked at, N)."""
    far = network.distance(np.array(looked_at(network))[:, None], np.arange(network.nodes))
    far.setflags(write=False)
    return far


@kept(16)
def ranks_beyond(network: Network) -> Ints:
    """Return how many ranks are d + 1 arcs or more from each node that is looked at: int64 (looked at, greatest distance)."""
    far = from_each(network)[:, network.ranks]
    width = int(far.max()) + 1
    cells = np.arange(len(far))[:, None] * width + far
    count = np.bincount(cells[far >= 0], minlength=len(far) * width).reshape(len(far), width)
    return np.cumsum(count[:, :0:-1], axis=1)[:, ::-1]


@kept(16)
def arcs_across(network: Network) -> tuple[Ints, Ints]:
    """Return how many arcs lead to the nodes at distance d and beyond, and how many lead back from there.

    Of each node that is looked at: int64 (looked at, greatest distance + 2) each, column d for distance d.
    """
    far, arcs = from_each(network), arcs_of(network)
    width, rows = int(far.max()) + 2, max(1, _AT_ONCE // max(1, len(arcs.head)))
    out, back = np.zeros((2, len(far), width), np.int64)
    for low in range(0, len(far), rows):
        tail, head = far[low : low + rows, arcs.tail], far[low : low + rows, arcs.head]
        out[low : low + rows] = _rising(tail, head, width)
        back[low : low + rows] = out[low : low + rows] if network.both_ways else _rising(head, tail, width)
    return out, back


def _rising(low: Ints, high: Ints, width: int) -> Ints:
    """Return how many pairs of each row have ``low`` < d <= ``high``: int64 (rows, width), column d for d."""
    row, column = np.nonzero(high > low)
    begin, end = (np.bincount(row * width + of[row, column] + 1, minlength=len(low) * width) for of in (low, high))
    return np.cumsum((begin - end).reshape(len(low), width), axis=1)


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
    return np.sort(np.where(far < 0, network.nodes, 1 + far), axis=0)[:copies].sum(axis=0)


def ways_of_all(network: Network, copies: int, against: Against = "nodes") -> tuple[int, str]:
    """Return the same, in total for all nodes; where the distances of one node were counted, one arc for each way."""
    nodes = network.rank_count
    if network.seen_alike:
        total, formula = ways(network, 0, copies, against)
        return nodes * total, f"N {formula}"
    views = network.views
    if len(views) > LOOKED_AT:
        return copies * nodes * (nodes - 1), "x N (N - 1)"
    of = ways if copies == 1 or (against == "nodes" and searched(network, copies, len(views))) else _first_arcs
    found = [of(network, v, copies) for v in views]
    return nodes // len(views) * sum(total for total, _ in found), f"Σ over all nodes of {found[0][1]}"
