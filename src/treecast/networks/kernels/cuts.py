"""Inner loops that find the cut over which most has to pass: the nodes with most ranks for each arc that leaves them.

Newton's way (Dinkelbach 1967): a source gives each rank as much as its share of the worst cut known could carry away. Where less
than all of it flows to some rank, the nodes behind the least cut are a worse one. Relays are nodes like others, but do not
count.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def _levels(v, first, head, tail, into, entering, flow, carries, level, queue):
    """Fill ``level``, int32 (N,), with how many arcs that are not full lead from each node to ``v``; -1: there is no such way.

    A breadth-first search backwards from v: O(nodes + arcs).
    """
    for u in range(len(level)):
        level[u] = -1
    level[v], queue[0] = 0, v
    low, high = 0, 1
    while low < high:
        w = queue[low]
        low += 1
        for e in range(into[w], into[w + 1]):
            u = tail[entering[e]]
            if level[u] < 0 and flow[entering[e]] < carries:  # an arc that is not full brings more on to w
                level[u] = level[w] + 1
                queue[high] = u
                high += 1
        for a in range(first[w], first[w + 1]):  # and flow out of w can be called back, which frees its way to w
            u = head[a]
            if level[u] < 0 and flow[a] > 0:
                level[u] = level[w] + 1
                queue[high] = u
                high += 1


@njit
def _send(u, most, v, first, head, tail, into, entering, flow, carries, level, begun, path):
    """Send up to ``most`` from u to ``v`` down the levels; return how much arrives. ``begun``: how many arcs of a node are done.

    ``path``: the arcs from u on, ~a where the flow of arc a is taken back. ~a is negative, as a is not.

    Depth first, with no call of itself: ``path`` is the way so far. Invariant: an arc that ``begun`` has passed leads nowhere
    any more in these levels, so it is looked at once: O(arcs + ways × their length).
    """
    sent, length, w = 0, 0, u
    while sent < most:
        # 1. There: as much as fits goes along the way.
        if w == v:
            room = most - sent
            for i in range(length):
                room = min(room, carries - flow[path[i]] if path[i] >= 0 else flow[~path[i]])
            # full arcs on the way stay in ``path`` no longer: the way begins at u anew, and ``begun`` passes them by their flow
            for i in range(length):
                if path[i] >= 0:
                    flow[path[i]] += room
                else:
                    flow[~path[i]] -= room
            sent, length, w = sent + room, 0, u
            continue
        # ``begun[w]`` counts through both lists: arcs that leave, then arcs that enter
        # 2. The next arc down a level with room: first those that leave w, then those whose flow is called back.
        leaving, on = first[w + 1] - first[w], -1
        while on < 0 and begun[w] < leaving + into[w + 1] - into[w]:
            if begun[w] < leaving:
                a = first[w] + begun[w]
                if flow[a] < carries and level[head[a]] >= 0 and level[head[a]] == level[w] - 1:
                    on, path[length] = head[a], a
            else:
                a = entering[into[w] + begun[w] - leaving]
                if flow[a] > 0 and level[tail[a]] >= 0 and level[tail[a]] == level[w] - 1:
                    on, path[length] = tail[a], ~a
            if on < 0:
                begun[w] += 1
        if on >= 0:
            length, w = length + 1, on
        # from u itself nothing goes on
        elif length == 0:
            return sent
        else:  # no way on from here: go back over the last arc, and do not take it again
            length -= 1
            w = tail[path[length]] if path[length] >= 0 else head[~path[length]]
            begun[w] += 1
    return sent


@njit
def _fill(v, left, most, first, head, tail, into, entering, flow, carries, level, queue, begun, path):
    """Send ``left[u]`` from each node u to ``v``, ``most`` in all, or as much as can be; return how much arrives.

    Where no more can be sent, those that ``level`` has no number for are the most nodes that a least cut parts from ``v``.

    Dinic's flow: the shortest way to v gets longer each round, so there are at most N rounds, of O(nodes arcs) each at most.
    """
    sent, moved = 0, 1
    while moved > 0 and sent < most:
        moved = 0
        _levels(v, first, head, tail, into, entering, flow, carries, level, queue)
        for u in range(len(level)):  # new levels: all arcs may be looked at again
            begun[u] = 0
        for u in range(len(level)):
            if left[u] > 0 and level[u] >= 0:
                room = min(left[u], most - sent - moved)  # ``sent`` is of the rounds before, ``moved`` of this one
                came = _send(u, room, v, first, head, tail, into, entering, flow, carries, level, begun, path)
                left[u] -= came
                moved += came
        sent += moved
    return sent


@njit(work=lambda first, head, *others: 20.0 * len(first) * len(head))
def worst_cut(first, head, tail, into, entering, ranks, count, arcs, inside):
    """Find nodes S with the greatest count of ranks in S / arcs that leave S, some rank not being in S; return both numbers.

    Begin with a cut of ``count`` ranks that ``arcs`` arcs leave. Where a worse one is found, fill ``inside``, bool (N,), with the
    nodes that are not in S. ``ranks``: the nodes that count, int64. Arcs as in Network.arc_lists.

    Invariant: ``count`` / ``arcs`` is the worst cut known, and no rank before ``at`` is behind a worse one. Each worse cut is
    asked of the same rank again. Cost: a flow, O(N² arcs) at worst, for each rank and each worse cut.
    """
    # 1. Room for the flows.
    n = len(first) - 1
    flow, left = np.empty(len(head), np.int64), np.zeros(n, np.int64)
    level, queue = np.empty(n, np.int32), np.empty(n, np.int32)
    begun, path = np.empty(n, np.int64), np.empty(n, np.int64)
    at = 0
    while at < len(ranks):
        # 2. Let each rank give ``arcs``, and an arc carry ``count``: all arrives unless a cut is worse.
        for a in range(len(head)):
            flow[a] = 0
        for u in ranks:
            left[u] = arcs  # from the source; an arc carries as much as ``count``
        most = (arcs + 1) * len(ranks)  # more than all ranks give: no limit
        _fill(ranks[at], left, most, first, head, tail, into, entering, flow, count, level, queue, begun, path)
        # 3. The cut behind which too little comes: is it worse?
        out, behind = 0, 0
        for u in ranks:
            behind += level[u] < 0  # who cannot send to this rank any more stands behind the cut
        for a in range(len(head)):
            out += level[tail[a]] < 0 and level[head[a]] >= 0
        if behind * arcs > count * out:  # fractions multiplied out: whole numbers, so equal cuts count as no worse
            count, arcs = behind, out
            for u in range(n):
                inside[u] = level[u] >= 0  # the side of the rank that lacks
        else:
            at += 1  # this rank is behind no worse cut: the next
    return count, arcs


@njit(work=lambda first, head, *others: 40.0 * len(first) * len(head))
def fill_still(first, head, tail, into, entering, source, wants, room, units, inside):
    """Return whether each node that ``wants`` units can have so many of the ``source`` nodes; arcs carry ``room`` at most.

    If not, ``inside``, bool (N,), has the fewest nodes to which too few arcs lead. Arcs as in Network.arc_lists.

    O(nodes) flows, one for each node that wants units and is no source itself.
    """
    n = len(first) - 1
    flow, level, queue = np.zeros(len(head), np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    begun, path, left = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        if wants[v] and not source[v]:
            for u in range(n):
                left[u] = units * source[u]
            if _fill(v, left, units, first, head, tail, into, entering, flow, room, level, queue, begun, path) < units:
                for u in range(n):
                    inside[u] = level[u] >= 0  # the least side: ``level`` has only those from which v can be reached
                return False
    return True
