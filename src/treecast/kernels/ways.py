"""Inner loops that find node-disjoint ways of least total length: flows of least cost, one way after the other.

Arcs as in Network.arc_lists: those of u lead to ``target[i]``, i from ``first[u]``. Each node but the two ends is passed by one
way at most. So a search knows two states of node v: 2v, where something has come in, and 2v + 1, where it may go out.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit

_FAR = 1 << 30


@njit
def one_more(first, target, source, root, goal, used, into):
    """Change the ways from ``root`` to ``goal`` to one more, of the least total length; return by how much it grows.

    -1, and nothing changed, where there is no more. ``used``: whether an arc lies on a way. ``into``: the arc by which a way
    enters a node between the ends, -1 where none does.
    """
    states = 2 * (len(first) - 1)
    far, before = np.full(states, _FAR, np.int32), np.zeros(states, np.int32)
    waiting, queue = np.zeros(states, np.bool_), np.zeros(states + 1, np.int32)
    size, low, high = len(queue), 0, 1
    far[2 * root + 1], queue[0] = 0, 2 * root + 1
    while low != high:
        state = queue[low]
        low = (low + 1) % size
        waiting[state] = False
        v, here = state >> 1, far[state]
        begin, stop = first[v], first[v + 1]
        if state & 1 == 0:
            begin = stop
        other, price = state ^ 1, 0  # the state beside this one, where a step to it exists
        if state & 1 == 0:
            if v == goal:
                continue
            if into[v] >= 0:  # the way through v is called back
                other, price = 2 * source[into[v]] + 1, -1
        elif into[v] < 0:
            other = -1
        if other >= 0 and here + price < far[other] and other != 2 * root + 1:
            far[other], before[other] = here + price, state
            if not waiting[other]:
                waiting[other], queue[high] = True, other
                high = (high + 1) % size
        for i in range(begin, stop):
            other = 2 * target[i]
            if here + 1 < far[other] and not used[i] and target[i] != root:
                far[other], before[other] = here + 1, state
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
                    i = first[last >> 1]
                    while target[i] != state >> 1 or used[i]:
                        i += 1
                    used[i] = True
                    if state >> 1 != goal:
                        into[state >> 1] = i
            state = last
    return far[2 * goal]


@njit(work=lambda first, target, source, root, goals, lengths: 2 * len(target) * lengths.size)
def least_lengths(first, target, source, root, goals, lengths):
    """Fill in the least total length of 1, 2 … ways from ``root`` to each goal, int64 (goals, most); -1: not so many."""
    for g in range(len(goals)):
        used, into = np.zeros(len(target), np.bool_), np.full(len(first) - 1, -1, np.int32)
        total, more = 0, 0
        for x in range(lengths.shape[1]):
            if more >= 0:
                more = one_more(first, target, source, root, goals[g], used, into)
            total += more
            lengths[g, x] = total if more >= 0 else -1


@njit(work=lambda first, target, source, root, goal, used, copies: 2 * len(target) * copies)
def arcs_of_ways(first, target, source, root, goal, used, copies):
    """Mark in ``used`` the arcs of so many ways from ``root`` to ``goal``; return how many ways there are, at most that."""
    into, found = np.full(len(first) - 1, -1, np.int32), 0
    while found < copies and one_more(first, target, source, root, goal, used, into) >= 0:
        found += 1
    return found
