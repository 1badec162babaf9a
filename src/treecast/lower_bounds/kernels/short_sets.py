"""Inner loops that ask what classes of a demand pay for their sends where arcs have prices."""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit

_FAR = 1e300  # more than any way costs


@inline
def _behind(start, first, entering, tail, rest, is_root, mark, found):
    """Find all nodes that reach ``start`` free of charge; return how many there are, or -1 if a root is among them.

    A breadth-first search: O(arcs into the nodes found). ``mark`` is all False again when it returns.
    """
    count, at = 1, 0
    found[0] = start
    mark[start] = True
    is_hit = is_root[start]
    while at < count and not is_hit:
        v = found[at]
        at += 1
        for i in range(first[v], first[v + 1]):
            u = tail[entering[i]]
            if rest[entering[i]] <= 0 and not mark[u]:
                mark[u] = True
                found[count] = u
                count += 1
                is_hit = is_hit or is_root[u]
    for i in range(count):
        mark[found[i]] = False
    return -1 if is_hit else count


@njit(
    arrays=True,
    work=lambda first, entering, tail, head, price, roots, root, targets, *others: 20.0 * len(tail) * targets[-1],
)
def pay(first, entering, tail, head, price, roots, root, targets, target, paid, use):
    """Fill ``paid``, float64 (families,), with what each pays for ways to all its targets from its roots, or less.

    Family i has the roots ``root[roots[i]] … root[roots[i+1]-1]`` and targets likewise. A target that no root reaches free of
    charge is in a *short set*, all that reach it so: each way enters it, and pays the least price of the arcs into it, which
    become so much cheaper for all sets after it (dual ascent, Wong 1984). All targets take turns, those of small sets first.
    ``use``, float64 (families, arcs): how often the ways of a cheap tree take each arc. Return whether all targets are reached.
    The arcs that enter v are ``entering[first[v]] … entering[first[v+1]-1]``; they come from ``tail``.

    Invariant: ``rest`` is nowhere below 0, so the prices paid for sets add up to no more than any way to all targets costs.
    Cost: each raise makes an arc free of charge, so a family has at most as many raises as arcs, each with one search.
    """
    families, nodes = len(paid), len(first) - 1
    rest, mark = np.empty(len(price)), np.zeros(nodes, np.bool_)
    found, is_root, reached = np.empty(nodes, np.int64), np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    cost, via, done = np.empty(nodes), np.empty(nodes, np.int64), np.empty(nodes, np.bool_)
    for i in range(families):
        # 1. targets in turn raise the arcs into their sets, until a root reaches them free of charge
        low, high = targets[i], targets[i + 1]
        size, left = np.ones(high - low, np.int64), high - low
        rest[:] = price
        paid[i] = 0.0
        is_root[:] = False
        for k in range(roots[i], roots[i + 1]):
            is_root[root[k]] = True
        while left > 0:
            order = np.argsort(size, kind="mergesort")  # of as many, the first: as whoever checks it does
            for k in order:
                if size[k] > nodes:  # a root reaches it: done
                    continue
                count = _behind(target[low + k], first, entering, tail, rest, is_root, mark, found)
                if count < 0:
                    size[k] = nodes + 1  # greater than any set: it stays last
                    left -= 1
                    continue
                size[k] = count
                for j in range(count):
                    mark[found[j]] = True
                # only arcs from outside: those within the set help nobody
                least = _FAR
                for j in range(count):
                    for e in range(first[found[j]], first[found[j] + 1]):
                        a = entering[e]
                        if not mark[tail[a]] and rest[a] < least:
                            least = rest[a]
                if least < _FAR:
                    paid[i] += least
                    # the same price off all arcs into the set: one of them at least is free of charge then
                    for j in range(count):
                        for e in range(first[found[j]], first[found[j] + 1]):
                            a = entering[e]
                            if not mark[tail[a]]:
                                rest[a] -= least
                                # what rounding has left is nothing: else the set would be raised again for it
                                if rest[a] < 1e-12:
                                    rest[a] = 0.0
                for j in range(count):
                    mark[found[j]] = False
                if least == _FAR:  # no arc leads into the set
                    return False
        # 2. a tree over the arcs that cost nothing any more: each target by its cheapest way back to what is there
        reached[:] = is_root
        for k in range(low, high):
            for v in range(nodes):
                cost[v], via[v], done[v] = _FAR, -1, False
            cost[target[k]] = 0.0
            while True:
                u = -1
                for v in range(nodes):
                    if not done[v] and cost[v] < _FAR and (u < 0 or cost[v] < cost[u]):
                        u = v
                if u < 0 or reached[u]:  # the cheapest way has come to what is there
                    break
                done[u] = True
                for e in range(first[u], first[u + 1]):
                    a = entering[e]
                    v = tail[a]
                    # 1e-9 an arc: of ways of one price, the one of the fewest arcs
                    if rest[a] <= 0 and not done[v] and cost[u] + price[a] + 1e-9 < cost[v]:
                        cost[v], via[v] = cost[u] + price[a] + 1e-9, a
            # from what is there on to the target, forwards along ``head``
            while u >= 0 and via[u] >= 0:
                a = via[u]
                use[i, a] += 1
                u = head[a]
                reached[u] = True
    return True
