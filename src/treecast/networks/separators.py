"""What lies in the way of much data: parts that few arcs join, relays that part ranks, and cuts that many pairs cross.

Whatever ranks of all parts add up has to pass the arcs between them again and again. Whatever all ranks hear has to pass relays
without which ranks are cut off. Separators, which few arcs leave, make an alltoall slow.
"""

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints, Network, ints
from treecast.networks.flows import away
from treecast.networks.grid import Grid
from treecast.networks.kept import kept

_MOST_ARCS = 2**16  # of a network that is searched


class Partition(NamedTuple):
    """A network in ``groups`` parts with ranks, between which ``arcs`` arcs lead; ``part``: int64 (N,), that of each node."""

    groups: int
    arcs: int
    part: NDArray[np.int64]


@kept(64)
def weakest_parts(network: Network) -> Partition | None:
    """Return parts with many of them for each arc between them; None of networks of more than 65,536 arcs or of one rank.

    At first each node is a part. Those two become one that most arcs join, again and again. The best on the way are taken: those
    of the least quotient of arcs by parts less one. There may be better ones (Cunningham 1985 has the best).

    Two pairs of nodes with four cables within and one between:

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> pairs = nx.Graph([("a", "b", {"capacity": 4}), ("c", "d", {"capacity": 4}), ("b", "c"), ("a", "d")])
    >>> weakest_parts(network(pairs))
    Partition(groups=2, arcs=4, part=array([0, 0, 1, 1]))
    """
    arcs = arcs_of(network)
    if network.rank_count == 1 or len(arcs.head) > _MOST_ARCS:
        return None
    # 1. How many arcs join each two parts; at first each node is one.
    joined = {v: dict[int, int]() for v in range(network.nodes)}
    for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        joined[u][v] = joined[v][u] = joined[u].get(v, 0) + 1
    has_rank = np.isin(np.arange(network.nodes), network.ranks).tolist()
    count, between, merged = network.rank_count, len(arcs.head), list[tuple[int, int]]()
    # 2. Join the two that most arcs join, again and again, and note the best on the way.
    best, at = (network.nodes * between + 1, 1), 0  # arcs and parts less one
    heap = [(-many, u, v) for u, near in joined.items() for v, many in near.items() if u < v]
    heapify(heap)
    while heap and count > 1:
        if between * best[1] < best[0] * (count - 1):
            best, at = (between, count - 1), len(merged)
        many, u, v = heappop(heap)
        if joined[u].get(v) != -many:
            continue  # one of them has grown since, or is gone
        merged.append((u, v))
        between += many  # negative: these arcs lie within a part now
        count -= has_rank[u] and has_rank[v]  # parts without a rank do not count
        has_rank[u] = has_rank[u] or has_rank[v]
        # what led to v leads to u now
        del joined[u][v]
        for w, more in joined[v].items():
            if w != u:
                joined[u][w] = joined[w][u] = joined[u].get(w, 0) + more
                del joined[w][v]
                heappush(heap, (-joined[u][w], min(u, w), max(u, w)))
        joined[v] = {}
    # 3. As far as the best: from the last join back, each takes the part of what it joined.
    part = np.arange(network.nodes)
    for u, v in reversed(merged[:at]):
        part[v] = part[u]
    return Partition(best[1] + 1, best[0], np.unique(part, return_inverse=True)[1])


_MOST_NODES = 2**14  # of a network that is searched


@kept(64)
def relays_passed(network: Network) -> int:
    """Return a number of relays that every tree over all ranks has at least; 0 where there are more than 16,384 nodes.

    It has the p nodes that are ranks or part ranks. Arcs join these among themselves to c pieces, so p - c links of the tree at
    most lie between them. Each of its s other relays has d neighbors or fewer. So p + s - 1 <= p - c + s d.

    >>> from treecast.networks import network
    >>> relays_passed(network("fat-tree:2")), relays_passed(network("ring:5"))
    (5, 0)
    """
    if network.relays is None or network.nodes > _MOST_NODES or network.rank_count == 1:
        return 0
    kept, parting = ~network.relays, parting_relays(network)
    kept[parting] = True
    beside, pieces = _beside(network), 0
    left = set(np.flatnonzero(kept).tolist())
    while left:
        pieces += 1
        way = [left.pop()]
        while way:
            near = beside[way.pop()] & left
            left -= near
            way += near
    most = max((len(beside[w]) for w in np.flatnonzero(~kept).tolist()), default=0)
    # the inequality solved for s, rounded up
    return len(parting) + (-(-(pieces - 1) // (most - 1)) if most > 1 else 0)


def _beside(network: Network) -> dict[int, set[int]]:
    """Return the neighbors of each node, arcs taken both ways."""
    arcs = arcs_of(network, single=True)
    found = {v: set[int]() for v in range(network.nodes)}
    for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        found[u].add(v)
        found[v].add(u)
    return found


@kept(64)
def parting_relays(network: Network) -> Ints:
    """Return the relays that part ranks, arcs taken both ways: int64, ascending; none of networks of more than 16,384 nodes.

    A depth-first search numbers the nodes from a rank on. A relay parts ranks if from below one of its children, ranks among
    them, no arc leads back above it (Hopcroft & Tarjan 1973).

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "end")])
    >>> nx.set_node_attributes(wired, {"s": True, "t": True, "end": True}, "relay")
    >>> where = network(wired)
    >>> where.labels(parting_relays(where))
    ['s', 't']
    """
    if network.relays is None or network.nodes > _MOST_NODES or network.rank_count == 1:
        return np.zeros(0, np.int64)
    beside = _beside(network)
    root, ranks = int(network.ranks[0]), (~network.relays).tolist()  # whether a rank is among a node and those below
    # a search with a list of its own, as networks are deeper than Python's calls may be
    number, parent = {root: 0}, {root: root}
    way = [(root, iter(beside[root]))]
    while way:
        u, left = way[-1]
        v = next((v for v in left if v not in number), -1)
        if v < 0:
            way.pop()
            continue
        number[v], parent[v] = len(number), u
        way.append((v, iter(beside[v])))
    # the first that each node or one below leads to
    above = {v: min(number[w] for w in beside[v]) for v in parent if v != root}
    found = set[int]()
    for v, u in reversed(list(parent.items())[1:]):  # those below come before
        if u == root:
            continue
        # nothing below v leads above u
        if network.relays[u] and ranks[v] and above[v] == number[u]:
            found.add(u)
        above[u], ranks[u] = min(above[u], above[v]), ranks[u] or ranks[v]
    return np.array(sorted(found), np.int64)


def far_and_back(network: Network, nodes: ArrayLike) -> tuple[Ints, Ints]:
    """Return those of some nodes that are joined to all ranks both ways, and of each the farthest way there and back, in arcs.

    >>> from treecast.networks import network
    >>> far_and_back(network("path:3"), range(3))
    (array([0, 1, 2]), array([4, 2, 4]))
    """
    every = ints(nodes)
    far = np.stack([some.distance(every[:, None], network.ranks) for some in (network, network.reversed())])
    joined = (far >= 0).all(axis=(0, 2))
    return every[joined], far.max(axis=2).sum(axis=0)[joined]


_MOST_NODES_OF_SEPARATORS = 2**12  # of a network that is searched for cuts
_STARTS, _SMOOTHED = 12, 40
_MENDED = 3  # cuts of a whole network that are improved for one that lacks little of it


class Separator(NamedTuple):
    """A set with ``nodes`` ranks that ``arcs`` arcs leave for the ``others``: every pair across has to use them.

    ``late``: how many arcs the nearest rank inside is from the nearest of these arcs, and the nearest rank outside behind them.
    """

    nodes: int
    others: int
    arcs: int
    late: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs lead out."""
        return self.nodes * self.others


@kept(64)
def best_separator(network: Network) -> Separator | None:
    """Return a cut with many pairs for each of its arcs; None where no cut is looked for.

    Of meshes and tori it halves an axis. Otherwise nodes are put in order, by their distance from some node or by how
    a difference spreads over the network (which tends to an eigenvector), the best beginning of the order is taken, and single
    nodes change sides while that helps. There may be better cuts. Of a large network that lacks little of another, the best
    cuts of that one are improved.

    >>> from treecast.networks import network
    >>> best_separator(network("torus:3x5x7"))
    Separator(nodes=45, others=60, arcs=30, late=0)
    >>> best_separator(network("tree:2,3"))
    Separator(nodes=8, others=7, arcs=1, late=0)
    """
    if network.grid is not None:
        return _across_axis(network.grid)
    sides = [] if network.rank_count == 1 else _below_one(network)
    if 1 < network.rank_count <= network.nodes <= _MOST_NODES_OF_SEPARATORS:
        sides = [*_sides(network), *sides]
    if not sides:  # of a network of any size, whose arcs nobody lists
        return None
    arcs, ranks = arcs_of(network), _ranks(network)
    found = [_separator(arcs, ranks, side) for side in sides]
    return max(found, key=lambda cut: (cut.pairs / cut.arcs, cut.late))


def _below_one(network: Network) -> list[NDArray[np.bool_]]:
    """Return the relay with the most pairs for each of the arcs that leave it upwards, and the ranks that hang on it alone.

    None where no ranks hang so. bool (N,) each.
    """
    if network.relays is None:
        return []
    arcs = arcs_of(network)
    many, above = np.diff(arcs.first), np.full(network.nodes, -1)
    single = network.ranks[many[network.ranks] == 1]
    above[single] = arcs.head[arcs.first[single]]
    below = np.bincount(above[single], minlength=network.nodes)
    out = np.maximum(many - below, 1)
    share = np.where(network.relays & (many > below), below * (network.rank_count - below) / out, 0)
    best = int(share.argmax())
    return [(above == best) | (np.arange(network.nodes) == best)] if share[best] else []


def _ranks(network: Network) -> Ints:
    return np.isin(np.arange(network.nodes), network.ranks).astype(np.int64)


@kept(1)
def _sides(network: Network) -> list[NDArray[np.bool_]]:
    """Return the sides of good cuts: which nodes are inside, bool (N,)."""
    from treecast.networks.kernels.separators import improve

    arcs, ranks = arcs_of(network), _ranks(network)
    # cuts of the whole network are good beginnings where little of it is gone
    if network.torn_from is None:
        found = [_beginning(arcs, ranks, order) for order in _orders(network, arcs)]
    else:
        whole, left = network.torn_from
        found = [side[left] for side in _sides(whole)]
        found = sorted(found, key=lambda side: -_share(arcs, ranks, side))[:_MENDED]
    for side in found:
        improve(*arcs[:5], ranks, side)
    return found


def _share(arcs: Arcs, weight: Ints, inside: NDArray[np.bool_]) -> float:
    """Return how many pairs cross a cut for each of its arcs."""
    nodes, out = int(weight[inside].sum()), int((inside[arcs.tail] & ~inside[arcs.head]).sum())
    return nodes * (int(weight.sum()) - nodes) / max(out, 1)


def _across_axis(grid: Grid) -> Separator | None:
    found = list[Separator]()
    for side in {side for side in grid.sides if side > 1}:
        layer = grid.nodes // side
        nodes = side // 2 * layer
        # an axis that wraps is cut at two places, unless its two layers have one link
        found.append(Separator(nodes, grid.nodes - nodes, layer * (2 if grid.wraps and side > 2 else 1)))
    return max(found, key=lambda cut: cut.pairs / cut.arcs, default=None)


def _orders(network: Network, arcs: Arcs) -> list[Ints]:
    every = np.arange(network.nodes)
    found = list[Ints]()
    for start in np.unique(np.linspace(0, network.nodes - 1, _STARTS).astype(np.int64)).tolist():
        far = network.distance(start, every)
        found += [np.argsort(far, kind="stable"), np.argsort(-far, kind="stable")]
        # The distances, smoothed again and again: what is left is the slowest difference over the network. Without the
        # mean it does not die out, and it is scaled so that it does not vanish.
        level = far - far.mean()
        degree = np.maximum(np.diff(arcs.first) + np.diff(arcs.into), 1)
        for _ in range(_SMOOTHED):
            around = np.bincount(arcs.tail, level[arcs.head], network.nodes)
            around += np.bincount(arcs.head, level[arcs.tail], network.nodes)
            level = level + around / degree
            level -= level.mean()
            level /= max(float(np.abs(level).max()), 1e-9)
        found += [np.argsort(level, kind="stable"), np.argsort(-level, kind="stable")]
    return found


def _beginning(arcs: Arcs, weight: Ints, order: Ints) -> NDArray[np.bool_]:
    """Return the best beginning of nodes in some order, as a side of a cut."""
    inside = np.zeros(len(order), np.bool_)
    inside[order[: _best_prefix(arcs, weight, order)]] = True
    return inside


def _separator(arcs: Arcs, weight: Ints, inside: NDArray[np.bool_]) -> Separator:
    nodes, out = int(weight[inside].sum()), int((inside[arcs.tail] & ~inside[arcs.head]).sum())
    leaving = inside[arcs.tail] & ~inside[arcs.head]
    to_arcs = _between(arcs, inside & (weight > 0), arcs.tail[leaving])
    beyond = _between(
        arcs, np.bincount(arcs.head[leaving], minlength=len(inside)) > 0, np.flatnonzero(~inside & (weight > 0))
    )
    return Separator(nodes, int(weight.sum()) - nodes, out, to_arcs + beyond)


def _best_prefix(arcs: Arcs, weight: Ints, order: Ints) -> int:
    """Return how many of the nodes in some order, from the first on, are the best cut: most pairs for each arc that leads out."""
    place = np.argsort(order)
    low, high = place[arcs.tail], place[arcs.head]
    # An arc from an earlier node to a later one leads out of all beginnings that end between them.
    begin, end = (np.bincount(ends[low < high], minlength=len(order)) for ends in (low, high))
    out, count = np.cumsum(begin - end)[:-1], np.cumsum(weight[order])
    pairs = np.where(out > 0, count[:-1] * (count[-1] - count[:-1]), 0)
    return int(np.argmax(pairs / np.maximum(out, 1))) + 1 if pairs.any() else 0


def _between(arcs: Arcs, start: NDArray[np.bool_], ends: NDArray[Any]) -> int:
    """Return how many arcs lead from the nearest of some nodes to the nearest of some others."""
    far = away(arcs, np.flatnonzero(start))[ends]
    return int(far[far >= 0].min(initial=len(start)))
