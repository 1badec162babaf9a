"""Properties of sets of trees: arcs that no two of them share, and ways to each node that meet nowhere."""

import numpy as np
from numpy.typing import NDArray

from treecast.ragged import read_only
from treecast.schedule.trees import TreeSet


def find_shared_arc(trees: TreeSet) -> tuple[int, int] | None:
    """Return (tree, node) where the arc into the node is in an earlier tree too; None where the trees are arc-disjoint.

    >>> from treecast import disjoint_trees
    >>> find_shared_arc(disjoint_trees("star:4")) is None
    True
    """
    tree, node = np.nonzero(trees.parent >= 0)
    arc = trees.network.arc(trees.parent[tree, node], trees.port[tree, node])
    again = np.delete(np.arange(len(arc)), np.unique(arc, return_index=True)[1])
    return (int(tree[again[0]]), int(node[again[0]])) if len(again) else None


def find_meeting_ways(trees: TreeSet) -> tuple[int, int, int] | None:
    """Return (v, tree, w): the way to rank v in a tree meets that of an earlier tree at w, before v; None where no ways meet.

    >>> from treecast import disjoint_trees
    >>> find_meeting_ways(disjoint_trees("star:4")) is None
    True
    """
    from treecast.kernels.schedule.trees import sharing

    parent, ends = read_only(trees.parent, np.int32), trees.network.ranks
    used = np.full(2 * trees.network.nodes, -1, np.int32)
    needs = nodes_needed(parent, trees.root)
    v, tree, w = sharing(parent, needs, np.arange(len(trees)), used, trees.root, ends, 0, len(ends))
    return None if v < 0 else (int(v), int(tree), int(parent[tree, w]))


def nodes_needed(parent: NDArray[np.int32], root: int) -> NDArray[np.int32]:
    """Return the node by which trees enter each node, int32 (k, N): its parent, or N more than itself where that is the root.

    Two ways that both are the arc from the root itself meet, too.
    """
    every = np.arange(parent.shape[1], 2 * parent.shape[1], dtype=np.int32)
    return read_only(np.where(parent == root, every, parent), np.int32)
