"""Inner loops that choose a shortest way for each pair of nodes so that no arc has much more to carry than others.

Arcs as in networks.arcs.Arcs. ``price[n]`` is the cost of an arc that n ways use already: int64, so high where n is large that a
detour among shortest ways is cheaper, and never above 2^40; of fuller arcs the last price holds.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.dice import random_below

_DEAR = 1 << 62  # more than any way costs
_MIXED = 8191  # a prime


@njit(work=lambda head, tail, into, entering, taken, room, far, of, goal, weight, start, *others: 40 * start[len(of)])
def route(head, tail, into, entering, taken, room, far, of, goal, weight, start, order, price, state, load, arc):
    """Choose ways anew, pair after pair in a certain ``order``; return the state of the random numbers behind.

    Pair p leads from the source of row ``of[p]`` of ``far`` to ``goal[p]``, over ``arc[start[p]] … arc[start[p+1]-1]``: -1 where
    it has no way yet. Arc a takes the resources ``taken[a]``, and ``load`` adds up the ``weight`` of ways that take each; each is
    as dear as this is beside its ``room``.

    Invariant: ``load`` counts the ways of all pairs but the one that is asked. Shortest ways are found layer by layer from
    the goal, so each node has its least price before the next layer is asked. Cost of a pair: the arcs into all nodes on
    shortest ways.

        layer = [ goal | nodes 1 arc from it | nodes 2 arcs from it | … | source ]
                         low ─▶                                      high ─▶
    """
    nodes, last = len(into) - 1, len(price) - 1
    cost, by, layer = np.empty(nodes, np.int64), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    seen = np.full(nodes, -1, np.int32)
    for i in range(len(order)):
        p = order[i]
        row, begin, stop = of[p], start[p], start[p + 1]
        # 1. Take the way that it has out of the loads.
        for j in range(begin, stop):
            for k in range(taken.shape[1] if arc[j] >= 0 else 0):  # -1: no way yet, so nothing to take out
                load[taken[arc[j], k]] -= weight[p]
        # 2. The cheapest of the shortest ways to each node on such.
        layer[0], low, high = goal[p], 0, 1
        seen[goal[p]], cost[goal[p]] = i, 0
        while low < high:
            v = layer[low]
            low += 1
            for e in range(into[v], into[v + 1]):
                a = entering[e]
                u = tail[a]
                if far[row, u] == far[row, v] - 1:  # u is one arc nearer to the source: on a shortest way
                    state, more = random_below(state, 8)
                    each = 0
                    for k in range(taken.shape[1]):
                        each += price[min(load[taken[a, k]] // room[taken[a, k]], last)]
                    # a little chance, 512 … 519 parts, so that equal ways are not all taken in one order
                    paid = cost[v] + each * (512 + more)
                    if seen[u] != i:
                        seen[u], cost[u] = i, _DEAR
                        layer[high] = u
                        high += 1
                    if paid < cost[u]:
                        cost[u], by[u] = paid, a
        # 3. Follow it from the source, and count it.
        # the source is in the last layer, alone
        u = layer[high - 1]  # the source, which is nearest
        for j in range(begin, stop):
            arc[j] = by[u]
            for k in range(taken.shape[1]):
                load[taken[by[u], k]] += weight[p]
            u = head[by[u]]
    return state


@njit(work=lambda into, entering, tail, taken, far, of, goal, start, order, load, mix, arc: 20 * start[len(of)])
def walk(into, entering, tail, taken, far, of, goal, start, order, load, mix, arc):
    """Choose ways as ``route`` does, each once, back from its goal by one of the arcs whose resource carries least so far.

    It looks at the arcs of one way, not of all shortest ways, so it is for networks with very many. Each arc takes one resource.
    Of arcs whose resources carry as much hop j takes one by ``mix[j]``, from 0 to 8190: where that is 0, the first.

    A step for each arc into a node of each way. Invariant: ``load`` counts the ways chosen so far. Where ``mix[j]`` is not 0,
    no two of fewer than 8191 arcs into a node have the same turn, as 8191 is a prime: so each ``mix[j]`` is an order of them.
    """
    for i in range(len(order)):  # each pair once: what is chosen stays
        p = order[i]
        row, v = of[p], goal[p]
        for j in range(start[p + 1] - 1, start[p] - 1, -1):  # hop by hop from the goal back to the source
            best, least, last = -1, _DEAR, _MIXED
            for e in range(into[v], into[v + 1]):
                a = entering[e]
                if far[row, tail[a]] == far[row, v] - 1 and load[taken[a, 0]] <= least:
                    turn = (e + 1) * mix[j] % _MIXED
                    if load[taken[a, 0]] < least or turn < last:
                        best, least, last = a, load[taken[a, 0]], turn
            arc[j] = best
            load[taken[best, 0]] += 1
            v = tail[best]
