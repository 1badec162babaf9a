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

import numpy as np

from treecast.errors import NetworkError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.ways.trees import directions
from treecast.plans.ways.trees.hops import TreeHop, children_by, depth_by
from treecast.plans.ways.trees.rotated_tables import table
from treecast.schedule.trees import TreeSet

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


def rotated_trees(torus: Network, root: int = 0) -> TreeSet:
    """Return the trees at ``root`` as arrays of shape (2n, N).

    >>> from treecast.networks import network
    >>> rotated_trees(network("torus:8x8x8")).height
    13
    """
    from treecast.kernels.plans.rotated import fill

    torus.check_node(root)
    parent, port = np.empty((torus.ports, torus.nodes), np.int32), np.empty((torus.ports, torus.nodes), np.int8)
    fill(root, *_rule(torus), parent, port)
    return TreeSet(torus, root, parent, port)


def parent(torus: Network, node: int, tree: int, root: int = 0) -> TreeHop | None:
    """Return the parent of ``node`` in a tree, and the port from there; None at the root. It needs the label and nothing else."""
    from treecast.kernels.plans.rotated import arrive, see

    side, known, x, ahead, by = _rule(torus)
    if torus.check_node(node) == torus.check_node(root):
        return None
    see.interpret(node, root, side, x)
    arrive.interpret(x, side, known, ahead, by)
    axis, down = int(by[tree]) % len(x), int(by[tree]) >= len(x)
    return int(torus.neighbor(node, 2 * axis + 1 - down)), 2 * axis + down


children, depth_of = children_by(parent), depth_by(parent)


def _rule(torus: Network) -> tuple[int, Ints, Ints, Ints, Ints]:
    """Return the side, the table, and room for coordinates, positions ahead and arrivals, as the kernels take them."""
    axes, side = _known_shape(torus)
    ahead, by = np.zeros(2 * axes, np.int64), np.zeros(2 * axes, np.int64)
    return side, table(axes, side % 2 == 1), np.zeros(axes, np.int64), ahead, by


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
