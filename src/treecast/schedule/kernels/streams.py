"""Inner loops of streams on a spanning tree: searching it, and which runs of flits go over each of its arcs."""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def breadth_first(first, target, port, root, parent, by):
    """Fill ``parent`` and ``by``, int32 (N,), with a tree of shortest paths; return its nodes, nearest first: int32.

    Arcs as in Network.arc_lists. A node hangs below the first of the nodes found before that have an arc to it.

    Each arc is looked at once: O(nodes + arcs). Invariant: ``order[head:tail]`` are the nodes found whose arcs are still to
    be looked at, the nearest first.
    """
    order = np.empty(len(parent), np.int32)
    seen = np.zeros(len(parent), np.bool_)
    order[0], seen[root] = root, True
    head, tail = 0, 1
    while head < tail:
        u = order[head]
        head += 1
        for i in range(first[u], first[u + 1]):
            v = target[i]
            if not seen[v]:
                seen[v] = True
                parent[v], by[v] = u, port[i]
                order[tail] = v
                tail += 1
    return order[:tail]


@njit
def depths(parent, order):
    """Return the depth of each node, int64 (N,); ``order``: the nodes, every node behind its parent.

    O(nodes): a parent has its depth before its children ask for it.
    """
    depth = np.zeros(len(parent), np.int64)
    for i in range(1, len(order)):
        depth[order[i]] = depth[parent[order[i]]] + 1
    return depth


def _passed(parent, order, *_):
    """Return about how many runs pass arcs, each twice, where none are joined: as many as nodes are deep."""
    return 2 * (len(order) + int(depths(parent, order).sum()))


@njit(arrays=True, work=_passed)
def runs(parent, order, begin, child, first, stop, offset, most):
    """Return the runs of flits that pass the arc between each node and its parent; arrays of -1 if more than ``most``.

    ``order``: the nodes of the tree, every node behind its parent; the children of u are ``child[begin[u]] …
    child[begin[u+1]-1]``. Node v's own message is the flits ``first[v] … stop[v]-1``, and flit c passes at time c +
    ``offset[v]`` (seen from the root). A run is of consecutive flits of one offset. Returned: the node below the arc, the first
    flit, the flit behind the last, the offset; sorted by node, then by flit.

    All runs stand in four columns, those of one node next to each other, those of its children somewhere before:

        … | runs below child 1 | runs below child 2 | runs of v | …
            start[c] … end[c]-1                       start[v] … end[v]-1

    Invariant: the runs of a node are sorted by flit, do not overlap, and no two of them could be joined. Cost: a run is
    copied at each arc that it passes, and sorted there: O(runs passed, times their logarithm).
    """
    # 1. Room for some runs; it is doubled when it is short.
    n = len(order)
    size = max(16, 4 * n)
    node, low = np.empty(size, np.int32), np.empty(size, np.int64)
    high, shift = np.empty(size, np.int64), np.empty(size, np.int64)
    start, end = np.zeros(len(parent), np.int64), np.zeros(len(parent), np.int64)
    used = 0
    # 2. From the leaves up: a node's own flits, and what its children's arcs carry.
    for place in range(n - 1, 0, -1):
        v = order[place]
        own = stop[v] > first[v]  # nodes without flits send no run of their own
        count = 1 if own else 0
        for j in range(begin[v], begin[v + 1]):
            count += end[child[j]] - start[child[j]]
        if used + count > most:  # the caller then takes a way that needs less room
            none = np.full(1, -1, np.int64)
            return np.full(1, -1, np.int32), none, none, none
        while used + count > size:
            size *= 2
            node, low, high, shift = _longer(node, size), _longer(low, size), _longer(high, size), _longer(shift, size)
        at = used
        if own:
            low[at], high[at], shift[at] = first[v], stop[v], offset[v]
            at += 1
        for i in range(begin[v], begin[v + 1]):  # children's runs are kept: they pass another arc
            for j in range(start[child[i]], end[child[i]]):
                low[at], high[at], shift[at] = low[j], high[j], shift[j]
                at += 1
        start[v] = used
        # 3. Sort them, and join those that follow each other with the same offset.
        if at - used > 1:
            by_flit = used + np.argsort(low[used:at])  # by first flit: no two runs of a node overlap
            a, b, c = low[by_flit], high[by_flit], shift[by_flit]
            at = used + 1
            low[used], high[used], shift[used] = a[0], b[0], c[0]
            for j in range(1, len(a)):
                if high[at - 1] == a[j] and shift[at - 1] == c[j]:  # they touch, and pass at one time: one run
                    high[at - 1] = b[j]
                else:
                    low[at], high[at], shift[at] = a[j], b[j], c[j]
                    at += 1
        # 4. They belong to this node.
        for j in range(used, at):
            node[j] = v
        end[v] = used = at  # joined runs give their room back
    return node[:used], low[:used], high[:used], shift[:used]


@njit(arrays=True)
def _longer(array, size):
    # as long again each time, so that all copies together are no longer than the array in the end
    grown = np.empty(size, array.dtype)
    grown[: len(array)] = array
    return grown


@njit
def shoulder_taps(order, flits, forwards):
    """Return the step in which each node's message begins to leave, by SHOULDER-TAP: int64 (N,); -1 at the root.

    ``order``: the path from the root. ``forwards``: 1 when a node cannot send while it forwards the wake-up, else 0.

    O(nodes on the path). Invariant: ``free`` is the first step in which the node before v could send on more.
    """
    start = np.full(len(flits), -1, np.int64)
    free = 0  # the first step in which the node before could relay
    for i in range(1, len(order)):
        v = order[i]
        woken = i - 1 + (0 if i == len(order) - 1 else forwards)
        start[v] = max(woken + 1, free - 1)  # its first flit leaves the node before a step later
        free = max(start[v] + flits[v] if flits[v] else woken + 1, free - 1)
    return start


@njit(arrays=True)
def certificates(parent, order, begin, child, flits, one_port, walk):
    """Return when everything happens in TRANSMISSION-CERTIFICATE, as arrays by node, int64 (N,); -1 where it does not.

    ``token, certificate, told``: the step in which the token and the order are sent to the node, its certificate by it.
    ``lag, total``: the figures of its certificate. ``start``: the step in which its stream begins to leave. ``first``: its place
    in the stream that reaches the root. ``own``: the place of its own message. And the step of the last certificate,
    and the steps that follow it. ``order``: the nodes, every node behind its parent, siblings in the order they are told in;
    the children of u are ``child[begin[u]] … child[begin[u+1]-1]``.

    Each part is one pass over the nodes, down or up the tree, and node v sorts its children: O(nodes log degree). Invariant
    of the passes up: a node's figures are complete when its turn comes, since its children stand behind it in ``order``. The
    stream of v:

        first[v]      own[v]
        | child's ...  | own flits | ... child's |        ``before[u]``: where child u's part begins, counted from first[v]
    """
    n, count = len(parent), len(order)
    token, certificate, told = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    lag, total, start = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
    first, own = np.zeros(n, np.int64), np.zeros(n, np.int64)

    # 1. and 2. Tokens down, certificates up.
    done = -1
    if walk:
        # the token goes depth first through all subtrees, twice over each arc
        size, passed = np.ones(n, np.int64), np.zeros(n, np.int64)
        for i in range(count - 1, 0, -1):
            size[parent[order[i]]] += size[order[i]]
        for i in range(1, count):
            v = order[i]
            p = parent[v]
            token[v] = token[p] + 1 + 2 * passed[p]  # down after the subtrees of its elder siblings
            passed[p] += size[v]
            certificate[v] = token[v] + 2 * size[v] - 1  # back when all of its subtree was walked
            done = max(done, certificate[v])
    else:
        for v in order:
            for j in range(begin[v], begin[v + 1]):
                # one port: children are told one after the other
                token[child[j]] = token[v] + (j - begin[v] + 1 if one_port else 1)
        ready = token + 1
        for i in range(count - 1, 0, -1):
            v = order[i]
            p = parent[v]
            at, slot = ready[v], token[v] + 1
            if one_port:  # the slots of siblings are different steps
                # the next step of its own slot, rounded up: -(-a // b) is the least whole number from a / b on
                at = slot + -(-(at - slot) // (begin[p + 1] - begin[p])) * (begin[p + 1] - begin[p])
            certificate[v] = at
            ready[p] = max(ready[p], at + 1)  # a parent needs all of its children
            done = max(done, at)

    # The figures of the certificates: a node's parts in the order in which they can be there.
    who, when, long = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    asked = np.zeros(n, np.int64)  # children with something to send: only they are told
    number = np.zeros(n, np.int64)
    before = np.zeros(n, np.int64)  # flits of its parent's stream before those of each node
    own_before = np.zeros(n, np.int64)
    for i in range(count - 1, -1, -1):
        v = order[i]
        for j in range(begin[v], begin[v + 1]):
            if total[child[j]]:
                asked[v] += 1
                number[child[j]] = asked[v] if one_port else 1
        busy = asked[v] if one_port and i else 0  # over one port it sends orders first
        parts = 0
        if i and flits[v]:  # the root's own flits need not travel
            who[0], when[0], long[0] = v, busy, flits[v]
            parts = 1
        for j in range(begin[v], begin[v + 1]):
            u = child[j]
            if total[u]:
                # not before the order is there, and has been answered
                who[parts], when[parts], long[parts] = u, max(busy, lag[u] + number[u] + (1 if i else 0)), total[u]
                parts += 1
        # stable, so that siblings that are ready at once keep their order
        turn = np.argsort(when[:parts], kind="mergesort")
        sent, begun = 0, 0
        for k in turn:
            begun = max(begun, when[k] - sent)  # no gap once it has begun: so it begins late enough for all parts
            if who[k] == v:
                own_before[v] = sent
            else:
                before[who[k]] = sent
            sent += long[k]
        lag[v], total[v] = begun, sent
        # the root receives over all its links at once, each stream as it is ready
        if i == 0 and not one_port:  # over links of their own
            for k in turn:
                start[who[k]] = when[k]

    # 3. and 4. Orders down, streams up.
    # Places in the stream add up on the way down, and so do starts: a node sends a step before its part is due above.
    root = order[0]
    last = done
    for i in range(1, count):
        v = order[i]
        if not total[v]:  # nothing to send: nobody tells it anything
            continue
        p = parent[v]
        told[v] = (done if p == root else told[p]) + number[v]
        first[v] = first[p] + before[v]
        own[v] = first[v] + own_before[v]
        if p != root:  # its parent passes each flit on a step later
            start[v] = start[p] + before[v] - 1
        elif one_port:
            start[v] = done + lag[root] + 1 + before[v]
        else:
            start[v] += done + 1
        if p == root:
            last = max(last, start[v] + total[v] - 1)  # the last flit that comes to the root
    return token, certificate, told, lag, total, start, first, own, done, last - done
