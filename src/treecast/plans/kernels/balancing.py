"""Inner loops that grow trees from many roots to all ranks such that no arc is in many of them.

A tree takes the cheapest way from its nodes to the next rank, again and again (Takahashi & Matsuyama 1980). The price of an arc
grows with the trees that it is in. Each tree is grown anew several times, beside all others.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.heaps import put, take


@njit
def _put(heap, size, far, value):
    """Put a key on the heap of ``size`` keys; return how many it has then.

    A full heap drops what would be passed over. A node that is in no tree has one key at most whose cost is ``far``, as costs of
    its keys descend; one that has joined has that of its joining, too. So 2 N keys at most are left.
    """
    n = len(far)
    if size == len(heap):
        kept = 0
        for at in range(size):
            key = heap[at]
            if key // n == far[key % n]:
                put(heap, 0, kept, key)
                kept += 1
        size = kept
    put(heap, 0, size, value)
    return size + 1


@njit
def _grow(root, first, head, tail, cable, relay, prices, load, deeper, up, t, far, by, depth, heap):
    """Fill ``up[t]`` with the arc by which each node of a new tree hears; of all others -1.

    ``far``: the cost of the cheapest way known to a node; ``depth``: of a node of the tree its depth, else -1.

    Dijkstra's search, over and over in one heap: when a node joins, its way is put in at the price of its depth, and the
    search goes on from there. A key has two parts, so that equal costs come in the order of the nodes:

        key = cost × N + node        an entry whose cost is not ``far`` any more is passed over

    Invariant: ``far`` of nodes in the tree is their depth times ``deeper``, of others the cheapest way known from the tree.
    Cost: each arc puts an entry whenever it makes a way cheaper, and an entry costs the logarithm of the heap.
    """
    # 1. The tree is its root.
    n = len(relay)
    for u in range(n):
        up[t, u], far[u], by[u], depth[u] = -1, np.int64(1) << 50, -1, -1
    far[root] = 0
    size = 1
    heap[0] = root
    depth[root] = 0
    while size > 0:
        # 2. The cheapest node, unless a cheaper way to it was found since.
        key = take(heap, 0, size)
        size -= 1
        u = key % n
        if key // n != far[u]:
            continue
        if depth[u] < 0 and not relay[u]:  # the way to it joins the tree, from its end to where it begins
            # a first climb counts its arcs, so that the second can say depths from the end down
            length, w = 0, u
            while depth[w] < 0:
                length += 1
                w = tail[by[w]]
            base, w = depth[w], u
            while depth[w] < 0:
                up[t, w], depth[w] = by[w], base + length
                far[w] = depth[w] * deeper  # what it costs to go on from here, no longer what it cost to come
                length -= 1
                size = _put(heap, size, far, far[w] * n + w)
                w = tail[by[w]]
            continue
        # 3. Ways on from there.
        for a in range(first[u], first[u + 1]):
            v = head[a]
            cost = far[u] + prices[min(load[cable[a]], len(prices) - 1)]  # fuller cables cost as the last
            if depth[v] < 0 and cost < far[v]:
                far[v], by[v] = cost, a
                size = _put(heap, size, far, cost * n + v)


@njit(
    work=lambda first, head, tail, cable, relay, roots, prices, passes, *others: 40.0 * passes * len(roots) * len(head)
)
def balance(first, head, tail, cable, relay, roots, prices, passes, deeper, up):
    """Fill ``up``, int32 (trees, N), with the arc by which each node hears in the tree from each of ``roots``, -1: in none.

    ``cable``: that of each arc, int64: arcs of one cable share a price. ``relay``: which nodes need not be reached, bool (N,):
    nor need those to which no way leads. ``prices[l]``: the cost of a cable that is in l other trees, int64.
    ``deeper``: the cost for a tree when a node from which it goes on is an arc deeper.

    Invariant: ``load`` counts the trees over each cable but for the one that is grown. Cost: O(passes × trees) searches.
    """
    n = len(relay)
    load, far = np.zeros(len(head), np.int64), np.empty(n, np.int64)
    by, depth = np.empty(n, np.int64), np.empty(n, np.int64)
    heap = np.empty(2 * len(head) + 2 * n + 2, np.int64)  # more than the 2 N keys that are not passed over
    for turn in range(passes):
        for t in range(len(roots)):
            # in the first pass ``up`` holds nothing yet
            for v in range(n):
                if turn > 0 and up[t, v] >= 0:
                    load[cable[up[t, v]]] -= 1
            # each tree is out of the loads while it grows: it pays for the others only
            _grow(roots[t], first, head, tail, cable, relay, prices, load, deeper, up, t, far, by, depth, heap)
            for v in range(n):
                if up[t, v] >= 0:
                    load[cable[up[t, v]]] += 1
