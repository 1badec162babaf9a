"""The search for closed label sets by which every port is used alike: the method of least conflicts, with heat.

It begins with any sets of x labels, closed or not, and exchanges labels one at a time until all are closed and the uses of any
two ports differ by at most 1 (papers/kernels/label_search.py). A set that is not closed at the end gets the labels that it
lacks. Source: treecast's own, after Minton, Johnston, Philips & Laird, "Minimizing Conflicts: a Heuristic Repair Method" (1992).
"""

import numpy as np

from treecast.networks.core import Ints
from treecast.progress import report
from treecast.ragged import starts
from treecast.schedule.trees import TreeSet

_FEW, _MANY = 1 << 12, 1 << 20  # moves between two reports, at first and at most


def find(trees: TreeSet, masks: Ints, *, moves: int, hot: float, seed: int = 1, uses: Ints | None = None) -> Ints:
    """Return closed label sets, int64 (N,), that use the ports as evenly as so many ``moves`` can make them.

    ``trees``: the k disjoint trees of node 0. ``masks``, int64 (N,): the labels to begin with, bit t for tree t, as many of
    each node but the root, fewer than k. ``hot``: how much worse a move may be at first; the heat falls to a fifth. The same
    ``seed`` gives the same sets. ``uses``, int64 (k,): how often each port is used already; it is added to.
    """
    from treecast.papers.kernels.label_search import close, level, search

    k, nodes = len(trees), trees.network.nodes
    parent, port = trees.parent, trees.port.astype(np.int32)
    # Node v of tree t has place t·N + v. A last place is for all that have no parent.
    up = parent.astype(np.int64) + np.arange(k)[:, None] * nodes
    up[parent < 0] = k * nodes
    up = up.reshape(-1)
    first = starts(np.bincount(up, minlength=k * nodes + 1))
    # The trees turned round: the children of place p are child[first[p]] … child[first[p+1] - 1].
    child = (np.argsort(up, kind="stable") % nodes).astype(np.int32)
    copies, masks, state = int(masks[1]).bit_count(), masks.copy(), np.uint64(seed * 88172645463325252 % 2**64)
    uses = np.zeros(k, np.int64) if uses is None else uses
    # most: how often a port may be used
    most, done, block, cost = -(-(copies * (nodes - 1) + int(uses.sum())) // k), 0, _FEW, 1
    while done < moves and cost:
        now = (min(block, moves - done), done, moves, hot, state)
        made, cost, state = search(parent, port, first, child, masks, uses, most, *now)
        state, done, block = np.uint64(state), done + made, min(2 * block, _MANY)
        report(done, moves, "moves of the search")
    close(parent, first, child, masks, copies)
    level(parent, port, first, child, masks, uses)
    return masks
