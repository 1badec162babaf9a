"""Inner loops that find node-disjoint ways of least total length: flows of least cost, one way after the other.

Arcs as in Network.arc_lists: those of u lead to ``target[i]``, i from ``first[u]``. Each node but the two ends is passed by one
way at most. So a search knows two states of node v: 2v, where something has come in, and 2v + 1, where it may go out.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit

_FAR = 1 << 60


@njit
def one_more(first, target, source, root, goal, price, used, into):
    """Change the ways from ``root`` to ``goal`` to one more, at the least total price; return by how much it grows.

    -1, and nothing changed, where there is no more. ``price``: of each arc, int64; 1 makes ways as short as can be. ``used``:
    whether an arc lies on a way. ``into``: the arc by which a way enters a node between the ends, -1 where none does. Of several
    arcs from root to goal only one is used: they are one link.
    """
    states = 2 * (len(first) - 1)
    far, before, by = np.full(states, _FAR, np.int64), np.zeros(states, np.int32), np.zeros(states, np.int32)
    waiting, queue = np.zeros(states, np.bool_), np.zeros(states + 1, np.int32)
    size, low, high = len(queue), 0, 1
    far[2 * root + 1], queue[0] = 0, 2 * root + 1
    straight = False
    for i in range(first[root], first[root + 1]):
        straight = straight or (used[i] and target[i] == goal)
    while low != high:
        state = queue[low]
        low = (low + 1) % size
        waiting[state] = False
        v, here = state >> 1, far[state]
        begin, stop = first[v], first[v + 1]
        if state & 1 == 0:
            begin = stop
        other, paid = state ^ 1, 0  # the state beside this one, where a step to it exists
        if state & 1 == 0:
            if v == goal:
                continue
            if into[v] >= 0:  # the way through v is called back
                other, paid = 2 * source[into[v]] + 1, -price[into[v]]
        elif into[v] < 0:
            other = -1
        if other >= 0 and here + paid < far[other] and other != 2 * root + 1:
            far[other], before[other] = here + paid, state
            if not waiting[other]:
                waiting[other], queue[high] = True, other
                high = (high + 1) % size
        for i in range(begin, stop):
            other = 2 * target[i]
            if here + price[i] < far[other] and not used[i] and target[i] != root:
                if straight and v == root and target[i] == goal:
                    continue
                far[other], before[other], by[other] = here + price[i], state, i
                if not waiting[other]:
                    waiting[other], queue[high] = True, other
                    high = (high + 1) % size
    if far[2 * goal] == _FAR:
        return -1
    for adding in (False, True):
        state = 2 * goal
        while state != 2 * root + 1:
            last = before[state]
            if last >> 1 != state >> 1:
                if state & 1:
                    if not adding:
                        used[into[last >> 1]] = False
                        into[last >> 1] = -1
                elif adding:
                    used[by[state]] = True
                    if state >> 1 != goal:
                        into[state >> 1] = by[state]
            state = last
    return far[2 * goal]


@njit
def one_apart(first, target, source, into, entering, root, goal, price, used):
    """Change ways that share no arc, but may share nodes, to one more at the least total price; else as ``one_more``.

    Ways of least price share no link either, where of several arcs from one node to another only one is given: two that go over a
    link both ways can exchange their rests, and are cheaper.
    """
    nodes = len(first) - 1
    far, by = np.full(nodes, _FAR, np.int64), np.zeros(nodes, np.int64)
    waiting, queue = np.zeros(nodes, np.bool_), np.zeros(nodes + 1, np.int32)
    size, low, high = len(queue), 0, 1
    far[root], queue[0] = 0, root
    while low != high:
        v = queue[low]
        low = (low + 1) % size
        waiting[v] = False
        out, back = first[v + 1] - first[v], into[v + 1] - into[v]
        for i in range(out + back):
            a = first[v] + i if i < out else entering[into[v] + i - out]
            if used[a] == (i < out):
                continue
            w, there = (target[a], far[v] + price[a]) if i < out else (source[a], far[v] - price[a])
            if there < far[w]:
                far[w], by[w] = there, a if i < out else -1 - a
                if not waiting[w]:
                    waiting[w], queue[high] = True, w
                    high = (high + 1) % size
    if far[goal] == _FAR:
        return -1
    v = goal
    while v != root:
        a = by[v]
        if a >= 0:
            used[a], v = True, source[a]
        else:
            used[-1 - a], v = False, target[-1 - a]
    return far[goal]


@njit(work=lambda first, target, source, root, goals, lengths: 2 * len(target) * lengths.size)
def least_lengths(first, target, source, root, goals, lengths):
    """Fill in the least total length of 1, 2 … ways from ``root`` to each goal, int64 (goals, most); -1: not so many."""
    price = np.ones(len(target), np.int64)
    for g in range(len(goals)):
        used, into = np.zeros(len(target), np.bool_), np.full(len(first) - 1, -1, np.int32)
        total, more = 0, 0
        for x in range(lengths.shape[1]):
            if more >= 0:
                more = one_more(first, target, source, root, goals[g], price, used, into)
            total += more
            lengths[g, x] = total if more >= 0 else -1


@njit(work=lambda first, target, source, root, goal, used, copies: 2 * len(target) * copies)
def arcs_of_ways(first, target, source, root, goal, used, copies):
    """Mark in ``used`` the arcs of so many ways from ``root`` to ``goal``; return how many ways there are, at most that."""
    into, found, price = np.full(len(first) - 1, -1, np.int32), 0, np.ones(len(target), np.int64)
    while found < copies and one_more(first, target, source, root, goal, price, used, into) >= 0:
        found += 1
    return found


@njit(
    work=lambda first, target, source, behind, entering, start, goal, order, copies, *others: (
        8 * len(target) * len(order) * copies
    )
)
def priced_ways(
    first, target, source, behind, entering, start, goal, order, copies, table, load, price, way, length, meeting
):
    """Choose so many ways for each pair anew, pair after pair in a certain ``order``, at the least total price.

    The ways of pair p, from ``start[p]`` to ``goal[p]``, are the arcs in ``way[p]``, one way behind the other, and ``length[p]``
    says how long each is; 0 where it has none yet. ``load`` counts the ways over each arc; an arc that n ways use costs
    ``table[n]``, as ``price`` has it. ``meeting``: whether the ways of a pair may share nodes, though no arc. The arcs into v are
    ``entering[behind[v]] …``. Return whether there are so many ways for all pairs.
    """
    nodes, last = len(first) - 1, len(table) - 1
    used, into = np.zeros(len(target), np.bool_), np.empty(nodes, np.int32)
    for i in range(len(order)):
        p = order[i]
        total = 0
        for x in range(copies):
            total += length[p, x]
        for j in range(total):
            a = way[p, j]
            load[a] -= 1
            price[a] = table[min(load[a], last)]
        for v in range(nodes):
            into[v] = -1
        for _ in range(copies):
            if meeting:
                more = one_apart(first, target, source, behind, entering, start[p], goal[p], price, used)
            else:
                more = one_more(first, target, source, start[p], goal[p], price, used, into)
            if more < 0:
                return False
        j = 0
        for x in range(copies):
            u, begun = start[p], j
            while u != goal[p]:
                a = first[u]
                while not used[a]:
                    a += 1
                used[a] = False
                way[p, j] = a
                load[a] += 1
                price[a] = table[min(load[a], last)]
                u, j = target[a], j + 1
            length[p, x] = j - begun
    return True
