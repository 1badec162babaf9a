"""As many disjoint trees on a torus as it has ports: each node tells its parents from its own label.

A *position* is a direction: up axis 0, up axis 1, …, down axis 0, down axis 1, …; an axis of two nodes has one, its own opposite,
and one of a single node none. Seen from the root, a coordinate lies between -a/2 (not included) and a/2 on an axis of a nodes. A
node is *ahead* in the positions along whose axes it lies in that direction. Tree s arrives at it

- where it is ahead in s: in the direction of the next position, cyclically after s, in which it is ahead (s, if alone);
- where its coordinate on the axis of s is 0: against the direction of s;
- else, being ahead in the opposite of s: in the direction of s, the long way round.

Trees arrive at a node in different directions, so they share no arc; and the paths to a node share no other node. Where
all axes have two nodes these are the trees of Johnsson & Ho (1989); there are as many as those of Tang, Yang, Wang & Chang,
"Independent spanning trees on multidimensional torus networks" (2010).
"""

from typing import NamedTuple

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.ways.trees.axes import centred, next_ahead, seen_from
from treecast.plans.ways.trees.disjoint import DisjointTrees
from treecast.plans.ways.trees.hops import ParentRule, check_tree


class Position(NamedTuple):
    """A direction: along which axis, up (1) or down (-1), over which port; and the number of the opposite position."""

    axis: int
    way: int
    port: int
    opposite: int


def positions(torus: Network) -> list[Position]:
    """Return the positions of a torus, one for each port; tree s is that of position s."""
    sides = _sides(torus)
    moves = [(axis, 1) for axis, side in enumerate(sides) if side > 1]
    moves += [(axis, -1) for axis, side in enumerate(sides) if side > 2]
    first = np.cumsum([0, *(min(side - 1, 2) for side in sides)])
    number = {move: at for at, move in enumerate(moves)}
    return [
        Position(axis, way, int(first[axis]) + (way < 0), number.get((axis, -way), number[axis, 1]))
        for axis, way in moves
    ]


def exact_depth(torus: Network) -> int:
    """Return the depth of the trees in arcs: Σ⌊a/2⌋ + max(⌈a/2⌉ of the longest axis, 2) - 1; 1 on two nodes."""
    if torus.nodes <= 2:
        return torus.nodes - 1
    sides = _sides(torus)
    return sum(side // 2 for side in sides) + max((max(sides) + 1) // 2, 2) - 1


def hops(torus: Network, nodes: Ints, by: Ints) -> tuple[Ints, Ints]:
    """Return the parents of nodes at which trees arrive in the positions ``by``, and the ports from there."""
    known = positions(torus)
    port = np.array([at.port for at in known], np.int64)
    # the parent lies against the direction in which a tree arrives
    return torus.neighbor(nodes, port[_opposites(known)][by]), port[by]


def _parents(torus: Network, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    return hops(torus, nodes, _arrivals(positions(torus), seen_from(torus, root, nodes))[tree.ravel()])


RULE = ParentRule(_parents)
disjoint_trees, parent, children = RULE.trees, RULE.parent, RULE.children


def depth_of(torus: Network, node: int, tree: int, root: int = 0) -> int:
    """Return the number of arcs from the root to ``node`` in a tree: a few strides, however long the axes."""
    known, sides, depth = positions(torus), _sides(torus), 0
    check_tree(torus, tree)
    seen = seen_from(torus, root, np.array([node]))
    while seen.any():
        by = known[int(_arrivals(known, seen)[tree, 0])]
        side, here = sides[by.axis], int(seen[by.axis, 0]) * by.way
        if here > 0:
            stride = here  # to where the coordinate is 0
        elif here == 0:
            stride = 1
        else:  # to where it changes its sign, half way round
            stride = (side + 1) // 2 + here if by.way > 0 else side // 2 + 1 + here
        depth += stride
        seen[by.axis, 0] = centred(seen[by.axis, 0] - stride * by.way, side)
    return depth


def _arrivals(known: list[Position], seen: Ints) -> Ints:
    """Return in which positions the trees arrive at nodes that are seen at coordinates, (axes, nodes): (trees, nodes)."""
    ahead = np.array([seen[at.axis] * at.way > 0 for at in known], np.bool_).reshape(len(known), seen.shape[1])
    return next_ahead(_opposites(known), ahead)


def _opposites(known: list[Position]) -> Ints:
    return np.array([at.opposite for at in known], np.int64)


def _sides(torus: Network) -> tuple[int, ...]:
    return torus.grid.sides if torus.grid else ()


def _none_is_shallower(torus: Network) -> bool:
    """Say that the trees meet the bound of k disjoint trees, the diameter + 1, or that there is one axis."""
    return torus.ports <= 2 or exact_depth(torus) == torus.diameter + 1


DISJOINT_TREES = DisjointTrees(
    _parents, walked=depth_of, family="torus", depth=exact_depth, none_is_shallower=_none_is_shallower
)
