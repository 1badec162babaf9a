"""Trees of a torus with equal sides: one for each port, rotations of one another, as shallow as there can be on most sizes.

A *position* is a direction: up axis 0, up axis 1, …, down axis 0, down axis 1, …, 2n of them. Seen from the root, coordinates
lie between -a/2 (not included) and a/2. R(x_1 … x_n) = (-x_n, x_1 … x_(n-1)) keeps the root and turns each position into the
next. Tree s arrives at v in the position s + p, where p is that of tree 0 at R^-s(v): so the trees are rotations of tree 0.

They follow the rule of any torus (directions.py), but there few nodes lie too deep: those with no coordinate 0 and one *slack*
h - |x_i|, h = ⌊a/2⌋, as large as all others together. Here some trees take each other's arcs at such nodes, as a table says:
u, the position of axis i; U, its opposite; w and p, the next and the previous position in which the node is ahead; and W, the
opposite of w. On two axes the table says the positions of all four trees, for nodes with x > 0 and 0 < y < a/2; others are
turned there. On an axis on which a node is half way round, it is ahead in the position of the next axis that decides, turned
back.

The trees share no arc, but the ways of two may meet at a node: they are for one copy. Source: treecast's own.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from treecast.errors import NetworkError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.ways.trees import axes as axis_trees
from treecast.plans.ways.trees import directions
from treecast.plans.ways.trees.hops import ParentRule
from treecast.plans.ways.trees.rotated_tables import table

_EXTRA = {(4, 16): 1, (4, 18): 1, (5, 16): 1, (5, 18): 1} | {(4, side): 2 for side in range(20, 33, 2)}
"""By how much the trees are deeper than the diameter + 1, by axes and side; else not at all."""


def lacks_equal_sides(network: Network) -> str:
    """Return why a network has no such trees, or none known to be shallower than those of any torus; empty when it has."""
    shape = _shape(network)
    if shape is None:
        return "needs a torus with equal sides of three or more nodes"
    if not _is_known(*shape) or exact_depth(network) >= directions.exact_depth(network):
        return "needs a torus on which its trees are known to be shallower than those of disjoint-trees"
    return ""


def exact_depth(torus: Network) -> int:
    """Return the depth of the trees: the diameter + 1, but a little more on some tori of four and five axes.

    >>> from treecast.networks import network
    >>> exact_depth(network("torus:8x8x8")), exact_depth(network("torus:64x64"))
    (13, 65)
    """
    axes, side = _known_shape(torus)
    return axes * (side // 2) + 1 + _EXTRA.get((axes, side), 0)


def none_is_shallower(network: Network) -> bool:
    """Return whether a network has such trees, and they meet the bound of as many that share no arc: the diameter + 1."""
    return not lacks_equal_sides(network) and exact_depth(network) == network.diameter + 1


def _parents(torus: Network, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    return directions.hops(torus, nodes, _arrivals(torus, root, nodes)[tree.ravel()])


RULE = ParentRule(_parents)
rotated_trees, parent, children, depth_of = RULE.trees, RULE.parent, RULE.children, RULE.depth_of


def _arrivals(torus: Network, root: int, nodes: Ints) -> Ints:
    """Return in which positions the trees arrive at some nodes: (trees, nodes); those at the root mean nothing."""
    (axes, side), x = _known_shape(torus), axis_trees.seen_from(torus, root, nodes)
    ahead, off = _ahead(x, side), (x != 0).all(axis=0)
    between = ((x != 0) & (2 * x != side)).any(axis=0)
    # nodes that some rotation carries to themselves: on each axis they are ahead both ways
    turned = ~between & (np.count_nonzero(x, axis=0) > 1)
    ahead[:, turned] = np.tile(x[:, turned] != 0, (2, 1))
    by = axis_trees.next_ahead(np.roll(np.arange(2 * axes), axes), ahead)
    some, known = np.flatnonzero(off & between), table(axes, side % 2 == 1)
    if axes == 2:
        by[:, some] = _looked_up(x[:, some], side, known)
    else:
        _exchange(side // 2 - np.abs(x[:, some]), some, known, ahead, by)
    return by


def _ahead(x: Ints, side: int) -> NDArray[np.bool_]:
    """Return the positions that nodes are ahead in, bool (positions, nodes); half way round as the module says."""
    axes, half, way = len(x), 2 * x == side, np.sign(x)
    for axis, turns in product(range(axes), range(axes - 1, 0, -1)):
        other = (axis + turns) % axes
        decides = half[axis] & ~half[other] & (x[other] != 0)
        way[axis, decides] = np.sign(x[other, decides]) * (1 if other > axis else -1)
    return np.concatenate([way > 0, way < 0])


def _exchange(slack: Ints, some: Ints, known: Ints, ahead: NDArray[np.bool_], by: Ints) -> None:
    """Let trees take each other's arcs, at some nodes, where one slack is as large as all others together."""
    most, total = slack.max(axis=0), slack.sum(axis=0)
    fits = (2 * most >= total) & (total > 0)
    slack, some, most, total = slack[:, fits], some[fits], most[fits], total[fits]
    axes, every, first = len(slack), np.arange(len(some)), slack.argmax(axis=0)
    ahead, last = ahead[:, some], axes - 1 - slack[::-1].argmax(axis=0)
    u: Ints = first + axes * ~ahead[first, every]
    other: Ints = last + axes * ~ahead[last, every]  # of two such axes that which the other follows within half a turn
    u = np.where((2 * most == total) & ((other - u) % (2 * axes) >= axes), other, u)
    w = p = u
    for turns in range(2 * axes - 1, 0, -1):
        after, before = (u + turns) % (2 * axes), (u - turns) % (2 * axes)
        w, p = np.where(ahead[after, every], after, w), np.where(ahead[before, every], before, p)
    following = slack[w % axes, every]
    gain, behind = np.minimum(2 * most - total, 1), (w - u) % (2 * axes)
    takes = known[gain, most % 2, following % 2, np.minimum(following, 1), behind].T
    roles = np.stack([u, (u + axes) % (2 * axes), p, w, (w + axes) % (2 * axes)])
    by[roles, some] = np.take_along_axis(by[roles, some], takes, axis=0)


def _looked_up(x: Ints, side: int, known: Ints) -> Ints:
    """Return the positions of the four trees at nodes off the axes of a torus of two, where some turns carry them."""
    here, turns = x, np.zeros(x.shape[1], np.int64)
    # turned to where the table has them: x > 0 and 0 < y < a/2
    while (on := (here <= 0).any(axis=0) | (2 * here[1] == side)).any():
        turned = np.concatenate([here[1:], np.where(2 * here[:1] == side, here[:1], -here[:1])])
        here, turns = np.where(on, turned, here), turns + on
    slack: Ints = side // 2 - here
    row = (np.sign(here[1] - here[0]) + 1, *(slack % 2), *np.minimum(here, 2), *np.minimum(slack, 1))
    # the trees are turned back as nodes were turned
    return (np.take_along_axis(known[row].T, (np.arange(4)[:, None] - turns) % 4, axis=0) + turns) % 4


def _shape(network: Network) -> tuple[int, int] | None:
    """Return how many axes a torus has, and how many nodes each; None if it has one axis, or sides that differ or are below 3."""
    grid = network.grid
    if grid is None or not grid.wraps or len(grid.sides) < 2 or len(set(grid.sides)) > 1 or grid.sides[0] < 3:
        return None
    return len(grid.sides), grid.sides[0]


def _known_shape(torus: Network) -> tuple[int, int]:
    shape = _shape(torus)
    if shape is None:
        raise NetworkError(f"{torus.spec} is no torus with equal sides of three or more nodes")
    return shape


def _is_known(axes: int, side: int) -> bool:
    """Return whether the depth has been checked, node by node."""
    if side % 2:
        return side in {2: range(9, 402), 3: range(7, 64)}.get(axes, ())
    return 8 <= side <= {2: 1024, 3: 128, 4: 32, 5: 18, 6: 12, 7: 8}.get(axes, 0)
