"""Four disjoint trees on a torus of two axes, each of three or more nodes. Source: treecast's own.

Seen from the root (0, 0), tree 0 begins up axis 0, tree 1 down axis 0, tree 2 up axis 1, tree 3 down axis 1. To a node (i, j)
that is neither in the first nor in the last row or column, with last row I and last column J, they lead

- by tree 0 through column 0 to row i, and along it up to j;
- by tree 1 to (I, 0), along row I up to j, and down column j to i;
- by tree 2 along row 0 to column j, and up it to i;
- by tree 3 to (0, J), up column J to row i, and down it to j.

These share no node but the ends, since 0 < i < I and 0 < j < J. Nodes in the first and last row and column have ways of their
own, of which the table below has the last arcs: tests compare all ways on tori of up to 9 x 9 nodes.
"""

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Network, Torus
from treecast.schedule.trees import TreeSet

_ARRIVES = {  # for each part of the torus, the port over which a node receives in the trees 0 … 3; +0, -0, +1, -1
    "inside": (2, 1, 0, 3),
    "last column": (3, 1, 2, 0),
    "last row": (0, 2, 1, 3),
    "first row": (1, 0, 2, 3),
    "first column": (0, 1, 3, 2),
    "last of both": (0, 3, 2, 1),
}


def lacks_axes(network: Network) -> str:
    """Return why a network has no such trees; empty when it is a torus of two axes of three or more nodes."""
    sides = [side for side in network.grid.sides if side > 1] if network.grid else []
    return "" if len(sides) == 2 and min(sides) > 2 else "needs a torus of two axes of three or more nodes"


def disjoint_trees(torus: Torus) -> TreeSet:
    """Return the four disjoint trees of node 0 as arrays of shape (4, N).

    Raises
    ------
    PlanError
        On any torus that has not two axes of three or more nodes; axes of one node do not count.
    """
    if reason := lacks_axes(torus):
        raise PlanError(f"there are no such trees on {torus.spec}: it {reason}")
    every = np.arange(torus.nodes)
    last, end = (side - 1 for side in torus.sides if side > 1)
    row, column = np.divmod(every, end + 1)
    parts = {
        "last of both": (row == last) & (column == end),
        "first column": column == 0,
        "first row": row == 0,
        "last row": row == last,
        "last column": column == end,
    }
    port = np.select(
        [part[None, :] for part in parts.values()],
        [np.array(_ARRIVES[name])[:, None] for name in parts],
        np.array(_ARRIVES["inside"])[:, None],
    )
    back = np.array([1, 0, 3, 2])
    parent = torus.neighbor(every, back[port]).astype(np.int32)
    parent[:, 0] = port[:, 0] = -1
    return TreeSet(torus, 0, parent, port.astype(np.int8))
