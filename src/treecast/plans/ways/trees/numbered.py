"""Two trees of any network whose ways to each node share no other node, or no link, by numbering its nodes: no search.

Communication model: none; all links lead both ways.
In a block, a part that no single node cuts, the nodes can be numbered between a root and one of its neighbours such that every
other node has a neighbour with a lower number and one with a higher (Lempel, Even & Cederbaum 1967; found as by Tarjan, "Two
streamlined depth-first search algorithms", 1986). The way down the numbers to the root, and the way up them to that neighbour and
on to the root, have no node between in common (Itai & Rodeh, "The multi-tree approach to reliability", 1988).

Two node-disjoint paths lead to a node if it is in a block with the root. Two link-disjoint paths lead to it if every block on the
way has three nodes: the node that a block hangs from is the root of that block, and its own two ways share no link already.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.against import Against
from treecast.networks.arcs import Arcs


def two_trees(arcs: Arcs, root: int, against: Against = "nodes") -> NDArray[np.int32]:
    """Return the arc by which each node hears in each of two trees: int32 (2, N), -1 at the root.

    It is -1 also where two such ways do not lead. Of the arcs that the numbers allow, a node takes one by which it is
    shallowest. ``arcs``: all of them, one at most from one node to another, each with an arc back. ``against``: the ways share no
    ``"nodes"``, or no ``"links"``.

    >>> from treecast.networks import network
    >>> from treecast.networks.arcs import arcs_of
    >>> arcs = arcs_of(network("ring:5"))
    >>> [arcs.tail[up].tolist() for up in two_trees(arcs, 0)[:, 1:]]
    [[2, 3, 4, 0], [0, 1, 2, 3]]
    """
    nodes = len(arcs.first) - 1
    around = [
        list(zip(part.tolist(), arcs.tail[part].tolist(), strict=True))
        for part in np.split(arcs.entering, arcs.into[1:-1])
    ]
    found, depth, seen = np.full((2, nodes), -1, np.int32), [[0] * nodes, [0] * nodes], _search(around, root)
    for numbers in _numbered(seen):
        top = numbers[0]
        if len(numbers) > 2 and (top == root or (against == "links" and found[0, top] >= 0)):
            _hang(around, numbers, found, depth)
    return found


class _DepthFirst(NamedTuple):
    """A search in depth: nodes in order, the place of each, whom it was seen from, and the first that is seen from below it."""

    order: list[int]
    place: dict[int, int]
    above: dict[int, int]
    low: dict[int, int]


def _search(around: list[list[tuple[int, int]]], root: int) -> _DepthFirst:
    order, place, above, low = [root], {root: 0}, {root: -1}, {root: root}
    waiting = [(root, iter(around[root]))]  # a stack of our own: networks are deeper than Python's
    while waiting:
        u, ahead = waiting[-1]
        for _, v in ahead:
            if v not in place:
                place[v], above[v], low[v] = len(order), u, v
                order.append(v)
                waiting.append((v, iter(around[v])))
                break
            if v != above[u]:
                low[u] = min(low[u], v, key=place.__getitem__)
        else:
            waiting.pop()
            if u != root:
                low[above[u]] = min(low[above[u]], low[u], key=place.__getitem__)
    return _DepthFirst(order, place, above, low)


def _numbered(seen: _DepthFirst) -> list[list[int]]:
    """Return the nodes of each block in the order of their numbers, the one that it hangs from first; outer blocks first.

    A node comes just before or behind the one that it was seen from: on the side where the first node seen from below it lies.
    """
    first, after, before, lower = dict[int, int](), dict[int, dict[int, int]](), dict[int, dict[int, int]](), set[int]()
    for v in seen.order[1:]:
        up, low = seen.above[v], seen.low[v]
        if seen.place[low] >= seen.place[up]:  # nobody below v sees farther: v begins a block
            first[v], after[v], before[v] = v, {up: v}, {v: up}
            continue
        block = first[v] = first[up]
        ahead, behind = after[block], before[block]
        # lower: those behind which the last node stands that was seen from them
        if low in lower or low == seen.above[block]:
            one, other = behind[up], up
            lower.discard(up)
        else:
            one, other = up, ahead[up]
            lower.add(up)
        ahead[one], ahead[v], behind[v], behind[other] = v, other, one, v
    found = list[list[int]]()
    for block, ahead in after.items():
        numbers = [seen.above[block]]
        while numbers[-1] in ahead:
            numbers.append(ahead[numbers[-1]])
        found.append(numbers)
    return found


def _hang(
    around: list[list[tuple[int, int]]], numbers: list[int], found: NDArray[np.int32], depth: list[list[int]]
) -> None:
    """Let each node of a block hear in tree 0 from one with a lower number, and in tree 1 from one with a higher.

    The last, a neighbour of the first, hears from it in tree 1, and from nobody else there; nor from it in tree 0.
    """
    number, top, last = {v: at for at, v in enumerate(numbers)}, numbers[0], numbers[-1]
    for tree, nodes, sign in ((0, numbers[1:], 1), (1, numbers[:0:-1], -1)):  # up the numbers, and down them
        for v in nodes:
            if tree == 1 and v == last:
                able = [(arc, u) for arc, u in around[v] if u == top]
            else:
                able = [
                    (arc, u)
                    for arc, u in around[v]
                    # a node of another block has no number here
                    if sign * number.get(u, number[v]) < sign * number[v] and not (u == top and tree + (v == last))
                ]
            arc, u = min(able, key=lambda each: depth[tree][each[1]])
            found[tree, v], depth[tree][v] = arc, depth[tree][u] + 1
