"""Properties of sets of trees: arcs that no two of them share, and ways to each node that meet nowhere."""

import numpy as np

from treecast.ragged import read_only
from treecast.schedule.trees import TreeSet


def find_shared_arc(trees: TreeSet) -> tuple[int, int] | None:
    """Return (tree, node) where the arc into the node is in an earlier tree too; None where the trees are arc-disjoint.

    >>> from treecast import disjoint_trees
    >>> find_shared_arc(disjoint_trees("star:4")) is None
    True
    """
    from treecast.kernels.schedule.trees import shared_arc

    parent, port = read_only(trees.parent, np.int32), read_only(trees.port, np.int8)
    tree, node = shared_arc(parent, port, trees.network.ports, trees.root)
    return None if tree < 0 else (int(tree), int(node))


def find_meeting_ways(trees: TreeSet) -> tuple[int, int, int] | None:
    """Return (v, tree, w): the way to rank v in a tree meets that of an earlier tree at w, before v; None where no ways meet.

    >>> from treecast import disjoint_trees
    >>> find_meeting_ways(disjoint_trees("star:4")) is None
    True
    """
    from treecast.kernels.schedule.trees import meeting

    parent = read_only(trees.parent, np.int32)
    ends = trees.network.ranks
    found = meeting(parent, np.arange(len(trees)), trees.root, ends, 0, len(ends))
    return None if found[0] < 0 else (int(found[0]), int(found[1]), int(found[2]))
