"""The search for closed label sets by which every port is used alike: the method of least conflicts, with heat.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
It begins with any sets of x labels, closed or not, and exchanges labels one at a time until all are closed and the uses of any
two ports differ by at most 1 (kernels/label_search.py). At first all rotations of a node change together, then every node by
itself. What is not closed at the end gets the labels that it lacks. Source: treecast's own, after Minton, Johnston, Philips &
Laird, "Minimizing Conflicts: a Heuristic Repair Method" (1992).
"""

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.progress import report
from treecast.ragged import starts
from treecast.schedule.trees import TreeSet

_BLOCK = 1 << 20  # moves between two reports
_SEED = 88172645463325252


def find(trees: TreeSet, turned: NDArray[np.int32], masks: Ints, copies: int, moves: int, hot: float) -> Ints:
    """Return closed label sets, from others, that use the ports as evenly as so many moves can make them: int64 (N,).

    Parameters
    ----------
    trees
        The k disjoint trees of node 0.
    turned : int32 (k, N)
        The rotations of each node.
    masks : int64 (N,)
        The labels with which the search begins, ``copies`` of each node but the root.
    copies
        x, less than k.
    moves
        How many moves of single nodes to make at most; half of them, all rotations of a node at once.
    hot
        The heat at first: how much worse a move may be. It falls to a fifth of that.
    """
    from treecast.kernels.label_search import close, count_conflicts, search

    k, nodes = len(trees), trees.network.nodes
    parent, port = trees.parent, trees.port.astype(np.int32)
    up = parent.astype(np.int64) + np.arange(k)[:, None] * nodes
    up[parent < 0] = k * nodes
    up = up.reshape(-1)
    first = starts(np.bincount(up, minlength=k * nodes + 1))
    child = (np.argsort(up, kind="stable") % nodes).astype(np.int32)
    size = _sizes(turned)
    masks, dice = masks.copy(), np.array([_SEED], np.uint64)
    uses, conflicts = np.zeros(k, np.int64), np.empty(k * nodes, np.int64)
    place = np.empty(k * nodes, np.int64)
    most = -(-copies * (nodes - 1) // k)
    left = int(count_conflicts(parent, port, masks, uses, conflicts, place))
    for together in (True, False):
        total = moves // 2 // (k if together else 1)
        done = 0
        while done < total and (left or int(uses.max()) > most or int(uses.min()) < most - 1):
            made, left = search(
                parent, port, first, child, turned, size, masks, uses, conflicts, place, left, most,
                min(_BLOCK, total - done), done, total, hot, together, dice,
            )  # fmt: skip
            done += made
            report(moves // 2 * (not together) + done * (k if together else 1), moves, "moves of the search")
    close(parent, first, child, masks, copies)
    return masks


def _sizes(turned: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how many rotations of each node differ."""
    k, nodes = len(turned), len(turned[0])
    size = np.full(nodes, k, np.int32)
    for times in range(k - 1, 0, -1):
        size[turned[times] == np.arange(nodes)] = times
    return size
