"""Inner loops that deal messages over a cover, and hand them from slow trees to others.

Arcs as in Network.arc_lists; ``link``: the number of each arc's link, the same both ways. Tree t begins with the root's arc t.
``parent, by, depth``, int32 (k, N): the node above each, the number of the arc from there, and how deep it is; -1 outside.
``used``: by link. ``dealt``: by which tree each node's message goes. A tree takes, for the worst D, as many steps as there are
flits for depth D or more, and D - 1 (Theorem 1): so of each ``held`` is kept, its flits by depth.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def _steps_of(held, t):
    """Return the steps of one tree.

    From the deepest level up, ``sent`` is what goes at least as deep. O(levels). An example:

        held[t] = [ -, 2, 0, 1 ]    to depth 3 or more: 1 flit,  1 + 3 - 1 = 3 steps
                                    to depth 1 or more: 3 flits, 3 + 1 - 1 = 3 steps
    """
    most, sent = 0, 0
    for d in range(held.shape[1] - 1, 0, -1):
        if held[t, d]:  # a level without flits bounds nothing
            sent += held[t, d]
            if sent + d - 1 > most:
                most = sent + d - 1
    return most


@njit
def _with(held, t, d, flits):
    """Return the steps of one tree with a message more, or, of a negative length, less.

    ``held`` is as before when it returns. O(levels).
    """
    held[t, d] += flits
    found = _steps_of(held, t)
    held[t, d] -= flits
    return found


@njit
def _slowest_first(steps, turn):
    """Fill ``turn`` with the trees by their steps, most first; return the most.

    O(k²), for k trees, which are few: by insertion.
    """
    for t in range(len(steps)):
        i = t
        while i > 0 and steps[turn[i - 1]] < steps[t]:
            turn[i] = turn[i - 1]
            i -= 1
        turn[i] = t
    return steps[turn[0]]


@njit(work=lambda order, flits, depth, held, dealt: len(order) * min(held.size, 512 * len(held)))
def deal(order, flits, depth, held, dealt):
    """Deal the messages in an order, each to the tree in which all would then be there soonest, or else the nearest one.

    Invariant: ``so_far[t]`` are the steps of tree t with what it has by now. Cost: a message asks each tree, O(messages
    trees), and with few levels counts them all besides. With many levels it does not: if the farthest come first, a message's
    own depth is the least in its tree, so all flits dealt there go at least as deep, and their number is known.
    """
    k = len(depth)
    for t in range(k):
        for d in range(held.shape[1]):
            held[t, d] = 0
    quick = held.shape[1] > 512  # the quick count costs O(1) in place of O(levels)
    so_far, load = np.zeros(k, np.int64), np.zeros(k, np.int64)
    for v in order:
        best, value = -1, 0
        for t in range(k):
            d = depth[t, v]
            if d > 0:
                # the quick way is right where the farthest come first
                there = load[t] + flits[v] + d - 1 if quick else _with(held, t, d, flits[v])
                new = max(so_far[t], there)
                # of equal steps the nearer tree; messages of no flits go to the nearest
                new = new * held.shape[1] + d if flits[v] else d
                if best < 0 or new < value:
                    best, value = t, new
        dealt[v] = best
        held[best, depth[best, v]] += flits[v]
        load[best] += flits[v]
        # the steps stand in the high part of the number
        so_far[best] = value // held.shape[1] if flits[v] else so_far[best]


@njit(work=lambda flits, depth, held, *others: len(flits) * held.size)
def improve(flits, depth, held, dealt, goal, left):
    """Take messages from one tree to another, or swap two, while the slower of both then takes less; the slowest trees first.

    Stop when all takes ``goal`` steps, or after a quarter of the ``left[0]`` operations, counted down. Return each tree's steps.

    A move takes the best of all pairs for the slowest tree that can still be helped. Invariant: ``held`` and ``steps`` are
    those of ``dealt`` whenever a move is chosen; each try is taken back. Cost of a move: each message of the tree with each
    other tree, one count of its levels each; of a swap, each with each message of the other tree. ``left[0]`` bounds them
    all.
    """
    # 1. The steps of each tree as dealt.
    k, n = depth.shape
    steps = np.empty(k, np.int64)
    for t in range(k):
        steps[t] = _steps_of(held, t)
    levels = held.shape[1]
    mine, others = np.empty(n, np.int64), np.empty(n, np.int64)
    floor = left[0] - left[0] // 4  # a quarter of what was left at the beginning
    turn = np.empty(k, np.int64)
    slower = 0  # trees from which nothing can be taken as things are
    while slower < k and left[0] > floor and _slowest_first(steps, turn) > goal:
        # 2. The messages of the slowest tree that has not been given up.
        t = turn[slower]
        best, value, which, swap = -1, steps[t], -1, -1
        count = 0
        for v in range(n):
            if dealt[v] == t and flits[v]:  # only messages with flits make it slower
                mine[count] = v
                count += 1
        left[0] -= n
        # 3. The best move of one message to another tree.
        for i in range(count):
            if left[0] <= floor:
                break
            v = mine[i]
            less = _with(held, t, depth[t, v], -flits[v])
            left[0] -= levels
            if less >= value:  # taking it away does not help: no need to ask where to put it
                continue
            for s in range(k):
                if s != t and depth[s, v] > 0:
                    new = max(less, _with(held, s, depth[s, v], flits[v]))
                    left[0] -= levels
                    if new < value:
                        best, value, which = s, new, v
        # 4. If none helps: the best swap with a shorter message of a faster tree.
        if best < 0:
            for s in range(k):
                # a tree nearly as slow cannot take more and be faster
                if s == t or steps[s] >= steps[t] - 1 or left[0] <= floor:
                    continue
                few = 0
                for u in range(n):
                    if dealt[u] == s and depth[t, u] > 0 and flits[u]:
                        others[few] = u
                        few += 1
                left[0] -= n
                for i in range(count):
                    v = mine[i]
                    if depth[s, v] < 0 or left[0] <= floor:  # the other tree does not reach it
                        continue
                    held[t, depth[t, v]] -= flits[v]
                    held[s, depth[s, v]] += flits[v]
                    for j in range(few):
                        u = others[j]
                        # else tree t would get slower, or stay as it is
                        if flits[u] > flits[v] or (flits[u] == flits[v] and depth[t, u] >= depth[t, v]):
                            continue
                        held[s, depth[s, u]] -= flits[u]
                        new = _with(held, t, depth[t, u], flits[u])
                        if new < value:  # two counts only where the first allows it
                            new = max(new, _steps_of(held, s))
                        held[s, depth[s, u]] += flits[u]
                        left[0] -= 2 * levels
                        if new < value:
                            best, value, which, swap = s, new, v, u
                    held[t, depth[t, v]] += flits[v]
                    held[s, depth[s, v]] -= flits[v]
        # 5. Do it, and begin again with the slowest; or give this tree up for now.
        if best < 0:
            slower += 1  # the next slowest has its turn
            continue
        slower = 0  # somebody is faster: those given up may be helped again
        _move(which, t, best, flits, depth, held, dealt)
        if swap >= 0:
            _move(swap, best, t, flits, depth, held, dealt)
        steps[t], steps[best] = _steps_of(held, t), _steps_of(held, best)
    return steps


@njit
def _move(v, t, s, flits, depth, held, dealt):
    # in constant time: ``held`` stays that of ``dealt``
    held[t, depth[t, v]] -= flits[v]
    held[s, depth[s, v]] += flits[v]
    dealt[v] = s


def _subtrees(first, target, link, root, flits, parent, by, depth, used, dealt, held, *others):
    return len(flits) * held.size


@njit(work=_subtrees)
def hand_over(first, target, link, root, flits, parent, by, depth, used, dealt, held, steps, goal, left):
    """Give subtrees of one tree to another, with their links, while the slower of both then takes less; the slowest first.

    The top of a subtree hangs below a node of the other tree: by a free link, or by its own when the node above it is there too.
    Nodes that are there already stay where they are. Stop as ``improve`` does.

    Invariant: at the begin of each turn ``used`` marks the links of all trees, each link in one tree at most, and ``held``
    has the flits of each tree by depth. Cost of a turn: each subtree of the slow tree is gathered once, and compared with
    each other tree that could take it: O((size of the subtree + levels) k), which ``left[0]`` counts down. For that the
    children of a node in tree t are linked:

        head[p] ─▶ v ── after[v] ─▶ w ── after[w] ─▶ -1
    """
    k, n = parent.shape
    levels = held.shape[1]
    head, after = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    sub = np.empty(n, np.int32)
    deep = np.empty(n, np.int32)
    into = np.zeros((1, levels), np.int64)
    floor = left[0] - left[0] // 4
    turn = np.empty(k, np.int64)
    slower = 0
    while slower < k and left[0] > floor and _slowest_first(steps, turn) > goal:
        # 1. The children of each node in the slowest tree that has not been given up.
        t = turn[slower]
        left[0] -= 2 * n
        for v in range(n):
            head[v] = -1
        for v in range(n):
            if depth[t, v] > 1:  # those at depth 1 are the trees' roots, which stay
                after[v] = head[parent[t, v]]
                head[parent[t, v]] = v
        value, best, top, below, arc = steps[t], -1, -1, -1, -1
        for done in range(2):  # look for the best, then do it
            for c in range(n):
                if done and c != top:
                    continue
                if depth[t, c] < 2 or (left[0] <= floor and not done):  # a root of the tree, or the budget is spent
                    continue
                # 2. ``sub``: the nodes from c down, each behind its parent.
                count = 1
                sub[0] = c
                at = 0
                while at < count:
                    w = head[sub[at]]
                    at += 1
                    while w >= 0:  # children are added behind their parents
                        sub[count] = w
                        count += 1
                        w = after[w]
                left[0] -= count
                # 3. The slow tree without the messages of these nodes.
                some = False
                for i in range(count):
                    v = sub[i]
                    if dealt[v] == t and flits[v]:
                        held[t, depth[t, v]] -= flits[v]
                        some = True
                less = _steps_of(held, t)
                left[0] -= levels
                for s in range(k):
                    # nothing to give, or no gain even if it cost nothing
                    if s == t or not some or (s != best if done else less >= value):
                        continue
                    # 4. Where c would hang in tree s: by its own arc, or a free one to the least depth.
                    up, way = -1, -1
                    if depth[s, c] < 0:
                        p = parent[t, c]
                        if depth[s, p] > 0:
                            up, way = p, by[t, c]  # its own link goes with it: it need not be free
                        for i in range(first[c], first[c + 1]):
                            u = target[i]
                            if depth[s, u] > 0 and not used[link[i]] and (up < 0 or depth[s, u] < depth[s, up]):
                                for j in range(first[u], first[u + 1]):
                                    if target[j] == c:
                                        up, way = u, j
                        if up < 0:
                            continue
                        deep[c] = depth[s, up] + 1  # one below where it would hang
                    else:
                        deep[c] = depth[s, c]
                    # 5. The depth of each node there: its own if it is there, else below its parent.
                    fits = deep[c] < levels
                    for i in range(1, count):
                        v = sub[i]
                        deep[v] = depth[s, v] if depth[s, v] > 0 else deep[parent[t, v]] + 1
                        fits = fits and deep[v] < levels  # so deep as no level is counted
                    if not fits:
                        continue
                    # 6. The steps of tree s with the messages of these nodes.
                    for d in range(levels):
                        into[0, d] = held[s, d]
                    for i in range(count):
                        v = sub[i]
                        if dealt[v] == t:
                            into[0, deep[v]] += flits[v]
                    left[0] -= levels + count
                    new = max(less, _steps_of(into, 0))
                    if done:
                        for d in range(levels):
                            held[s, d] = into[0, d]
                        arc, below = way, up
                    elif new < value:
                        value, best, top = new, s, c
                # 7. While looking: give the messages back.
                if not done:
                    for i in range(count):
                        v = sub[i]
                        if dealt[v] == t:
                            held[t, depth[t, v]] += flits[v]
                    continue
                # 8. When done: links, nodes and messages change trees.
                for i in range(count):
                    v = sub[i]
                    above = parent[t, v] if i else below
                    number = by[t, v] if i else arc
                    used[link[by[t, v]]] = False  # its old link is free
                    if depth[best, v] < 0:  # who is there already stays as it is
                        parent[best, v], by[best, v], depth[best, v] = above, number, deep[v]
                        used[link[number]] = True
                    if dealt[v] == t:  # only messages that this tree had
                        dealt[v] = best
                for i in range(count):
                    v = sub[i]
                    parent[t, v] = by[t, v] = depth[t, v] = -1
                steps[t], steps[best] = _steps_of(held, t), _steps_of(held, best)
                break
            if best < 0:
                break
        slower = slower + 1 if best < 0 else 0  # after a success begin with the slowest again
