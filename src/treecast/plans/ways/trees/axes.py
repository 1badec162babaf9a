"""One tree for each axis of a mesh or torus, from the label alone: as deep as a breadth-first tree where axes are long enough.

Seen from the root, tree i arrives at a node whose coordinate i is not 0 along the next axis, cyclically after i, on which its
coordinate is not 0 (axis i if there is no other), inwards; at any other node along axis i, from the neighbour that lies towards
the longer side. The axes along which the trees arrive at a node differ, so they share no arc; and the paths to a node share no
other node. On a mesh there are no more: a corner has as many links as there are axes of two or more nodes. Only these count here.
"""

import numpy as np
from numpy.typing import NDArray

from treecast.errors import NetworkError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.grid import Grid
from treecast.plans.ways.trees.hops import ParentRule


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
    seen = seen_from(network, root, np.array([node]))
    return int(np.abs(seen).sum()) + (0 if seen[axes_of(network)[tree], 0] else 2)


def _parents(network: Network, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    grid, axes, seen = _grid(network), axes_of(network), seen_from(network, root, nodes)
    axis = np.array(axes, np.int64)[next_ahead(np.arange(len(axes)), seen[axes] != 0)[tree.ravel()]]
    here = np.take_along_axis(seen, axis, axis=0)
    down = np.where(here == 0, _longer(grid, root)[axis] > 0, here < 0).astype(np.int64)
    # the first of each axis
    port = np.cumsum([0, *(min(side - 1, 2) if grid.wraps else 2 for side in grid.sides)])[axis]
    # a ring of two nodes has one port for both ways
    single = np.array([grid.wraps and side == 2 for side in grid.sides])[axis]
    return network.neighbor(nodes, port + np.where(single, 0, 1 - down)), port + np.where(single, 0, down)


def next_ahead(opposite: Ints, ahead: NDArray[np.bool_]) -> Ints:
    """Return the direction in which each tree arrives at nodes: the next, cyclically, in which a node is ahead, itself if alone.

    int64 (directions, nodes), as ``ahead``, bool. A node that is not ahead in the tree's own direction is reached in the opposite
    one; in its own where it is ahead in that.
    """
    by, then = np.empty(ahead.shape, np.int64), np.zeros(ahead.shape[1], np.int64)
    for turn in range(2 * len(ahead) - 1, -1, -1):  # in the second half of the turns all that follow are known
        number = turn % len(ahead)
        other = np.where(ahead[opposite[number]], number, opposite[number])
        by[number] = np.where(ahead[number], then, other)
        then = np.where(ahead[number], number, then)
    return by


RULE = ParentRule(_parents, lambda network: len(axes_of(network)), walked=depth_of)
axis_trees, parent, children = RULE.trees, RULE.parent, RULE.children


def _longer(grid: Grid, root: int) -> Ints:
    """Return for each axis in which direction more nodes lie, 1 or -1; 1 if they are as many."""
    here = grid.coordinates(root)
    return np.where(here > np.array(grid.sides) - 1 - here, -1, 1) if not grid.wraps else np.ones_like(here)


def _reach(grid: Grid, root: int) -> Ints:
    """Return for each axis how far the root is from the farther end."""
    here, sides = grid.coordinates(root), np.array(grid.sides)
    return sides // 2 if grid.wraps else np.maximum(here, sides - 1 - here)


def seen_from(network: Network, root: int, nodes: Ints) -> Ints:
    """Return the coordinates of nodes as seen from the root, where axes are joined -a/2 < x ≤ a/2: (axes, nodes)."""
    grid = _grid(network)
    gaps = grid.coordinates(nodes) - grid.coordinates(root)[:, None]
    return centred(gaps, np.array(grid.sides)[:, None]) if grid.wraps else gaps


def centred(gap: Ints, side: Ints | int) -> Ints:
    """Return the same gaps on axes whose ends are joined, -a/2 < x ≤ a/2."""
    return (gap + (side - 1) // 2) % side - (side - 1) // 2


def _grid(network: Network) -> Grid:
    grid = network.grid
    if grid is None:
        raise NetworkError(f"{network.spec} has no coordinates: trees of axes are for a mesh or torus")
    return grid
