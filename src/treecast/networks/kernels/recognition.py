"""Inner loops that look for a map between two networks which carries the arcs of one to the arcs of the other.

Arcs as in Network.arc_lists: those that leave node u lead to ``head[first[u]] … head[first[u+1]-1]``; each has an arc back.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit(work=lambda first, head, *more: 8 * len(head))
def order_nodes(first, head, order, near, need):
    """Fill ``order``, int32 (N,), with all nodes from node 0 on, always one with most neighbours among those before.

    ``near[i]`` is such a neighbour of ``order[i]``, and ``need[i]`` how many there are. Nodes on short circles come early,
    so that a wrong choice shows soon.

    Queues of nodes by how many neighbours they have in ``order`` now; a node is put behind again whenever it has one more:

        begin[c] ─▶ entry ── after ─▶ entry ── … ─▶ end[c]        node[entry]; passed over if it has more than c by now

    Cost: an entry for each arc: O(nodes + arcs).
    """
    # 1. Nobody is in order, and no neighbour is counted.
    n, arcs = len(order), len(head)
    count, joined, place = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    widest = 0
    for u in range(n):
        place[u] = -1
        widest = max(widest, first[u + 1] - first[u])
    # a queue for each number of neighbours; nodes that have found more neighbours meanwhile are passed over
    begin, end = np.zeros(widest + 2, np.int32), np.zeros(widest + 2, np.int32)
    # an arc adds one entry at most, when its end gains a neighbour
    node, after = np.zeros(arcs + 1, np.int32), np.zeros(arcs + 1, np.int32)
    for c in range(widest + 2):
        begin[c] = end[c] = -1
    entries, top, x = 0, 0, 0
    for i in range(n):
        # 2. The first node with most neighbours; node 0 to begin with.
        while i:  # the first node, 0, comes without a queue
            while begin[top] < 0:
                top -= 1  # ``top`` rises only by new entries
            e = begin[top]
            begin[top] = after[e]
            x = node[e]
            if place[x] < 0 and count[x] == top:  # in order already, or in a fuller queue by now
                break
        order[i], near[i], need[i], place[x] = x, joined[x], count[x], i
        # 3. Its neighbours have one more.
        for a in range(first[x], first[x + 1]):
            v = head[a]
            if place[v] < 0:
                if count[v] == 0:  # the first neighbour in order
                    joined[v] = x
                count[v] += 1
                c = count[v]
                node[entries], after[entries] = v, -1
                if begin[c] < 0:
                    begin[c] = entries
                else:
                    after[end[c]] = entries
                end[c] = entries
                entries += 1
                top = max(top, c)  # this may be above all queues in use


@njit(work=lambda order, near, need, first, head, *more: 8 * len(head))
def match_nodes(order, near, need, first, head, level, first_g, head_g, level_g, start, most, image):
    """Look for images of the nodes of one network in another of as many nodes and arcs; node 0's is ``start``.

    ``order``, ``near`` and ``need`` are those of ``order_nodes``; ``level`` and ``level_g`` are distances from node 0 and from
    ``start``. Nodes get their images in that order, each a neighbour of that of ``near``, joined to the images of its neighbours
    and to no others. After a dead end the last choice is taken back. Returns 1 when ``image``, int32 (N,), holds a map,
    0 when there is none, and -1 when ``most`` images were tried in vain.

    Invariant: the images of ``order[:i]`` are joined exactly where these nodes are, since ``need`` says how many neighbours
    came before. Cost: a try looks at the arcs of both nodes; there are ``most`` tries, about.
    """
    # 1. Node 0 has its image.
    n = len(order)
    origin, stamp, cursor = np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for u in range(n):
        origin[u] = image[u] = -1
    image[0], origin[start] = start, 0  # free images have origin -1
    i, tick, tried = 1, 0, 0  # a step back counts as a try
    if n > 1:
        cursor[1] = first_g[start]
    while i < n:
        # 2. Mark the neighbours of x.
        x, p, found, a = order[i], image[near[i]], -1, cursor[i]
        tick += 1
        for b in range(first[x], first[x + 1]):
            stamp[head[b]] = tick  # a stamp a look: no clearing
        # 3. Try the neighbours of p that have not been tried: free, as far off, and joined to just those images.
        while found < 0 and a < first_g[p + 1]:
            c = head_g[a]
            a += 1
            tried += 1
            if origin[c] >= 0 or level_g[c] != level[x]:  # taken, or at another distance from the start
                continue
            seen = 0
            for b in range(first_g[c], first_g[c + 1]):
                y = origin[head_g[b]]
                if y >= 0:
                    if stamp[y] != tick:  # an arc that has no counterpart
                        seen = -1
                        break
                    seen += 1
            if seen == need[i]:  # as many as there must be, and all of them right: the same set
                found = c
        # 4. On to the next node, or back to the one before and its next choice.
        cursor[i] = a  # to go on from here after a step back
        if found >= 0:
            image[x], origin[found] = found, x
            i += 1
            if i < n:
                cursor[i] = first_g[image[near[i]]]  # from the first neighbour of its ``near``
        elif i == 1:  # node 0's image is given, so no choice is left
            return 0
        elif tried > most:
            return -1
        else:
            i -= 1
            tried += 1
            x = order[i]  # free its image, and try the next
            origin[image[x]] = -1
            image[x] = -1
    return 1
