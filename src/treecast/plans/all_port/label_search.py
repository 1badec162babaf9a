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

_FEW, _MANY = 1 << 12, 1 << 20  # moves between two reports, at first and at most


def find(
    trees: TreeSet,
    turned: NDArray[np.int32],
    masks: Ints,
    *,
    moves: int,
    hot: float,
    seed: int = 1,
    uses: Ints | None = None,
) -> Ints:
    """Return closed label sets, from others, that use the ports as evenly as so many moves can make them: int64 (N,).

    Parameters
    ----------
    trees
        The k disjoint trees of node 0.
    turned : int32 (turns, N)
        The rotations of each node that change together at first: k, or 1 where the network has no rotation.
    masks : int64 (N,)
        The labels with which the search begins: bit t for tree t. As many of each node but the root, fewer than k.
    moves
        How many moves of single nodes to make at most.
    hot
        The heat at first: how much worse a move may be. It falls to a fifth of that.
    seed
        The same number gives the same sets.
    uses : int64 (k,), optional
        How often each port is used already; it is added to.
    """
    from treecast.kernels.label_search import close, count_conflicts, level, search

    k, nodes = len(trees), trees.network.nodes
    parent, port = trees.parent, trees.port.astype(np.int32)
    up = parent.astype(np.int64) + np.arange(k)[:, None] * nodes
    up[parent < 0] = k * nodes
    up = up.reshape(-1)
    first = starts(np.bincount(up, minlength=k * nodes + 1))
    child = (np.argsort(up, kind="stable") % nodes).astype(np.int32)
    size, copies = _sizes(turned), int(masks[1]).bit_count()
    masks, dice = masks.copy(), np.array([seed * 88172645463325252 % 2**64], np.uint64)
    uses = np.zeros(k, np.int64) if uses is None else uses
    before = uses.copy()
    conflicts, place = np.empty((2, k * nodes), np.int64)
    most = -(-(copies * (nodes - 1) + int(uses.sum())) // k)
    left = int(count_conflicts(parent, port, masks, uses, conflicts, place))
    stages = (True, False) if len(turned) > 1 else (False,)
    for together in stages:
        total, done, block = moves // len(stages) // (k if together else 1), 0, _FEW
        while done < total and (left or int(uses.max()) > most or int(uses.min()) < most - 1):
            made, left = search(
                parent,
                port,
                first,
                child,
                turned,
                size,
                masks,
                uses,
                conflicts,
                place,
                left,
                most,
                min(block, total - done),
                done,
                total,
                hot,
                together,
                dice,
            )
            done, block = done + made, min(2 * block, _MANY)
            report(moves // len(stages) * (not together) + done * (k if together else 1), moves, "moves of the search")
    close(parent, first, child, masks, copies)
    uses[:] = before
    level(parent, port, first, child, masks, uses)
    return masks


def _sizes(turned: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how many rotations of each node differ."""
    turns, nodes = len(turned), len(turned[0])
    size = np.full(nodes, turns, np.int32)
    for times in range(turns - 1, 0, -1):
        size[turned[times] == np.arange(nodes)] = times
    return size
