"""One tree for each axis of a mesh or torus, from the label alone: as deep as a breadth-first tree where axes are long enough.

Seen from the root, tree i arrives at a node whose coordinate i is not 0 along the next axis, cyclically after i, on which its
coordinate is not 0 (axis i if there is no other), inwards; at any other node along axis i, from the neighbour that lies towards
the longer side. The axes along which the trees arrive at a node differ, so they share no arc; and the ways to a node share no
other node. On a mesh there are no more: a corner has as many links as there are axes of two or more nodes. Only these count here.
"""

import numpy as np

from treecast.errors import NetworkError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.grid import Grid
from treecast.plans.ways.trees.hops import Rule


def lacks_axes(network: Network) -> str:
    """Return why a network has no such trees; empty when its nodes have coordinates."""
    return "" if network.grid else "needs a mesh or torus"


def axes_of(network: Network) -> list[int]:
    """Return the axes of two or more nodes: tree i is that of the i-th."""
    return [axis for axis, side in enumerate(_grid(network).sides) if side > 1]


def depths(network: Network, root: int) -> list[int]:
    """Return the depth of each tree: the eccentricity, and 2 - r more if its axis has r < 2 nodes on the longer side.

    >>> from treecast.networks import network
    >>> depths(network("mesh:4x4"), 0), depths(network("mesh:2x5"), 0)
    ([6, 6], [6, 5])
    """
    axes, far = axes_of(network), network.eccentricity(root)
    if len(axes) == 1:
        return [far]
    reach = _reach(_grid(network), root)
    return [far + max(0, 2 - int(reach[axis])) for axis in axes]


def depth_of(network: Network, node: int, tree: int, root: int = 0) -> int:
    """Return the number of arcs from the root to ``node`` in a tree: the distance, and 2 more off the tree's own axis."""
    if node == root:
        return 0
    seen = _seen(_grid(network), root, np.array([node]))
    return int(np.abs(seen).sum()) + (0 if seen[axes_of(network)[tree], 0] else 2)


def _parents(network: Network, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    grid, axes = _grid(network), axes_of(network)
    seen, outwards = _seen(grid, root, nodes), _longer(grid, root)
    move = np.zeros((len(axes), len(nodes)), np.int64)  # how a tree arrives: 2 axis, + 1 if it comes down
    then = np.zeros(len(nodes), np.int64)
    for turn in range(2 * len(axes) - 1, -1, -1):  # in the second half of the turns all axes that follow are known
        axis = axes[turn % len(axes)]
        inwards, away = 2 * axis + (seen[axis] < 0), 2 * axis + int(outwards[axis] > 0)
        move[turn % len(axes)] = np.where(seen[axis] != 0, then, away)
        then = np.where(seen[axis] != 0, inwards, then)
    move = move[tree.ravel()]
    ports = np.cumsum([0, *(min(side - 1, 2) if grid.wraps else 2 for side in grid.sides)])
    single = np.array([grid.wraps and side == 2 for side in grid.sides])[move // 2]
    port = ports[move // 2] + np.where(single, 0, move % 2)
    back = ports[move // 2] + np.where(single, 0, 1 - move % 2)
    return network.neighbor(nodes, back), port


def _count(network: Network) -> int:
    return len(axes_of(network))


RULE = Rule(_parents, _count)
axis_trees, parent, children = RULE.trees, RULE.parent, RULE.children


def _longer(grid: Grid, root: int) -> Ints:
    """Return for each axis in which direction more nodes lie, 1 or -1; 1 if they are as many."""
    here = grid.coordinates(root)
    return np.where(here > np.array(grid.sides) - 1 - here, -1, 1) if not grid.wraps else np.ones_like(here)


def _reach(grid: Grid, root: int) -> Ints:
    """Return for each axis how far the root is from the farther end."""
    here, sides = grid.coordinates(root), np.array(grid.sides)
    return sides // 2 if grid.wraps else np.maximum(here, sides - 1 - here)


def _seen(grid: Grid, root: int, nodes: Ints) -> Ints:
    """Return the coordinates of nodes as seen from the root: (axes, nodes)."""
    gaps = grid.coordinates(nodes) - grid.coordinates(root)[:, None]
    half = (np.array(grid.sides)[:, None] - 1) // 2
    return (gaps + half) % np.array(grid.sides)[:, None] - half if grid.wraps else gaps


def _grid(network: Network) -> Grid:
    if network.grid is None:
        raise NetworkError(f"{network.spec} has no coordinates: trees of axes are for a mesh or torus")
    return network.grid
