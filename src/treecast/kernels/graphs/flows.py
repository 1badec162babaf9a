"""Inner loops that count ways which share no arc, or no node, by flows searched backwards from their end.

Arcs as in Network.arc_lists: arc a leads from ``tail[a]`` to ``head[a]``; those that leave u are ``first[u] … first[u+1]-1``,
those that enter it ``entering[into[u]] … entering[into[u+1]-1]``. A search knows two states of node w: 2w, where something is to
come in, and 2w + 1, where it is to go out.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit


@njit
def distances(first, head, starts, avoided, far):
    """Fill ``far``, int32 (N,), with the arcs to each node from the nearest of some, int32, by ways round node ``avoided``.

    -1 where there is no such way. ``avoided``: -1 for none.
    """
    n = len(far)
    queue = np.empty(n, np.int32)
    for v in range(n):
        far[v] = -1
    low, high = 0, 0
    for at in range(len(starts)):
        far[starts[at]], queue[high] = 0, starts[at]
        high += 1
    while low < high:
        u = queue[low]
        low += 1
        for a in range(first[u], first[u + 1]):
            v = head[a]
            if far[v] < 0 and v != avoided:
                far[v] = far[u] + 1
                queue[high] = v
                high += 1


@njit
def _one_more(v, split, first, head, tail, into, entering, known, flow, passed, tick, seen, before, queue):
    """Let one more way end at ``v``, changing the others where need be; return whether there is one.

    ``flow`` and ``passed`` hold ``tick`` for arcs and nodes on a way. ``seen``, whose last column holds less than ``tick``,
    tells this search from those before. Of a state, ``before`` has that from which it was reached.
    """
    root = queue[len(queue) - 1]
    stamp = seen[len(seen) - 1] + 1
    seen[len(seen) - 1] = stamp
    low, high, end = 0, 1, -1
    queue[0] = 2 * v
    seen[2 * v] = stamp
    while low < high and end < 0:
        state = queue[low]
        low += 1
        w = state >> 1
        if state & 1:
            free = not split or passed[w] != tick
            if w == root or (known[w] and free):
                end = state
            elif free and seen[2 * w] != stamp:
                seen[2 * w], before[2 * w] = stamp, state
                queue[high] = 2 * w
                high += 1
            if end < 0:
                for a in range(first[w], first[w + 1]):  # a way that goes out here is called back
                    other = 2 * head[a]
                    if flow[a] == tick and seen[other] != stamp:
                        seen[other], before[other] = stamp, state
                        queue[high] = other
                        high += 1
        else:
            if split and passed[w] == tick and seen[state + 1] != stamp:
                seen[state + 1], before[state + 1] = stamp, state
                queue[high] = state + 1
                high += 1
            for e in range(into[w], into[w + 1]):
                other = 2 * tail[entering[e]] + 1
                if flow[entering[e]] != tick and seen[other] != stamp:
                    seen[other], before[other] = stamp, state
                    queue[high] = other
                    high += 1
    if end < 0:
        return False
    passed[end >> 1] = tick
    state = end
    while state != 2 * v:
        last = before[state]
        if last >> 1 == state >> 1:
            passed[state >> 1] = 0 if state & 1 else tick
        elif state & 1:  # from here to there, over an arc without flow
            a = first[state >> 1]
            while head[a] != last >> 1 or flow[a] == tick:
                a += 1
            flow[a] = tick
        else:
            a = first[last >> 1]
            while head[a] != state >> 1 or flow[a] != tick:
                a += 1
            flow[a] = 0
        state = last
    return True


def _searched(first, head, tail, into, entering, order, most, split):
    """Return about how many steps the searches take: one for each way to each node, past some nodes and all of their arcs."""
    return 20 * len(head) + 8 * len(order) * most * len(head) // len(first)


@njit(work=_searched)
def fewest_ways(first, head, tail, into, entering, order, most, split):
    """Return over how many ways each node can be reached, at most ``most``, and the first node that no more lead to.

    ``order``: the nodes that count, the root first. The ways to a node share no arc, with ``split`` no node either. A node that
    k ways lead to is as good a start of ways as the root: of k ways from different such nodes, fewer than k faults leave one
    whole.
    """
    n = len(first) - 1
    known = np.zeros(n, np.bool_)
    flow, passed = np.zeros(len(head), np.int32), np.zeros(n, np.int32)
    seen, before, queue = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n, np.int32), np.zeros(2 * n + 1, np.int32)
    root = order[0]
    queue[2 * n] = root
    known[root] = True
    fewest, where = most, root
    for i in range(1, len(order)):
        v, found = order[i], 0
        while found < fewest and _one_more(
            v, split, first, head, tail, into, entering, known, flow, passed, i, seen, before, queue
        ):
            found += 1
        if found < fewest:
            fewest, where = found, v
        known[v] = True
    return fewest, where
