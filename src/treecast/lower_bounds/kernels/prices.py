"""Inner loops that ask how cheaply data can go where arcs have prices: by the cheapest tree of each root, or by paths.

Arcs are ``tail`` and ``head``, int32 (A,); ``price`` is float64 (A,). Whole prices give exact results below 2^53.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

_FAR = 1e18  # more than any path costs


@njit
def _list_into(x, first, after, tail, into, entering, of, arcs):
    """List in ``arcs`` those that lead into component x from others; return how many there are.

    O(arcs into the nodes of the component).
    """
    count, v = 0, first[x]
    while v >= 0:
        for e in range(into[v], into[v + 1]):
            if of[tail[entering[e]]] != x:
                arcs[count] = entering[e]
                count += 1
        v = after[v]
    return count


@njit
def _tree(tail, head, into, entering, rest, root, wanted, by):
    """Fill ``by``, the arc that leads to each node in a cheap tree to all wanted ones; -1 where none does.

    A component without the root pays for a cheapest arc into it, and where these arcs lead round, those on the circle become
    one (Chu & Liu; Edmonds 1967). A node that is not wanted joins the first component that it is asked by, and pays nothing
    (dual ascent, Wong 1984). Return the sum that was paid: the price of the cheapest tree where all nodes are wanted, else that
    or less; -1 where all are wanted, and one cannot be reached. ``rest`` has the prices; then the rest of them.

    Components are numbered behind the nodes. The nodes of each are linked, and each knows the one that it became part of:

        first[x] ─▶ v ── after[v] ─▶ w ─▶ … ─▶ last[x]          up[x]: the component of which x is a part
        path = [ x0 ◀ x1 ◀ … ]      chosen[x]: the arc into x, from the next on the path

    Invariant: ``rest`` is nowhere below 0, and 0 for each arc that was chosen. Cost: each component lists the arcs into it,
    O(arcs), and there are at most as many circles as nodes: O(nodes arcs).
    """
    # 1. Each node is a component, and the root is settled.
    nodes = len(by)
    of, path, after = np.empty(nodes, np.int32), np.empty(nodes + 1, np.int32), np.full(nodes, -1, np.int32)
    first, last = np.empty(2 * nodes, np.int32), np.empty(2 * nodes, np.int32)  # the nodes of each component are linked
    arcs = np.empty(len(tail), np.int32)
    up, chosen = np.full(2 * nodes, -1, np.int32), np.full(2 * nodes, -1, np.int32)
    place, settled = np.full(2 * nodes, -1, np.int32), np.zeros(2 * nodes, np.int8)
    for v in range(nodes):
        of[v] = first[v] = last[v] = v
    settled[root], count, total = 1, nodes, 0.0
    for start in range(nodes):
        length = 0
        if wanted[start] != 0 and settled[of[start]] == 0:
            path[0], place[of[start]], length = of[start], 0, 1
        while length > 0:
            # 2. The component at the end of the path pays for its cheapest arc.
            x = path[length - 1]
            many = _list_into(x, first, after, tail, into, entering, of, arcs)
            if many == 0:  # nobody can reach it
                return -1.0
            best = arcs[0]
            for i in range(1, many):
                a = arcs[i]
                # of equal prices the first, whatever the order of the list
                if rest[a] < rest[best] or (rest[a] == rest[best] and a < best):
                    best = a
            low = rest[best]
            total += low
            for i in range(many):
                rest[arcs[i]] -= low  # reduced prices: what was paid is paid for all arcs into it
            chosen[x] = best
            # 3. The arc comes from one that is settled, or from a new one, which pays next; else it closes a circle,
            # which becomes one.
            y = of[tail[best]]
            if settled[y] != 0:
                for i in range(length):
                    settled[path[i]] = 1  # all on the path hang from what is settled
                length = 0
            elif place[y] < 0 and (y >= nodes or wanted[y] != 0):
                path[length], place[y] = y, length
                length += 1
            else:
                # a node that nobody wants, or one on the path: from there on all become one
                low_end = place[y] if place[y] >= 0 else length - 1
                up[y], first[count], last[count] = count, first[y], last[y]
                for i in range(low_end, length):
                    up[path[i]] = count  # lists are joined in O(1)
                    if path[i] != y:
                        after[last[count]], last[count] = first[path[i]], last[path[i]]
                v = first[count]
                while v >= 0:
                    of[v] = count  # from now on they answer as the new component
                    v = after[v]
                path[low_end], place[count], length = count, low_end, low_end + 1
                count += 1
    for i in range(count - 1, -1, -1):  # 4. An arc into a component enters one part, which needs no other.
        if chosen[i] >= 0:  # -1: a part that chose nothing
            x = head[chosen[i]]
            while x != i:
                chosen[x] = chosen[i]  # the parts in which the head lies hear by this arc, not by their own
                x = up[x]
    for v in range(nodes):
        by[v] = chosen[v]
    return total


@njit
def _reaches(tail, head, root, wanted):
    """Return whether a root reaches all wanted nodes, by passes over the arcs until one finds nothing new.

    O(arcs) a pass, twice; there are as many passes as the way turns round in their order.
    """
    found, is_new, missing = np.zeros(len(wanted), np.int8), True, 0
    found[root] = 1
    while is_new:
        is_new = False
        for i in range(2 * len(tail)):
            a = i if i < len(tail) else 2 * len(tail) - 1 - i  # there and back: lines have both directions
            if found[tail[a]] != 0 and found[head[a]] == 0:
                found[head[a]], is_new = 1, True
    for v in range(len(wanted)):
        missing += wanted[v] > found[v]
    return missing == 0


@njit(work=lambda tail, head, into, entering, price, roots, *others: 30.0 * len(roots) * len(tail))
def trees(tail, head, into, entering, price, roots, times, wanted, use):
    """Add to ``use`` how often the cheapest trees of all roots take each arc, each ``times`` over; return their price.

    It is -1 where a wanted node cannot be reached. The arcs that enter v are ``entering[into[v]] … entering[into[v+1]-1]``.

    A tree for each root: O(roots nodes arcs). Invariant: ``rest`` is ``price`` again before each tree.
    """
    by, rest, total = np.empty(len(wanted), np.int32), np.empty(len(tail), np.float64), 0.0
    every = True
    for v in range(len(wanted)):
        every = every and wanted[v] != 0
    for i in range(len(roots)):
        if not (every or _reaches(tail, head, roots[i], wanted)):
            return -1.0  # the ascent does not see it: nodes that are not wanted join whoever asks them
        for a in range(len(tail)):
            rest[a] = price[a]
        paid = _tree(tail, head, into, entering, rest, roots[i], wanted, by)
        if paid < 0:
            return -1.0  # a node that was to be reached has no arc into it
        total += paid * times[i]
        for v in range(len(by)):
            if by[v] >= 0:
                use[by[v]] += times[i]
    return total


@njit(work=lambda tail, head, first, leaving, price, roots, need, use: 4.0 * len(roots) * len(first) ** 2)
def paths(tail, head, first, leaving, price, roots, need, use):
    """Add to ``use`` how often the cheapest paths of all roots take each arc; return their price, -1 where one is missing.

    ``need``: float64 (roots, N), how many chunks go from each root to each node. The arcs that leave u are
    ``leaving[first[u]] … leaving[first[u+1]-1]`` (Dijkstra 1959).

    Dijkstra's search without a heap: O(roots (N² + arcs)). Invariant: ``order`` are the nodes by their distances, so from the
    last to the first what goes beyond a node is known when it is asked.
    """
    # 1. The cheapest way from the root to each node.
    nodes = len(first) - 1
    far, by = np.empty(nodes, np.float64), np.empty(nodes, np.int32)
    order, flow, total = np.empty(nodes, np.int32), np.empty(nodes, np.float64), 0.0
    for i in range(len(roots)):
        for v in range(nodes):
            far[v], by[v], flow[v], order[v] = _FAR, -1, need[i, v], -1
        far[roots[i]], count = 0.0, 0
        done = np.zeros(nodes, np.int8)
        while count < nodes:
            u = -1
            for v in range(nodes):
                if done[v] == 0 and far[v] < _FAR and (u < 0 or far[v] < far[u]):
                    u = v
            if u < 0:  # the others cannot be reached
                break
            done[u], order[count], count = 1, u, count + 1
            for j in range(first[u], first[u + 1]):
                a = leaving[j]
                if far[u] + price[a] < far[head[a]]:
                    far[head[a]], by[head[a]] = far[u] + price[a], a
        # 2. Add up what passes each arc, the farthest node first.
        for j in range(count - 1, 0, -1):  # not the root, which is ``order[0]``
            v = order[j]
            total += need[i, v] * far[v]  # each chunk pays for its whole way
            use[by[v]] += flow[v]
            flow[tail[by[v]]] += flow[v]  # what v passes on comes through the node above it
        for v in range(nodes):
            if need[i, v] > 0 and far[v] >= _FAR:
                return -1.0
    return total
