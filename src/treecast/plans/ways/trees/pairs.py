"""Pairs of trees over links of unlike capacity: the ways of a pair to a node share nothing, and few load a thin link.

Nodes are numbered by ears: paths from one numbered node through others to another numbered node, which get numbers between.
So each has a neighbour with a lower number and one with a higher, the root being both ends, and the ways down and up the numbers
share no node (Itai & Rodeh, "The multi-tree approach to reliability", 1988). An arc is dear when many trees take it beside
its cables, and the ears are cheap. Pairs are chosen anew a few times, each beside all others. At last the trees of a pair become
shallower by exchanges of arcs that load no link more than before.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.against import Against
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of, cables_of, sorted_arcs
from treecast.networks.kept import kept
from treecast.plans.ways.trees.independent import needs_of
from treecast.plans.ways.trees.packed import exchanged, tree_set
from treecast.schedule.trees import TreeSet

_PASSES, _TRIES = 3, 8  # how often a pair is chosen, and of how many numberings at most
_ALL_TRIES = 2**7  # numberings of all pairs, in a pass
# the power by which prices grow with the load, and the cost of an arc more, beside the mean price
_STEEP, _LATER = 4, 0.02
_LUCK = 0.5  # by which share prices of ears are random
_MOVES, _SHORTER = 100, 12  # moves of an attempt to have a tree less deep, for each node, and attempts
_MOST_NODES = 2**7


@kept(16)
def priced_pairs(
    network: Network, roots: tuple[int, ...], against: Against, seed: int = 1
) -> tuple[TreeSet, ...] | None:
    """Return a pair of trees from each of some roots, which may be equal; None where a node or a one-way arc cuts others off.

    The ways of a pair to a node share no other node, and so no link. ``against``: what they are not to share, ``"nodes"`` or
    ``"links"``, when they become shallower.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> [len(pair) for pair in priced_pairs(network(nx.ladder_graph(4)), (0, 0, 5), "nodes")]
    [2, 2, 2]
    """
    arcs, chance = arcs_of(network, single=True), np.random.default_rng(seed)
    cables, load = cables_of(network)[arcs_of(network).number(arcs.tail, arcs.port)], np.zeros(len(arcs.head))
    up = np.full((len(roots), 2, network.nodes), -1, np.int32)
    tries = min(-(-_ALL_TRIES // len(roots)), _TRIES)
    # 1. the pairs, each beside all others
    for which in list(range(len(roots))) * _PASSES:
        load -= _times(arcs, up[which])  # its own old pair is no burden
        price = ((load + 1) / cables) ** _STEEP
        price /= price.mean()
        tried = (_numbered_trees(arcs, roots[which], price + _LATER, chance) for _ in range(tries))
        found = [trees for trees in tried if trees is not None]
        if not found:
            return None
        up[which] = min(found, key=lambda trees: price[trees[trees >= 0]].sum())
        load += _times(arcs, up[which])
    # 2. shallower ones over arcs that have room
    full = (load / cables).max()
    for root, pair in zip(roots, up, strict=True):
        load -= _times(arcs, pair)
        room = np.flatnonzero((load + 1) / cables <= full)
        part = sorted_arcs(arcs.tail[room], arcs.head[room], arcs.port[room], network.nodes)
        place = np.full(len(arcs.head) + 1, -1, np.int32)
        place[room] = np.arange(len(room))
        pair[:] = np.append(room, -1)[_shorter(network, root, place[pair], part, against)]
        load += _times(arcs, pair)
    return tuple(tree_set(network, root, pair, arcs) for root, pair in zip(roots, up, strict=True))


def has_thin_links(network: Network, against: Against) -> bool:
    """Return whether pairs of trees are worth a try: where links have unlike numbers of cables, and lead both ways."""
    if against == "arcs" or not network.both_ways or network.nodes > _MOST_NODES:
        return False
    return len(np.unique(cables_of(network))) > 1


def _times(arcs: Arcs, up: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.bincount(up[up >= 0], minlength=len(arcs.head))


class _Entry(NamedTuple):
    """An arc by which a node may hear: its number, the node that it leaves, and its price."""

    arc: int
    tail: int
    price: float


def _numbered_trees(
    arcs: Arcs, root: int, price: NDArray[np.float64], chance: np.random.Generator
) -> NDArray[np.int32] | None:
    """Return a pair of trees by one numbering, int32 (2, N): down the numbers, and up them; None where there is none."""
    into = _steps(arcs, price)
    order = _order(_steps(arcs, price * (1 + _LUCK * chance.exponential(size=len(price)))), root)
    if order is None:
        return None
    number, up = {v: at for at, v in enumerate(order)}, np.full((2, len(into)), -1, np.int32)
    for tree, nodes in ((0, order[1:]), (1, order[:0:-1])):
        depth = [0.0] * len(into)
        for v in nodes:
            able = [each for each in into[v] if each.tail != root and (number[each.tail] < number[v]) != bool(tree)]
            higher = any(number[each.tail] > number[v] for each in into[v])
            if (not tree and higher) or (tree and (up[0, v] < 0 or arcs.tail[up[0, v]] != root)):
                able += [each for each in into[v] if each.tail == root]  # an end of both sides, but not of both trees
            best = min(able, key=lambda each: each.price + _LATER * depth[each.tail])
            up[tree, v], depth[v] = best.arc, depth[best.tail] + 1
    return up


def _steps(arcs: Arcs, price: NDArray[np.float64]) -> list[list[_Entry]]:
    """Return the arcs into each node."""
    parts = np.split(arcs.entering, arcs.into[1:-1])
    columns = ((part.tolist(), arcs.tail[part].tolist(), price[part].tolist()) for part in parts)
    return [[_Entry(*each) for each in zip(*three, strict=True)] for three in columns]


def _order(into: list[list[_Entry]], root: int) -> list[int] | None:
    """Return the nodes in the order of their numbers, the root first, by cheap ears; None where ears do not reach all."""
    out: list[list[_Entry]] = [[] for _ in into]
    for v, steps in enumerate(into):
        for each in steps:
            out[each.tail].append(each._replace(tail=v))  # seen from there, it is where the arc leads
    after, inside = {root: root}, {root}  # who follows whom in a circle through the root
    while len(inside) < len(into):
        ear = _cheapest_ear(into, out, inside)
        if ear is None:
            return None
        first, *nodes, last = ear
        walk = after[first]
        while walk not in (root, last):  # which end of the ear comes first?
            walk = after[walk]
        if first != root and walk != last:  # the last one comes first in the circle
            first, nodes = last, nodes[::-1]
        following = after[first]
        for one, two in zip([first, *nodes], [*nodes, following], strict=True):
            after[one] = two
        inside.update(nodes)
    order = [root]
    while after[order[-1]] != root:
        order.append(after[order[-1]])
    return order


def _cheapest_ear(into: list[list[_Entry]], out: list[list[_Entry]], inside: set[int]) -> list[int] | None:
    """Return the nodes of a path from one inside through others to another inside, the cheapest from both its ends.

    The first one begins and ends at the root, which is alone inside, and does not go back by the link by which it came.
    """
    # 1. the cheapest ways out, and where each begins: at a node inside, or by which node it leaves the root
    alone, waiting = len(inside) == 1, list[tuple[float, int, int, int]]()
    cost, begun, above = dict[int, float](), dict[int, int](), dict[int, int]()
    for u in inside:
        for _, v, price in out[u]:
            if v not in inside:
                heappush(waiting, (price, v, u, v if alone else u))
    while waiting:
        far, v, u, start = heappop(waiting)
        if v not in cost:
            cost[v], above[v], begun[v] = far, u, start
            for _, w, price in out[v]:
                if w not in inside and w not in cost:
                    heappush(waiting, (far + price, w, v, start))
    # 2. two of them that meet, or one and an arc
    ears = list[tuple[float, int, int]]()
    for v, far in cost.items():
        for _, w, price in into[v]:
            end = begun[w] if w in cost else v if alone else w
            if begun[v] != end:
                ears.append((far + cost.get(w, price), v, w))
    if not ears:
        return None
    _, v, w = min(ears)
    return [*_way_out(above, inside, v), *_way_out(above, inside, w)[::-1]]


def _way_out(above: dict[int, int], inside: set[int], node: int) -> list[int]:
    way = [node]
    while way[-1] not in inside:
        way.append(above[way[-1]])
    return way[::-1]


def _shorter(network: Network, root: int, up: NDArray[np.int32], arcs: Arcs, against: Against) -> NDArray[np.int32]:
    """Return a pair of trees over some arcs that is not deeper."""
    needs, least = needs_of(arcs, root, against), least_depth(network, root, 2)
    for turn in range(_SHORTER):
        height, tried = tree_set(network, root, up, arcs).height, up.copy()
        if height <= least:
            break
        if exchanged(arcs, tried, height - 1, _MOVES * up.size, turn + 1, needs=needs) >= 0:
            up = tried
    return up
