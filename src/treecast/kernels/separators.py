"""Inner loops that look for cuts of few arcs between many nodes, and for prices of arcs that make all ways dear.

Arcs as in networks.flows.Arcs. A cut is the set of nodes that are ``inside``; its arcs lead out. Nodes of ``weight`` 1 send to
each other; those of weight 0 only pass on.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.heaps import put, take


@njit(work=lambda first, head, *others: 8 * len(head))
def best_prefix(first, head, tail, into, entering, weight, order):
    """Return how many of the nodes in some order, from the first on, are the best cut: most pairs for each arc that leads out."""
    nodes = len(order)
    inside = np.zeros(nodes, np.bool_)
    out, best, pairs, arcs, count, total = 0, 0, 0, 1, 0, 0
    for v in range(nodes):
        total += weight[v]
    for i in range(nodes - 1):
        v = order[i]
        for a in range(first[v], first[v + 1]):
            out += not inside[head[a]]
        for e in range(into[v], into[v + 1]):
            out -= inside[tail[entering[e]]]
        inside[v] = True
        count += weight[v]
        here = count * (total - count)
        if out > 0 and here * arcs > pairs * out:
            best, pairs, arcs = i + 1, here, out
    return best


@njit(work=lambda first, head, *others: 40 * len(head))
def improve(first, head, tail, into, entering, weight, inside):
    """Move single nodes into a cut or out of it while that leaves more pairs for each arc; return its nodes and its arcs."""
    nodes, total, count, out = len(inside), 0, 0, 0
    for v in range(nodes):
        total += weight[v]
        count += weight[v] * inside[v]
        for a in range(first[v], first[v + 1]):
            out += inside[v] and not inside[head[a]]
    better = True
    while better:
        better = False
        for v in range(nodes):
            leaving, entered = 0, 0  # to nodes outside, and from nodes inside, but for v itself
            for a in range(first[v], first[v + 1]):
                leaving += not inside[head[a]]
            for e in range(into[v], into[v + 1]):
                entered += inside[tail[entering[e]]]
            if inside[v]:
                n, c = count - weight[v], out - leaving + entered
            else:
                n, c = count + weight[v], out + leaving - entered
            if 0 < n < total and c > 0 and n * (total - n) * out > count * (total - count) * c:
                inside[v] = not inside[v]
                count, out, better = n, c, True
    return count, out


@njit(work=lambda first, head, tail, ranks, times, best: 30 * times * len(head) * len(first))
def raise_prices(first, head, tail, ranks, times, best):
    """Look for prices of arcs for which the cheapest ways between all pairs of ranks are dear, for what all arcs cost.

    Each time the arcs that cheapest ways use most become dearer. Fill ``best``, int64 (arcs,), with the best prices; return what
    all cheapest ways cost together, and all arcs.
    """
    nodes, arcs = len(first) - 1, len(head)
    price, load = np.empty(arcs, np.int64), np.empty(arcs, np.int64)
    cost, by = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    heap, order, below = np.empty(arcs + 1, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    ways, total = 0, 1
    for a in range(arcs):
        price[a] = 1 << 10
    for _ in range(times):
        every, paid = 0, 0
        for a in range(arcs):
            load[a] = 0
            every += price[a]
        for i in range(len(ranks)):
            s = ranks[i]
            for v in range(nodes):
                cost[v], by[v], below[v] = -1, -1, 0
            for j in range(len(ranks)):
                below[ranks[j]] = 1
            heap[0], size, found = s, 1, 0
            cost[s] = 0
            while size > 0:
                key = take(heap, 0, size)
                size -= 1
                u = key % nodes
                if key // nodes > cost[u]:
                    continue
                order[found] = u
                found += 1
                paid += cost[u] * below[u]
                for a in range(first[u], first[u + 1]):
                    v, there = head[a], cost[u] + price[a]
                    if cost[v] < 0 or there < cost[v]:
                        cost[v], by[v] = there, a
                        put(heap, 0, size, there * nodes + v)
                        size += 1
            for j in range(found - 1, 0, -1):
                v = order[j]
                load[by[v]] += below[v]
                below[tail[by[v]]] += below[v]
        if paid * total > ways * every:
            ways, total = paid, every
            for a in range(arcs):
                best[a] = price[a]
        most = 1
        for a in range(arcs):
            most = max(most, load[a])
        for a in range(arcs):
            price[a] += price[a] * load[a] // (4 * most)
    return ways, total
