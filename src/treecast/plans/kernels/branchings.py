"""Inner loops that pack spanning trees with roots of their own, many alike at once.

Sources: Edmonds 1973; Frank 1978; Bérczi & Frank 2010; Zhao et al., "ForestColl" (2024).

Partial trees can be completed exactly if every set X of nodes is entered by as much room as there are trees without a node in X.
So let each other tree that lacks v have a unit of flow to v. As much as can go from u to v besides, so many of some like trees
may the arc from u to v join. An arc that may not join never may later.

``room[u, v]``: the free room from u to v, int64 (N, N). Class i is ``many[i]`` like trees; ``up[i, v]`` is the node above v,
``depth[i, v]`` its depth, -1 where they lack it. ``give[i, w]``: how many units of the class begin at node w.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.dice import shuffle


@njit
def _one_more(u, v, most, lacks, count, room, depth, flow, give, left, ahead, by, seen, queue):
    """Send more to v, up to ``most``, from u or from trees that have units left; return how much, 0 if nothing can go.

    Search backwards from v. Of a node, ``ahead`` has the next on the way, and ``by`` the class of trees one of whose units begins
    there instead; -1: an arc leads there.

    Invariant: ``flow`` stays at or below ``room`` on every arc, and ``left`` and ``give`` together say where the units of
    each class begin. Cost: each node is reached once, and then asks all nodes and classes: O(N (N + classes)), and a class N
    more, once.
    """
    # 1. Nothing is reached but v.
    n, low, high = len(ahead), 0, 1
    for w in range(n):
        ahead[w] = -1
    for c in range(count):
        seen[lacks[c]] = 0
    ahead[v], by[v], queue[0] = v, -1, v
    while low < high:
        w = queue[low]
        low += 1
        # 2. Can a unit begin at w? At u it can; else where a tree is that has units left, or that could begin one here
        # instead of at x.
        begins, sent = -2, most
        if w == u:  # what arrives at u is what is asked for: it may be any amount
            begins = -1
        else:
            for c in range(count):
                j = lacks[c]
                if seen[j] == 0 and depth[j, w] >= 0:
                    if left[j] > 0:
                        begins, sent = j, min(most, left[j])
                        break
                    seen[j] = 1  # once: then all its beginnings are listed
                    for x in range(n):
                        if give[j, x] > 0 and ahead[x] < 0:
                            ahead[x], by[x] = w, j
                            queue[high] = x
                            high += 1
        # 3. Of the way found: how much fits, then change units and flow along it.
        if begins > -2:
            x = w
            while x != v:
                # a class can take back no more than it gave there
                sent = min(sent, give[by[x], x] if by[x] >= 0 else room[x, ahead[x]] - flow[x, ahead[x]])
                x = ahead[x]
            if begins >= 0:
                left[begins] -= sent
                give[begins, w] += sent
            x = w
            while x != v:
                if by[x] >= 0:
                    give[by[x], x] -= sent
                    give[by[x], ahead[x]] += sent
                else:
                    flow[x, ahead[x]] += sent
                    flow[ahead[x], x] -= sent  # so that it can be called back
                x = ahead[x]
            return sent
        # 4. No: on to the nodes with free arcs to w.
        for x in range(n):
            if ahead[x] < 0 and room[x, w] > flow[x, w]:
                ahead[x], by[x] = w, -1
                queue[high] = x
                high += 1
    return 0


@njit
def _may_join(i, u, v, classes, room, many, depth, flow, give, left, ahead, by, seen, queue, lacks):
    """Return how many trees of class i the arc from u to v may join.

    Invariant: the flow found first is that of the other trees, ``need``; only what goes beyond counts for the arc from u.
    Cost: one search for each piece of flow, after O(N² + N classes) to clear the tables.
    """
    # 1. Classes that lack v, and how many units they need.
    n, count, need = len(ahead), 0, 0
    for j in range(classes):
        if j != i and depth[j, v] < 0:  # the trees that join get v by the arc itself
            lacks[count] = j
            count += 1
            left[j] = many[j]
            need += many[j]
            for x in range(n):
                give[j, x] = 0
    # the flow of the last question is of no use: other classes, another node
    for x in range(n):
        for y in range(n):
            flow[x, y] = 0
    wanted, found = need + min(many[i], room[u, v]), 0  # the others first, then as many as could use the arc
    for x in range(n):  # straight to v first, and not by the arc that is asked for
        for c in range(count):
            j = lacks[c]
            if x != u and depth[j, x] >= 0 and left[j] > 0 and room[x, v] > flow[x, v]:
                sent = min(left[j], room[x, v] - flow[x, v])
                left[j] -= sent
                give[j, x] += sent
                flow[x, v] += sent
                flow[v, x] -= sent
                found += sent
    # What is left over takes searches.
    while found < wanted:
        sent = _one_more(u, v, wanted - found, lacks, count, room, depth, flow, give, left, ahead, by, seen, queue)
        if sent == 0:
            break
        found += sent
    return max(0, found - need)  # what the others need goes first, even over the arc itself


@njit
def _divide(i, classes, mine, many, up, depth, refused):
    """Let ``mine`` trees of class i stay in it, and the others be a class of their own, behind the last.

    One copy of what the class knows: O(N²). What was refused to the class is refused to both halves.
    """
    n = up.shape[1]
    many[classes], many[i] = many[i] - mine, mine
    for w in range(n):
        up[classes, w], depth[classes, w] = up[i, w], depth[i, w]
        for x in range(n):
            refused[classes, w, x] = refused[i, w, x]


@njit(work=lambda room, many, up, depth, classes, state: 4.0 * (classes * room.shape[0]) ** 2 * room.shape[0])
def pack_from_roots(room, many, up, depth, classes, state):
    """Complete trees of several roots; return how many classes there are then, or -1 where that cannot be, -2 if too many.

    The first ``classes`` classes have their roots, with depth 0. ``state``: a random number, uint64 and not 0.

    Level by level, so that trees are as flat as can be. Invariant: before each step, every set of nodes is entered by as much
    at most O(classes N²) questions of ``_may_join`` in all that are refused, besides those that let an arc join.
    room as there are trees without a node in it. ``refused`` saves asking again: an arc that may not join never may later. Cost:
    """
    # 1. Tables; nothing is refused yet.
    most, n = up.shape
    flow, give, refused = np.zeros((n, n), np.int64), np.zeros((most, n), np.int64), np.zeros((most, n, n), np.uint8)
    left, seen, lacks = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    ahead, by, queue, order = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.arange(n)
    tried, level, lacking = np.zeros(n, np.int64), 0, 1
    while lacking > 0:
        # 2. The next level: all nodes in random order, each for all classes that lack it.
        level += 1
        if level > n:  # no tree is deeper than that: nothing joins any more
            return -1
        state = shuffle(order, n, state)
        lacking = 0
        for v in order:
            i = 0  # classes may grow in number meanwhile, so this is no range
            while i < classes:
                if depth[i, v] < 0:
                    # 3. The arc that most trees of the class may join, the roomiest asked first.
                    best, joins = -1, 0
                    for u in range(n):
                        tried[u] = 0
                    while joins < many[i]:  # an arc with no more room than join already would not help
                        u = -1  # where there is most room for more than join so far
                        for x in range(n):
                            able = 0 <= depth[i, x] < level and tried[x] == 0 and refused[i, x, v] == 0
                            if able and room[x, v] > joins and (u < 0 or room[x, v] > room[u, v]):
                                u = x
                        if u < 0:
                            break
                        tried[u] = 1
                        may = _may_join(
                            i, u, v, classes, room, many, depth, flow, give, left, ahead, by, seen, queue, lacks
                        )
                        refused[i, u, v] = may == 0  # for good: room only shrinks
                        if may > joins:
                            best, joins = u, may
                    # 4. So many join; if those are not all, the class is divided.
                    if joins == 0:
                        lacking += 1
                    else:
                        if joins < many[i]:
                            if classes == most:
                                return -2
                            _divide(i, classes, joins, many, up, depth, refused)
                            classes += 1
                        up[i, v], depth[i, v] = best, depth[i, best] + 1
                        room[best, v] -= joins  # of this class alone; others ask for what is left
                i += 1
    return classes
