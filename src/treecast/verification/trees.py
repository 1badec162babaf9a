"""Properties of sets of trees: arcs that no two of them share, and ways to each node that meet nowhere."""

import numpy as np

from treecast.schedule.trees import TreeSet


def find_shared_arc(trees: TreeSet) -> tuple[int, int] | None:
    """Return an arc that two trees share, or None: the trees are arc-disjoint.

    Returns
    -------
    (tree, node)
        The arc into ``node`` in ``tree`` is in an earlier tree too.

    Examples
    --------
    >>> from treecast import disjoint_trees
    >>> find_shared_arc(disjoint_trees("star:4")) is None
    True
    """
    from treecast.kernels.trees import shared_arc
    from treecast.kernels.views import read_only

    parent, port = read_only(trees.parent, np.int32), read_only(trees.port, np.int8)
    tree, node = shared_arc(parent, port, trees.network.ports, trees.root)
    return None if tree < 0 else (int(tree), int(node))


def find_meeting_ways(trees: TreeSet) -> tuple[int, int, int] | None:
    """Return two ways to one rank that meet before it, or None: the ways from the root to any rank are node-disjoint.

    Returns
    -------
    (v, tree, w)
        The way to ``v`` in ``tree`` meets the way to ``v`` of an earlier tree at node ``w``.

    Examples
    --------
    >>> from treecast import disjoint_trees
    >>> find_meeting_ways(disjoint_trees("star:4")) is None
    True
    """
    from treecast.kernels.trees import meeting
    from treecast.kernels.views import read_only

    parent = read_only(trees.parent, np.int32)
    ends = trees.network.ranks
    found = meeting(parent, np.arange(len(trees)), trees.root, ends, 0, len(ends))
    return None if found[0] < 0 else (int(found[0]), int(found[1]), int(found[2]))
