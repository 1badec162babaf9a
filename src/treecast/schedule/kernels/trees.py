"""Inner loops over parent arrays: depths, orders, and whether the ways to the root are disjoint."""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def depths(parent, root, depth):
    """Fill ``depth``, int32 (N,), with the number of arcs from the root along one tree; return a node off the tree or -1.

    ``parent``: int32 (N,), -1 at the root. A node is off the tree when its parents run into -1 elsewhere, or in a circle.

    Each node is climbed from until a known depth, then given its own: O(nodes) in all, as no node without a depth is passed more
    than twice.
    """
    n = len(parent)
    for v in range(n):
        depth[v] = -1
    depth[root] = 0
    for v in range(n):
        u, length = v, 0
        while depth[u] < 0 and length <= n:  # more than n arcs: a circle
            u = parent[u]
            length += 1
            if u < 0:  # the parents ran out, and not at the root
                return v
        if length > n:
            return v
        length += depth[u]
        u = v
        # the same way again, now with the depth of its end known
        while depth[u] < 0:
            depth[u] = length
            length -= 1
            u = parent[u]
    return -1


@njit
def preorder(parent, order):
    """Number the nodes of a forest, whole subtrees one after another; return the place of each node, and by place the last below.

    Both int64 (n,), as places. ``order``: all nodes, each behind its parent; siblings come as there. ``parent``: -1 at roots.

    O(nodes), two passes. The places of a subtree stand side by side:

        place[v] │ first child and all below it │ second child and all below it │ …
                 free[v] ─▶ grows by the size of each
    """
    n = len(parent)
    size, place, last = np.ones(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(len(order) - 1, -1, -1):
        if parent[order[i]] >= 0:
            size[parent[order[i]]] += size[order[i]]
    free = np.zeros(n + 1, np.int64)  # the next place that a child of each node may take; of the roots at the end
    for v in order:
        above = parent[v] if parent[v] >= 0 else n
        place[v] = free[above]
        free[above] += size[v]
        free[v] = place[v] + 1
        last[place[v]] = place[v] + size[v] - 1  # the last place of its subtree
    return place, last


@njit(work=lambda parent, needs, trees, used, root, ends, start, stop: 20 * len(trees) * (stop - start))
def sharing(parent, needs, trees, used, root, ends, start, stop):
    """Return (v, t, w) such that the way from ``v`` to the root in tree ``t`` shares the node, link or arc by which it enters
    ``w`` with that of another tree.

    ``parent``: int32 (k, N), -1 where a tree does not reach; ``trees``: the trees looked at; v in ``ends[start … stop-1]``.
    ``needs``: int32 (k, N), the number of the node, link or arc by which a tree enters a node. ``used``: int32, as many as
    there are such numbers, -1 everywhere. (-1, -1, -1) where no ways share anything.

    Each way is climbed once: O(depths of all nodes in all trees). Invariant: ``used[need] == v`` exactly where a way of v has
    it already, so nothing has to be cleared for the next node.
    """
    for at in range(start, stop):
        v = ends[at]
        if v == root:  # the root's way has no arc
            continue
        for i in range(len(trees)):
            w = v
            while w != root and parent[trees[i], w] >= 0:  # off the tree: nothing to share
                if used[needs[trees[i], w]] == v:
                    return v, trees[i], w
                used[needs[trees[i], w]] = v
                w = parent[trees[i], w]
    return -1, -1, -1
