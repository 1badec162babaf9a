"""Inner loops over parent arrays: depths, orders, and whether the ways to the root are disjoint."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit


@njit
def depths(parent, root, depth):
    """Fill ``depth``, int32 (N,), with the number of arcs from the root along one tree; return a node off the tree or -1.

    ``parent``: int32 (N,), -1 at the root. A node is off the tree when its parents run into -1 elsewhere, or in a circle.
    """
    n = len(parent)
    for v in range(n):
        depth[v] = -1
    depth[root] = 0
    for v in range(n):
        u, length = v, 0
        while depth[u] < 0 and length <= n:
            u = parent[u]
            length += 1
            if u < 0:
                return v
        if length > n:
            return v
        length += depth[u]
        u = v
        while depth[u] < 0:
            depth[u] = length
            length -= 1
            u = parent[u]
    return -1


@njit
def preorder(parent, order):
    """Number the nodes of a forest, whole subtrees one after another; return the place of each node, and by place the last below.

    Both int64 (n,), as places. ``order``: all nodes, each behind its parent; siblings come as there. ``parent``: -1 at roots.
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
        last[place[v]] = place[v] + size[v] - 1
    return place, last


@njit(work=lambda parent, trees, root, ends, start, stop: 20 * len(trees) * (stop - start))
def meeting(parent, trees, root, ends, start, stop):
    """Return (v, t, w) such that the way from ``v`` to the root in tree ``t`` meets that of another tree at node ``w``.

    ``parent``: int32 (k, N), -1 where a tree does not reach; ``trees``: the trees looked at; v in ``ends[start … stop-1]``.
    Two ways that both are the arc from the root itself meet, too. (-1, -1, -1) when all ways are node-disjoint.
    """
    seen = np.full(parent.shape[1], -1, np.int32)
    above = np.empty(len(trees), np.int64)
    for at in range(start, stop):
        v = ends[at]
        if v == root:
            continue
        seen[v] = v
        climbing, direct = 0, False
        for i in range(len(trees)):
            above[i] = parent[trees[i], v]
            if above[i] == root:
                if direct:
                    return v, trees[i], root
                direct = True
            climbing += above[i] >= 0 and above[i] != root
        while climbing > 0:  # one arc up in every tree at a time, so that the memory serves them together
            climbing = 0
            for i in range(len(trees)):
                w = above[i]
                if w >= 0 and w != root:
                    if seen[w] == v:
                        return v, trees[i], w
                    seen[w] = v
                    above[i] = parent[trees[i], w]
                    climbing += 1
    return -1, -1, -1


@njit(work=lambda parent, needs, trees, used, root, ends, start, stop: 20 * len(trees) * (stop - start))
def sharing(parent, needs, trees, used, root, ends, start, stop):
    """Return (v, t, w) such that the way from ``v`` to the root in tree ``t`` shares the link or arc into ``w`` with another
    tree's.

    ``needs``: int32 (k, N), the number of the link, or arc, by which a tree enters a node. ``used``: int32, as many as
    there are such numbers, -1 everywhere. All else as in ``meeting``.
    """
    for at in range(start, stop):
        v = ends[at]
        if v == root:
            continue
        for i in range(len(trees)):
            w = v
            while w != root and parent[trees[i], w] >= 0:
                if used[needs[trees[i], w]] == v:
                    return v, trees[i], w
                used[needs[trees[i], w]] = v
                w = parent[trees[i], w]
    return -1, -1, -1


@njit
def shared_arc(parent, port, ports, root):
    """Return (t, v) such that the arc into ``v`` in tree ``t`` is in an earlier tree too, or (-1, -1)."""
    k, n = parent.shape
    used = np.zeros(n * ports, np.uint8)
    for t in range(k):
        for v in range(n):
            if v != root and parent[t, v] >= 0:
                arc = np.int64(parent[t, v]) * ports + port[t, v]
                if used[arc]:
                    return t, v
                used[arc] = 1
    return -1, -1
