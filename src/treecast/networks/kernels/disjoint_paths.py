"""Inner loops that find node-disjoint paths of least total length: flows of least cost, one way after the other.

Arcs as in Network.arc_lists: those of u lead to ``target[i]``, i from ``first[u]``. Where ways share no node, each node stands
there twice (networks/flows.py, ``split``): v, where something comes in, and v + N, where it goes out; arc v leads from
the one to the other.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

_FAR = 1 << 60  # more than any ways cost


@njit
def _one_more(first, target, source, into, entering, root, goal, price, used, lone):
    """Change the ways from ``root`` to ``goal``, which share no arc, to one more at the least total price; return by how much
    it grows.

    -1, and nothing changed, where there is no more. ``price``: of each arc, int64; 1 makes ways as short as can be. ``used``:
    whether an arc lies on a way. ``lone``: of several arcs from root to goal only one is used: they are one link. Ways of least
    price share no link either, where of several arcs from one node to another only one is given: two that go over a link both
    ways can exchange their rests, and are cheaper.

    Bellman and Ford's search with a queue, since arcs that are called back cost less than 0. Invariant: ways in ``used`` are
    the cheapest of their number, so no circle costs less than 0, and the search ends. Cost: at worst N rounds over the arcs.

        by[w] = a: over arc a from its source        by[w] = -1 - a: arc a is called back, from its target
    """
    # 1. The root costs nothing; is an arc from it to the goal in use?
    nodes = len(first) - 1
    far, by = np.full(nodes, _FAR, np.int64), np.zeros(nodes, np.int64)
    waiting, queue = np.zeros(nodes, np.bool_), np.zeros(nodes + 1, np.int32)
    size, low, high = len(queue), 0, 1  # one more place than nodes: a full ring is not taken for an empty one
    far[root], queue[0] = 0, root
    straight = False
    # a second arc from root to goal would be the same link once more
    for a in range(first[root], first[root + 1]):
        straight = straight or (lone and used[a] and target[a] == goal)
    while low != high:
        # 2. The next node whose price fell; the queue is a ring that has room for all.
        v = queue[low]
        low = (low + 1) % size
        waiting[v] = False
        if v == goal:  # nothing goes on from the goal
            continue
        out, back = first[v + 1] - first[v], into[v + 1] - into[v]
        for i in range(back + out):  # ways are called back before they go on
            a = entering[into[v] + i] if i < back else first[v] + i - back
            # used arcs go only backwards, unused ones only forwards
            if used[a] != (i < back) or (straight and v == root and target[a] == goal):
                continue
            w, there = (source[a], far[v] - price[a]) if i < back else (target[a], far[v] + price[a])
            if there < far[w]:
                far[w], by[w] = there, -1 - a if i < back else a
                if not waiting[w]:
                    waiting[w], queue[high] = True, w
                    high = (high + 1) % size
    if far[goal] == _FAR:  # no way is left, with whatever changes
        return -1
    # 3. Change the arcs along the way.
    # back from the goal, as ``by`` leads
    v = goal
    while v != root:
        a = by[v]
        if a >= 0:
            used[a], v = True, source[a]
        else:
            used[-1 - a], v = False, target[-1 - a]
    return far[goal]


@njit(work=lambda first, target, source, into, entering, root, goals, price, lengths: 2 * len(target) * lengths.size)
def least_lengths(first, target, source, into, entering, root, goals, price, lengths):
    """Fill in the least total price of 1, 2 … ways from ``root`` to each goal, int64 (goals, most); -1: not so many.

    O(goals × most) searches. ``lone`` keeps parallel arcs from counting as several links.
    """
    for g in range(len(goals)):
        used = np.zeros(len(target), np.bool_)
        total, more = 0, 0
        for x in range(lengths.shape[1]):
            if more >= 0:  # once there is no more, there is none later
                more = _one_more(first, target, source, into, entering, root, goals[g], price, used, True)
            total += more  # the price of all ways together, not of the last
            lengths[g, x] = total if more >= 0 else -1


@njit(work=lambda first, target, source, into, entering, root, goal, price, used, copies: 2 * len(target) * copies)
def arcs_of_paths(first, target, source, into, entering, root, goal, price, used, copies):
    """Mark in ``used`` the arcs of so many ways from ``root`` to ``goal``; return how many ways there are, at most that.

    O(copies) searches.
    """
    found = 0
    while found < copies and _one_more(first, target, source, into, entering, root, goal, price, used, True) >= 0:
        found += 1
    return found


@njit
def _count(a, more, table, taken, room, begin, sharing, load, price, inner):
    """Count a way over an arc more, or less; the arcs that share its resources cost more, or less.

    O(resources of the arc × arcs that share one).
    """
    last = len(table) - 1  # beyond its end the table goes on with its last price
    for k in range(taken.shape[1]):
        r = taken[a - inner, k]
        # whole sends per unit of room: what a few more ways cost is nothing until the next is full
        change = table[min((load[r] + more) // room[r], last)] - table[min(load[r] // room[r], last)]
        load[r] += more
        for i in range(begin[r], begin[r + 1]):
            price[sharing[i] + inner] += change  # arcs inside of split nodes come first, and take nothing


@njit(work=lambda network, ends, order, copies, *others: 8 * len(network[1]) * len(order) * copies)
def priced_disjoint_paths(network, ends, order, copies, table, taken, room, sharing, load, price, way, length, inner):
    """Choose so many ways for each pair anew, pair after pair in a certain ``order``, at the least total price.

    ``network``: first, target, source, behind and entering. The ways of pair p, from ``ends[0][p]`` to ``ends[1][p]``, are the
    arcs in ``way[p]``, one way behind the other, and ``length[p]`` says how long each is; 0 where it has none yet. ``inner``: so
    many arcs, the first ones, lead from where ways come into a node to where they go out; they cost nothing, and no way names
    them. Without such the ways of a pair may share nodes, though no arc. Arc ``inner + a`` takes the resources ``taken[a]``, and
    those that take resource r are ``sharing[1][sharing[0][r]] …``. ``load`` counts the ways over each resource; one that n ways
    use for each send it has ``room`` for adds ``table[n]`` to the ``price`` of its arcs. The arcs into v are
    ``entering[behind[v]] …``. Return whether there are so many ways for all pairs.

    Invariant: ``load`` and ``price`` are those of the ways of all pairs but the one that is asked. Cost: pairs × copies × one
    search, and for each arc of a way those that share its resources.
    """
    (first, target, source, behind, entering), (start, goal), (begin, sharers) = network, ends, sharing
    # 1. Nothing is used yet.
    used = np.zeros(len(target), np.bool_)
    for i in range(len(order)):
        # 2. Take the ways of this pair out, and find as many anew.
        p = order[i]
        total = 0
        for x in range(copies):
            total += length[p, x]
        for j in range(total):
            # its own ways would be in its own way else
            _count(way[p, j], -1, table, taken, room, begin, sharers, load, price, inner)
        for _ in range(copies):
            if _one_more(first, target, source, behind, entering, start[p], goal[p], price, used, inner > 0) < 0:
                return False
        # 3. Follow the arcs from the start, write down the ways, and count them.
        j = 0
        for x in range(copies):
            u, begun = start[p], j
            while u != goal[p]:
                # the ways share no arc, so any used arc from u belongs to one of them
                a = first[u]
                while not used[a]:
                    a += 1
                used[a], u = False, target[a]  # taken off, so that ``used`` is clear for the next pair
                if a >= inner:  # arcs within split nodes are no hops
                    way[p, j] = a
                    _count(a, 1, table, taken, room, begin, sharers, load, price, inner)
                    j += 1
            length[p, x] = j - begun
    return True
