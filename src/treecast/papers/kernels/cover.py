"""Inner loops that grow a cover: trees with one root that share no link.

Arcs as in Network.arc_lists; ``link``: the number of each arc's link, the same both ways. Tree t begins with the root's arc t.
``parent, by, depth``, int32 (k, N): the node above each, the number of the arc from there, and how deep it is; -1 outside.
``used``: by link. ``dealt``: by which tree each node's message goes.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def in_turn(first, target, link, root, flits, parent, by, depth, used, dealt):
    """Begin a cover with trees that grow at once: the one with the least so far takes the next node it can.

    Each tree is a breadth-first search with a queue of its own, which stops whenever it has taken one node:

        queue[t] = [ looked through | being looked through | to come | … ]
                                      head[t]                          tail[t]      at[t]: the next arc of queue[t, head[t]]

    Invariant: ``dealt`` says for each node which tree took it, and no link is in two trees, since a tree takes only new
    nodes. Cost: each tree passes over each arc once at most, and a turn asks all trees for the least: O(trees (arcs +
    nodes)).
    """
    # 1. Each neighbour of the root begins a tree.
    k, n = parent.shape
    load = np.zeros(k, np.float64)
    full = np.zeros(k, np.bool_)
    queue = np.empty((k, n), np.int32)
    head, tail, at = np.zeros(k, np.int64), np.ones(k, np.int64), np.zeros(k, np.int64)
    for t in range(k):
        i = first[root] + t  # one arc of the root for each tree
        v = target[i]
        parent[t, v], by[t, v], depth[t, v], depth[t, root] = root, i, 1, 0
        used[link[i]] = True
        # a little more than the flits: of equal loads, the tree with fewer nodes
        dealt[v], queue[t, 0], load[t] = t, v, flits[v] + 1e-3
    alive, count = k, k + 1
    while count < n and alive:
        # 2. The tree with the least so far that is not full.
        t = -1
        for s in range(k):  # k trees are few, so no heap
            if not full[s] and (t < 0 or load[s] < load[t]):
                t = s
        # 3. It takes the next new node, or is full.
        found = False
        while head[t] < tail[t] and not found:
            u = queue[t, head[t]]
            while first[u] + at[t] < first[u + 1]:
                i = first[u] + at[t]
                at[t] += 1
                v = target[i]
                if v != root and dealt[v] < 0:  # nobody has it yet, and so nobody uses a link to it
                    parent[t, v], by[t, v], depth[t, v] = u, i, depth[t, u] + 1
                    used[link[i]] = True
                    dealt[v] = t
                    load[t] += flits[v] + 1e-3
                    queue[t, tail[t]] = v
                    tail[t] += 1
                    count += 1
                    found = True
                    break
            if not found:  # u has no new neighbour left
                head[t] += 1
                at[t] = 0
        if not found:
            full[t] = True
            alive -= 1


@njit
def extend(first, target, link, root, trees, most, member, parent, by, depth, used):
    """Let trees grow over links that are free, level by level, in the order ``trees``, no deeper than ``most``.

    ``member``: int64 (k, N), the nodes by their depth in each tree, those outside first.

    Nodes of a level come from two lists, one after the other: ``member``, which were there, and ``grown``, which are new:

        member[t] = [ outside | depth 1 | depth 2 | … ]      grown[t] = [ depth 2 | depth 3 | … ]
                                at[t] ─▶                                   now[t] ─▶

    Invariant: a link in ``used`` is in one tree only. Cost: each tree passes over each arc once: O(trees arcs).
    """
    # 1. The first node at depth 1 in each tree.
    k, n = parent.shape
    grown, grown_to = np.empty((k, n), np.int32), np.zeros(k, np.int64)
    at, now, level, going = np.zeros(k, np.int64), np.zeros(k, np.int64), 1, True
    for t in range(k):
        while at[t] < n and depth[t, member[t, at[t]]] <= 0:  # the root and nodes outside come first
            at[t] += 1
    # 2. Level by level, all trees in turn, so that none takes all links.
    while going and level < most:
        going = False
        for t in trees:
            new = grown_to[t]  # nodes that join now are of the next level
            for turn in range(2):  # those that were there, and those that have grown, of this level
                while True:
                    if turn == 0:
                        if at[t] == n or depth[t, member[t, at[t]]] > level:
                            break
                        u = member[t, at[t]]
                        at[t] += 1
                    else:
                        if now[t] == new:
                            break
                        u = grown[t, now[t]]
                        now[t] += 1
                    for i in range(first[u], first[u + 1]):
                        v = target[i]
                        # a free link to a node that this tree lacks
                        if depth[t, v] < 0 and not used[link[i]] and v != root:
                            parent[t, v], by[t, v], depth[t, v] = u, i, level + 1
                            used[link[i]] = True
                            grown[t, grown_to[t]] = v
                            grown_to[t] += 1
            # 3. Is there anything left to look at?
            if at[t] < n or now[t] < grown_to[t]:
                going = True
        level += 1


@njit
def prune(link, root, dealt, parent, by, depth, used):
    """Take from each tree the nodes that lie on the way to no node dealt to it, and free their links.

    Invariant: ``kept[v] == t + 1`` exactly where tree t is known to need v, so a climb stops where another has passed. Each
    tree costs O(nodes) for that reason. The nodes next to the root stay, as they are the trees' roots.
    """
    k, n = parent.shape
    kept = np.zeros(n, np.int32)  # t + 1 marks tree t, so 0 is nobody's
    for t in range(k):
        # 1. Mark the ways from the root to all that are dealt to the tree.
        for v in range(n):
            if v == root or dealt[v] != t:
                continue
            u = v
            while u != root and kept[u] != t + 1:
                kept[u] = t + 1
                u = parent[t, u]
        # 2. Take off what is not marked.
        for v in range(n):
            # those next to the root are the trees' roots
            if depth[t, v] > 0 and kept[v] != t + 1 and parent[t, v] != root:
                used[link[by[t, v]]] = False
                parent[t, v] = by[t, v] = depth[t, v] = -1
