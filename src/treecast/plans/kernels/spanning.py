"""Inner loops that find spanning trees: shortest ways in balance, few children, few rounds of a broadcast.

Arcs as in networks.arcs.Arcs: those of u lead to ``target[i]``, i from ``first[u]``. Trees are filled in as ``parent`` and
``by``, int32 (N,): the node above each, and the number i of the arc from there, -1 at the root.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

_LOOKED_AT = 4096  # arcs that are looked at before a node is left for a later round
# arcs that are looked at for the prospects of the other nodes, before that is done more seldom
_REFRESHED = 1 << 26


@njit(arrays=True)
def balanced(first, target, source, into, entering, root, order, depth, flits, parent, by):
    """Fill in a tree of shortest ways whose branches, one for each child of the root, have about as many flits.

    ``order, depth``: the nodes, nearest first, and how far each is. Of a level the longest messages come first: each goes to
    the branch that has the least so far.

    Each arc is looked at once, and levels are sorted: O(arcs + nodes log nodes). Invariant: ``load[b]`` are the flits that
    hang in the branch of the root's child b by now. A stable order makes results the same everywhere.
    """
    # 1. Each child of the root is a branch of its own.
    n = len(depth)
    branch, load = np.arange(n), np.zeros(n, np.float64)
    low = 1
    while low < len(order):
        # 2. The next level, order[low:high], its longest messages first.
        high = low
        while high < len(order) and depth[order[high]] == depth[order[low]]:
            high += 1
        longest = np.argsort(-flits[order[low:high]], kind="mergesort")  # stable, so that equal ones stay in order
        for i in longest:
            v = order[low + i]
            # 3. Of the parents a level up, one of the least branch.
            for j in range(into[v], into[v + 1]):
                u = source[entering[j]]
                if depth[u] == depth[v] - 1 and (
                    # the root itself is a parent without a branch: others are taken rather
                    parent[v] < 0 or (u != root and load[branch[u]] < load[branch[parent[v]]])
                ):
                    parent[v], by[v] = u, entering[j]
            if parent[v] != root:
                branch[v] = branch[parent[v]]
            load[branch[v]] += flits[v] + 1e-3  # of equal loads, the one with fewer nodes
        low = high


@njit
def _linked(parent, order):
    """Return each node's first child, and the next child of its parent: int32 (N,), -1 where there is none.

        head[u] ─▶ child ── after ─▶ next child ── after ─▶ -1

    From the last node to the first, so that children stand in the list as in ``order``. One step for each node.
    """
    head, after = np.full(len(parent), -1, np.int32), np.full(len(parent), -1, np.int32)
    for i in range(len(order) - 1, 0, -1):
        v = order[i]
        after[v] = head[parent[v]]
        head[parent[v]] = v
    return head, after


@njit(work=lambda first, target, *others: 10 * len(target))
def bounded(first, target, source, into, entering, order, most, parent, by, sweeps):
    """Change a spanning tree to one with fewer children at nodes that have many, and no node deeper than ``most``.

    A node goes below another neighbour where that has fewer children, by two at least: their squares add up to less each time.

    Invariant: ``count``, ``depth`` and ``height`` (arcs down to the farthest node below) are true before each look, so a node
    may go below u exactly if u is not below it and ``depth[u] + 1 + height[v] <= most``. Cost of a sweep: each arc once, each
    time with a climb of at most the depth; a move renumbers the depths below the node, and the heights above both parents.
    """
    # 1. How many children each node has, how deep it is, and how far the tree goes on below it.
    n = len(parent)
    head, after = _linked(parent, order)
    count, depth, height = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    for i in range(1, len(order)):
        count[parent[order[i]]] += 1
        depth[order[i]] = depth[parent[order[i]]] + 1
    for i in range(len(order) - 1, 0, -1):
        v = order[i]
        height[parent[v]] = max(height[parent[v]], height[v] + 1)
    stack = np.empty(n, np.int32)
    for _ in range(sweeps):
        moved = False
        for k in range(len(order) - 1, 0, -1):
            v = order[k]
            p = parent[v]
            # 2. A neighbour with fewer children, that lies high enough and not below v itself.
            best, way = p, -1
            for j in range(into[v], into[v + 1]):
                u = source[entering[j]]
                if u == p or count[u] + 1 >= count[p] or depth[u] + 1 + height[v] > most:
                    continue
                # one child or two is all the same: else chains use up the depth
                few, least = max(count[u], 1), max(count[best], 1)
                if way >= 0 and (few > least or (few == least and depth[u] >= depth[best])):
                    continue
                # climb to the depth of v; if that is v, u hangs below it
                w = u
                while depth[w] > depth[v]:
                    w = parent[w]
                if w != v:
                    best, way = u, entering[j]
            if way < 0:
                continue  # no neighbour is better
            moved = True
            # 3. Take v off the list of its parent, and put it on that of the other one.
            if head[p] == v:
                head[p] = after[v]
            else:
                w = head[p]
                while after[w] != v:
                    w = after[w]  # a singly linked list: the one before has to be found
                after[w] = after[v]
            after[v], head[best] = head[best], v
            parent[v], by[v] = best, way
            count[p] -= 1
            count[best] += 1
            # 4. All from v down are so much deeper.
            shift = depth[best] + 1 - depth[v]
            if shift:  # 0: all depths below stay
                stack[0], top = v, 1
                while top:
                    top -= 1
                    w = stack[top]
                    depth[w] += shift
                    w = head[w]
                    while w >= 0:
                        stack[top] = w
                        top += 1
                        w = after[w]
            # 5. Heights change, first above the old parent, then above the new one; higher up only as long as they do.
            w = p
            while w >= 0:  # the height of those above where it was
                tall, c = 0, head[w]
                while c >= 0 and tall < height[w]:
                    tall = max(tall, height[c] + 1)
                    c = after[c]  # the tallest child of those that are left decides
                if tall == height[w]:
                    break
                height[w] = tall
                w = parent[w]
            w, tall = best, height[v] + 1
            while w >= 0 and height[w] < tall:
                height[w] = tall
                tall += 1  # one more arc for each node up
                w = parent[w]
        if not moved:
            break


@njit(arrays=True)
def _prospects(first, target, source, into, entering, informed, depth, order, prospect, count):
    """Fill ``prospect``: about how many rounds each node that has not heard would take to tell those behind it.

    From those that have heard, levels of those that have not; from the last on, each hangs below the one of the level before
    with which that can be done soonest.

    One breadth-first search, and each level is sorted: O(arcs + nodes log nodes). Invariant: when a level has its turn, what
    hangs below each of its nodes is known. A node that tells k others, in the order in which they need time, needs the most
    of each one's prospect plus its turn.
    """
    # 1. Levels: how far each node is from those that have heard.
    n = len(informed)
    tail = 0  # ``order`` is the queue, begun with all that have heard
    for v in range(n):
        depth[v], prospect[v], count[v] = -1, 0, 0
        if informed[v]:
            depth[v] = 0
            order[tail] = v
            tail += 1
    begun = tail
    head = 0
    while head < tail:
        u = order[head]
        head += 1
        for i in range(first[u], first[u + 1]):
            v = target[i]
            if depth[v] < 0:
                depth[v] = depth[u] + 1
                order[tail] = v
                tail += 1
    # 2. From the farthest level in: each node, the slowest first, hangs below the one where it costs least.
    high = tail
    # those of level 1 hang below the ones that have heard, which are not asked
    while high > begun and depth[order[high - 1]] > 1:
        low = high
        while low > 0 and depth[order[low - 1]] == depth[order[high - 1]]:
            low -= 1
        level = order[low:high]
        for i in np.argsort(-prospect[level], kind="mergesort"):
            v = level[i]
            best, value = -1, 0
            for j in range(into[v], into[v + 1]):
                u = source[entering[j]]
                if depth[u] == depth[v] - 1:
                    # one number: of equal prospects, the fewest below
                    new = max(prospect[u], prospect[v] + count[u] + 1) * n + count[u]
                    if best < 0 or new < value:
                        best, value = u, new
            prospect[best] = max(prospect[best], prospect[v] + count[best] + 1)
            count[best] += 1
        high = low


@njit(work=lambda first, target, *others: 40 * len(target), arrays=True)
def rounds(first, target, source, into, entering, root, parent, by):
    """Fill in the tree of a broadcast in which a node tells one neighbour a round; return its nodes in the order told.

    A round joins those that have heard with those that have not, the most pressing first, each by an augmenting path: as many
    as can be, and of those the most pressing.

    Invariant: ``told[:known]`` have heard; ``edge[:edges]`` are all that have not and have a neighbour that has; ``left[u]``
    counts the neighbours of u that have not heard. Within a round ``match`` pairs senders with those that hear, no node in
    two pairs:

        before:    v    x ◀── u    end        nobody is left for v but u, which tells x
        then:      v ◀── u    x ◀── end       ``end``, which was free, tells x instead

    Cost of a round: a search for each node of the edge, of at most ``_LOOKED_AT`` arcs each. Prospects cost all arcs; once
    they have cost ``_REFRESHED`` they are found more and more seldom.
    """
    # 1. The root has heard, all others lack it.
    n = len(parent)
    told = np.empty(n, np.int32)
    informed = np.zeros(n, np.bool_)
    depth, order, count = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    prospect = np.empty(n, np.int64)
    left = np.zeros(n, np.int32)  # the neighbours of each that have not heard
    edge, edges, near = np.empty(n, np.int32), 0, np.zeros(n, np.bool_)
    match, seen, came = np.full(n, -1, np.int32), np.full(n, -1, np.int64), np.empty(n, np.int32)
    match_of = np.full(n, -1, np.int32)
    arc = np.empty(n, np.int32)
    queue = np.empty(n, np.int32)
    for u in range(n):
        left[u] = first[u + 1] - first[u]
    told[0], informed[root] = root, True
    known, fresh, turn, spent, wait = 1, 0, 0, 0, 0
    while known < n:
        # 2. Those that heard last round: their neighbours are near now.
        for k in range(fresh, known):  # only these are new: others told their neighbours before
            u = told[k]
            for j in range(into[u], into[u + 1]):
                left[source[entering[j]]] -= 1
            for i in range(first[u], first[u + 1]):
                v = target[i]
                if not informed[v] and not near[v]:
                    near[v] = True
                    edge[edges] = v
                    edges += 1
        fresh = known
        # 3. How urgent each one is, asked anew more and more seldom.
        if wait == 0:
            _prospects(first, target, source, into, entering, informed, depth, order, prospect, count)
            spent += len(target)  # prospects cost all arcs, so with many arcs they are asked seldom
            wait = spent // _REFRESHED
        else:
            wait -= 1
        # 4. The edge without those that have heard, and how many can tell anybody.
        kept = 0
        for k in range(edges):
            if not informed[edge[k]]:
                edge[kept] = edge[k]
                kept += 1
        edges = kept
        able = 0
        for k in range(known):
            able += left[told[k]] > 0
        # 5. Pair senders with those that hear, the most urgent first, until all that can send do.
        urgency = prospect[edge[:edges]] * n + left[edge[:edges]]  # of equal prospects, those with more to tell
        joined = 0
        for k in np.argsort(-urgency, kind="mergesort"):
            if joined == able:
                break
            # a free neighbour that has few others to tell, or else one that is made free
            v = edge[k]
            turn += 1  # a stamp, so that ``seen`` needs no clearing
            queue[0], head, tail, looked, end = v, 0, 1, 0, -1
            # who finds no free sender within so many arcs waits for another round
            while head < tail and end < 0 and looked < _LOOKED_AT:
                x = queue[head]
                head += 1
                looked += into[x + 1] - into[x]
                for j in range(into[x], into[x + 1]):
                    u = source[entering[j]]
                    if informed[u] and seen[u] != turn:
                        seen[u] = turn
                        came[u], arc[u] = x, entering[j]
                        if match[u] < 0:
                            if end < 0 or left[u] < left[end]:  # the free sender with fewest others to tell
                                end = u
                        else:
                            queue[tail] = match[u]  # x's turn to look: it may be told by somebody else
                            tail += 1
            if end >= 0:
                joined += 1
            # 6. Turn round the pairs on the way that was found.
            while end >= 0:
                x = came[end]
                other = match_of[x]
                match[end], match_of[x] = x, end
                parent[x], by[x] = end, arc[end]
                end = other if x != v else -1  # back at v: all are paired
        # 7. All pairs of this round: they have heard, and are senders from the next round on.
        for k in range(edges):
            v = edge[k]
            if match_of[v] >= 0:
                # pairs are parted: the senders are free in the next round
                match[match_of[v]] = -1
                match_of[v] = -1
                informed[v] = True
                told[known] = v
                known += 1
    return told


@njit(arrays=True)
def heaviest_first(order, start, child, flits):
    """Return the nodes of a tree in another order: of siblings the one first whose subtree takes longest to be told.

    The children of u are ``child[start[u]] … child[start[u+1]-1]``.

    Of those that take as long, the one first that has the most flits below it.

    From the leaves up each node sorts its children: O(nodes log degree). Invariant: ``need[v]`` is how many rounds v takes to
    tell all below it, when child k hears in round k + 1.
    """
    need, below, child = np.zeros(len(flits), np.int64), flits.copy(), child.copy()
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        mine = child[start[v] : start[v + 1]][::-1]  # reversed, and sorted stably: of equal ones the later comes first
        few = mine[np.argsort(-below[mine], kind="mergesort")]
        few = few[np.argsort(-need[few], kind="mergesort")]  # the second sort decides, and keeps the first among equals
        for k in range(len(few)):
            need[v] = max(need[v], need[few[k]] + k + 1)
            below[v] += below[few[k]]
        child[start[v] : start[v + 1]] = few
    found = np.empty(len(order), np.int32)
    found[0], tail = order[0], 1  # ``found`` is its own queue: breadth first
    for i in range(len(order)):
        v = found[i]
        for k in range(start[v], start[v + 1]):
            found[tail] = child[k]
            tail += 1
    return found
