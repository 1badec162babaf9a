"""Inner loops that count ways which share no arc, or no node, by flows searched backwards from their end.

Arcs as in Network.arc_lists: arc a leads from ``tail[a]`` to ``head[a]``; those that leave u are ``first[u] … first[u+1]-1``,
those that enter it ``entering[into[u]] … entering[into[u+1]-1]``.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def distances(first, head, starts, avoided, far):
    """Fill ``far``, int32 (N,), with the arcs to each node from the nearest of some, int32, by ways round node ``avoided``.

    -1 where there is no such way. ``avoided``: -1 for none.

    A breadth-first search: O(nodes + arcs).
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
            if far[v] < 0 and v != avoided:  # nodes reached before are no farther
                far[v] = far[u] + 1
                queue[high] = v
                high += 1


@njit
def _one_more(v, first, head, tail, into, entering, begins, flow, tick, seen, before, queue):
    """Let one more way end at ``v``, changing the others where need be; return whether there is one.

    Ways may begin where ``begins`` says so. ``flow`` holds ``tick`` for arcs on a way. ``seen``, whose last entry holds less than
    ``tick``, tells this search from those before. ``before``: the arc by which a node was reached, ~a if that is called back.

    A breadth-first search backwards: O(nodes + arcs). Stamps save clearing ``seen``, and ticks save clearing ``flow``.
    """
    # 1. A new stamp for this search.
    # stamps grow over all searches; the last entry of ``seen`` remembers the latest
    stamp = seen[len(seen) - 1] + 1
    seen[len(seen) - 1] = stamp
    low, high, w = 0, 1, v
    queue[0] = v
    seen[v] = stamp
    while low < high:
        # 2. Back over arcs without flow; forwards over those with, whose way is called back.
        w = queue[low]
        low += 1
        if begins[w]:  # here a way may begin: the search is over
            break
        for a in range(first[w], first[w + 1]):
            if flow[a] == tick and seen[head[a]] != stamp:
                seen[head[a]], before[head[a]] = stamp, ~a
                queue[high] = head[a]
                high += 1
        for e in range(into[w], into[w + 1]):
            a = entering[e]
            if flow[a] != tick and seen[tail[a]] != stamp:
                seen[tail[a]], before[tail[a]] = stamp, a
                queue[high] = tail[a]
                high += 1
    if not begins[w]:  # the last node in the queue, if none was a beginning
        return False
    # 3. Change the flow along the way found.
    # along the way from its beginning to v
    while w != v:
        a = before[w]
        if a >= 0:
            flow[a], w = tick, head[a]
        else:
            flow[~a], w = 0, tail[~a]
    return True


def _searched(first, head, tail, into, entering, order, start, most):
    """Return about how many steps the searches take: one for each way to each node, past some nodes and all of their arcs."""
    return 20 * len(head) + 8 * len(order) * most * len(head) // len(first)


@njit(work=_searched)
def fewest_ways(first, head, tail, into, entering, order, start, most):
    """Return over how many ways each node can be reached, at most ``most``, and the first node that no more lead to.

    ``order``: the nodes that count, the nearest first. The ways to a node share no arc, and begin at ``start``. A node that
    k ways lead to is as good a start of ways: of k ways from different such nodes, fewer than k faults leave one whole. Where
    ways share no node, each stands there twice (networks/flows.py, ``split``).

    Invariant: whoever is in ``begins`` can be reached over ``fewest`` ways. Cost: at most ``most`` searches for each node,
    and one in vain. They are short, since most nodes nearby are good starts.
    """
    n = len(first) - 1
    begins, flow = np.zeros(n, np.bool_), np.zeros(len(head), np.int32)
    seen, before, queue = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int32)
    begins[start] = True
    fewest, where = most, start
    for i in range(len(order)):
        v, found = order[i], 0
        while found < fewest and _one_more(
            v, first, head, tail, into, entering, begins, flow, i + 1, seen, before, queue
        ):
            found += 1
        if found < fewest:
            fewest, where = found, v
        # later nodes may begin their ways here, as ``fewest`` ways lead to it
        begins[v] = True
    return fewest, where
