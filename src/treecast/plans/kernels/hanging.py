"""The inner loop that hangs ranks into a tree of shortest ways, past few relays, by arcs that carry less than they may."""
# pyright: basic

from treecast.compiled import njit


@njit(work=lambda order, far, into, entering, *others: 8 * len(entering))
def hang(order, far, into, entering, tail, orbit, most, load, needed, up):
    """Fill ``up`` with the arc by which each node hears, -1 where it need not; ``needed``: which nodes are to hear, and then do.

    ``order``: the nodes, by their distances ``far`` from the root, which is the first. An arc costs 2 for each that its orbit
    carries above ``most``, and 1 if its tail would be the first to hear for it: a relay. ``load`` counts what orbits carry.

    From the farthest node in, so that it is known whether a node is needed when it is asked. Each arc is looked at once:
    O(nodes + arcs).
    """
    for i in range(len(order) - 1, 0, -1):
        v = order[i]
        if not needed[v]:
            continue
        best, least = -1, 1 << 62
        for e in range(into[v], into[v + 1]):
            a = entering[e]
            if far[tail[a]] == far[v] - 1:  # one arc nearer: a shortest way
                cost = 2 * max(0, load[orbit[a]] + 1 - most)  # 2 a load, so that it outweighs a new relay
                if not needed[tail[a]]:
                    cost += 1
                if cost < least:
                    best, least = a, cost
        up[v] = best
        needed[tail[best]] = True  # so it is asked later in this loop: it is nearer the root
        load[orbit[best]] += 1
