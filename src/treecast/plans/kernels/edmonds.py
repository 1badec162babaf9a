"""Inner loops that pack arc-disjoint spanning trees level by level, or complete parts of such.

Source: Edmonds, "Edge-disjoint branchings" (1973).

Partial trees can be completed exactly if every set X of nodes without the root is entered by as many free arcs as there are
trees without a node in X. So an arc into v may join tree i if afterwards each other tree that lacks v has a unit of flow
of its own from any of its nodes to v, all over different free arcs. An arc that may not join a tree never may later.

Arcs as in networks/kernels/flows.py; ``owner[a]`` is the tree of an arc, -1 where it is free. Arcs with flow hold ``tick`` in
``flow``. Tree j's unit begins at node ``entry[j]``; -1: it has none yet; -2: the tree has v and needs none.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.dice import shuffle


@njit
def _flip(a, flow, tick, log, logged):
    """Put flow on an arc, or take it off; return how many changes are logged then.

    O(1). The log lets ``_may_join`` take back all that a vain try has changed.
    """
    flow[a] = 0 if flow[a] == tick else tick
    log[logged] = a
    return logged + 1


@njit
def _place(v, barred, network, known, room, tick, logged):
    """Place the unit of one more tree, changing others where need be; return how many changes are logged, -1 if none can be.

    Search backwards from ``v``: over free arcs without flow but ``barred``, back over flow, and from a node of a tree whose
    unit begins elsewhere on from there. ``before``: of a node the arc that follows, + arcs if called back, or 2 arcs + the tree
    whose unit begins there; of a tree (behind the nodes) the node where it may begin.

    Each node and each tree is reached once, each arc looked at twice: O(arcs + nodes trees). Where numbers in ``before`` and
    in the queue point:

        before[node]:   0 …  arc a goes on | arcs …  arc a is called back | 2 arcs …  a tree's unit begins there so far
        queue, seen:    0 …  nodes         | n …     trees                | n + trees: the stamp of the last search
    """
    # 1. A new stamp, so that nothing counts as seen.
    first, head, tail, into, entering = network
    owner, depth, flow, entry = known
    seen, before, queue, _ = room
    n, arcs, trees = len(first) - 1, len(head), len(entry)
    stamp = seen[n + trees] + 1  # the stamps outlive the call: no clearing, O(1)
    seen[n + trees] = stamp
    queue[0], seen[v] = v, stamp
    low, high = 0, 1
    while low < high:
        w = queue[low]
        low += 1
        # 2. A tree: its unit could begin elsewhere, so the node where it begins is free to go on.
        if w >= n:
            x = entry[w - n]
            if seen[x] != stamp:
                seen[x], before[x] = stamp, 2 * arcs + w - n  # a node behind a tree costs no arc
                queue[high] = x
                high += 1
            continue
        # 3. A node: the unit of a tree that has it can begin here; if that tree has none yet, the search is over.
        for j in range(trees):
            if entry[j] != -2 and depth[j, w] >= 0 and seen[n + j] != stamp:  # -2: it has v already, and needs no unit
                seen[n + j], before[n + j] = stamp, w
                if entry[j] == -1:
                    return _follow(v, j, network, known, room, tick, logged)
                queue[high] = n + j
                high += 1
        # 4. Back over free arcs, and over flow that is called back.
        for e in range(into[w], into[w + 1]):
            a = entering[e]
            if owner[a] < 0 and flow[a] != tick and a != barred and seen[tail[a]] != stamp:
                seen[tail[a]], before[tail[a]] = stamp, a
                queue[high] = tail[a]
                high += 1
        for a in range(first[w], first[w + 1]):
            if flow[a] == tick and seen[head[a]] != stamp:
                seen[head[a]], before[head[a]] = stamp, arcs + a
                queue[high] = head[a]
                high += 1
    return -1


@njit
def _follow(v, j, network, known, room, tick, logged):
    """Change the flow along a way that was found, from the node where tree j's unit may begin; return how many are logged.

    O(arcs + trees) on the way.
    """
    _, head, tail, _, _ = network
    _, _, flow, entry = known
    _, before, _, log = room
    n, arcs = len(before) - len(entry), len(head)
    x = before[n + j]
    entry[j] = x
    while x != v:
        then = before[x]  # the free tree's unit begins here from now on
        if then < arcs:
            logged, x = _flip(then, flow, tick, log, logged), head[then]
        elif then < 2 * arcs:
            # called back: the flow came the other way
            logged, x = _flip(then - arcs, flow, tick, log, logged), tail[then - arcs]
        else:
            x = before[n + then - 2 * arcs]  # the node from which this tree's unit is moved away
            entry[then - 2 * arcs] = x
    return logged


@njit
def _cut(a, network, known, log, tick, logged):
    """Take back the unit that ends with arc ``a``, and let its tree be without one; return how many changes are logged.

    Back along one unit, from its end to where it begins: O(arcs into its nodes + trees for each of them).
    """
    _, _, tail, into, entering = network
    _, _, flow, entry = known
    logged, y = _flip(a, flow, tick, log, logged), tail[a]
    while True:
        for j in range(len(entry)):
            if entry[j] == y:
                entry[j] = -1
                return logged
        for e in range(into[y], into[y + 1]):
            if flow[entering[e]] == tick:
                logged, y = _flip(entering[e], flow, tick, log, logged), tail[entering[e]]
                break


@njit
def _may_join(i, a, v, network, known, room, tick, kept):
    """Return whether arc ``a`` into ``v`` may join tree i; the flow is then that of the others, else unchanged.

    Invariant: before and after each other tree that lacks v has a unit of flow to v, no two over one arc, and ``entry`` says
    where they begin. Cost: O(arcs + nodes × trees), for one search at most.
    """
    first, head, _, _, _ = network
    _, _, flow, entry = known
    log = room[3]
    logged = 0
    # 1. Tree i's own unit is not needed any more if it joins.
    for j in range(len(entry)):
        kept[j] = entry[j]
    x = entry[i]
    while x != v:  # forwards along its own unit, up to v
        b = first[x]
        while flow[b] != tick:  # units share no arcs, yet nodes: which unit is followed does not matter
            b += 1
        logged, x = _flip(b, flow, tick, log, logged), head[b]
    entry[i] = -2
    if flow[a] != tick:  # nobody else's unit goes over it
        return True
    # 2. The unit that goes over the arc has to find another way.
    logged = _cut(a, network, known, log, tick, logged)
    if _place(v, a, network, known, room, tick, logged) >= 0:  # barred: it is going to be owned
        return True
    # 3. It found none: all as before.
    for at in range(logged):
        flow[log[at]] = 0 if flow[log[at]] == tick else tick
    for j in range(len(entry)):
        entry[j] = kept[j]
    return False


@njit
def _keep_lacking(nodes, count, depth, kept):
    """List in ``kept`` those of the first ``count`` nodes that some tree lacks; return how many they are.

    O(nodes × trees).
    """
    many = 0
    for at in range(count):
        for i in range(len(depth)):
            if depth[i, nodes[at]] < 0:
                kept[many] = nodes[at]
                many += 1
                break
    return many


@njit
def _is_wanted(v, level, tail, into, entering, owner, depth):
    """Return whether a free arc leads to ``v`` from the last level of a tree that lacks it.

    O(arcs into v × trees).
    """
    for e in range(into[v], into[v + 1]):
        a = entering[e]
        if owner[a] < 0:
            for i in range(len(depth)):
                if depth[i, v] < 0 and depth[i, tail[a]] == level - 1:
                    return True
    return False


@njit(work=lambda first, head, tail, into, entering, root, state, up, depth: 60 * up.size * up.shape[1] ** 0.5)
def pack(first, head, tail, into, entering, root, state, up, depth):
    """Complete k arc-disjoint spanning trees; return -1, or a node at which the parts that are given cannot be completed.

    If nothing is given, that is a node to which fewer than k ways lead that share no arc. ``up``: int32 (k, N), the arc by
    which a node hears in each tree, ``depth``: int32 (k, N); both are -1 where a node is not in a tree. ``state``: a random
    number, uint64 and not 0.

    Invariant: the trees can always be completed, for an arc joins only where that stays so. A node that was looked at in a
    level comes again only behind a node that joined a tree. Cost: for a node a search for each tree that lacks it, and one
    for each of these and each arc from the level before: O(arcs + nodes × trees) each.

        now:  the nodes of this level         then: the heads of free arcs from nodes that joined a tree, for the next level
    """
    # 1. The parts that are given, and which arcs they own.
    trees, n = up.shape
    owner, flow = np.full(len(head), -1, np.int32), np.zeros(len(head), np.int32)
    seen, before = np.zeros(n + trees + 1, np.int64), np.zeros(n + trees, np.int32)
    queue, log = np.empty(n + trees, np.int32), np.empty(3 * len(head) + n + trees, np.int32)
    entry, kept, turn = np.empty(trees, np.int32), np.empty(trees, np.int32), np.arange(trees)
    network, known, room = (first, head, tail, into, entering), (owner, depth, flow, entry), (seen, before, queue, log)
    now, then, listed = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int32)
    deepest, lacking = 0, n  # level of the parts that are given; how many nodes some of them may lack
    lack = np.empty(n, np.int32)
    for v in range(n):
        lack[v] = v
    for i in range(trees):
        depth[i, root] = 0  # the root is in every tree
        for v in range(n):
            if up[i, v] >= 0:
                owner[up[i, v]] = i
                deepest = max(deepest, depth[i, v])
    # 2. The first level: who hears from the root.
    level, tick, count = 0, 0, 0
    for e in range(first[root], first[root + 1]):
        if listed[head[e]] == 0:  # once, if parallel arcs lead there
            listed[head[e]] = -1
            now[count] = head[e]
            count += 1
    while count > 0 or level <= deepest:
        level += 1
        # Parts that are given may go on from any node of such a level.
        if 0 < deepest >= level - 1:  # above that, ``now`` has all who could hear
            lacking = _keep_lacking(lack, lacking, depth, lack)
            count = _keep_lacking(lack, lacking, depth, now)
        state = shuffle(now, count, state)
        coming = 0
        for at in range(count):
            v = now[at]
            if not _is_wanted(v, level, tail, into, entering, owner, depth):
                continue
            # 3. Each tree that lacks v gets a unit of flow to v; if one gets none, no packing exists.
            tick += 1  # a new tick takes all flow off: O(1)
            for i in range(trees):
                entry[i] = -1 if depth[i, v] < 0 else -2
            for i in range(trees):
                if depth[i, v] < 0 and _place(v, -1, network, known, room, tick, 0) < 0:
                    return v  # Edmonds' condition fails at v
            # 4. In random order, trees take arcs from the level before that may join them.
            state = shuffle(turn, trees, state)
            joined = False
            for t in range(trees):
                i = turn[t]
                for e in range(into[v], into[v + 1]):
                    a = entering[e]
                    # joined, owned or of another level by now
                    if depth[i, v] >= 0 or owner[a] >= 0 or depth[i, tail[a]] != level - 1:
                        continue
                    if _may_join(i, a, v, network, known, room, tick, kept):
                        owner[a], up[i, v], depth[i, v] = i, a, level
                        joined = True
            # 5. Who hears from v is looked at in the next level, once.
            if joined:
                for a in range(first[v], first[v + 1]):
                    # once a level, whoever of its neighbours joined
                    if owner[a] < 0 and listed[head[a]] != level and head[a] != root:
                        listed[head[a]] = level
                        then[coming] = head[a]
                        coming += 1
        now, then, count = then, now, coming
    return -1
