"""Inner loop that grows trees whose loads are even and whose nodes hear early, arc by arc, each beside all others."""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit


@inline
def _count(a, more, wanted, load):
    """Count so many steps over an arc, or less, in the loads of its resources.

    A step for each resource.
    """
    for j in range(wanted.shape[1]):
        load[wanted[a, j]] += more


@njit(work=lambda roots, first, head, *others: 40.0 * len(roots) * len(head) * len(first))
def grow(roots, first, head, wanted, room, ports, gap, delay, later, passes, ties, load, up):
    """Fill ``up``, int64 (trees, N), with the arc by which each node hears in the tree of each root, -1 at the root.

    The next arc of a tree is the cheapest that leads out of it: it costs 1 for each step in which its resources are taken so
    far, divided by the ``room`` of that, int64 (resources,), and ``later`` for each step in which its head hears later.
    ``wanted``, int64 (arcs, width): the resources of arcs, which a send takes for ``gap`` steps, and which brings its chunk
    after ``delay`` steps, int64 (arcs,). A node sends to so many ``ports`` at once, 0: to all. Each tree grows anew in each of
    so many ``passes``. ``ties``, float64 (trees, arcs): which of equal arcs a tree takes first. ``load``, int64 (resources,):
    zeros, which become the loads of all trees.

    Invariant: ``load`` counts all trees but for the part that the present one has still to grow. Cost: each next node of a
    tree asks all arcs that leave it: passes × trees × nodes × arcs. A heap would not do: each choice changes the loads, and
    so the order.
    """
    # 1. ``soon``: the least delay; only what is more counts as late.
    n = up.shape[1]
    hears, told = (
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )  # when a node of the tree hears, how long it has told others
    soon = delay[0] if len(delay) else 1  # a tree without arcs, of one node
    for a in range(len(delay)):
        soon = min(soon, delay[a])
    for _ in range(passes):
        for t in range(len(roots)):
            # 2. Take the tree of the pass before out of the loads.
            for v in range(n):
                if up[t, v] >= 0:
                    _count(up[t, v], -gap[up[t, v]], wanted, load)
                up[t, v], hears[v], told[v] = -1, -1, 0
            hears[roots[t]] = 0
            # 3. The cheapest arc out of the tree joins it, n - 1 times.
            for _size in range(1, n):
                best, least, soonest, tail = -1, 0.0, 0, 0
                for u in range(n):
                    free = hears[u] + (told[u] // ports if ports else 0)  # so many turns of its ports are taken before
                    # none of a node that is not in the tree
                    for a in range(first[u], first[u + 1] if hears[u] >= 0 else first[u]):
                        if hears[head[a]] < 0:
                            cost = later * (free + delay[a] - soon) + ties[t, a]
                            for j in range(wanted.shape[1]):
                                cost += (load[wanted[a, j]] + gap[a] - 1) / room[wanted[a, j]]
                            if best < 0 or cost < least:
                                best, least, soonest, tail = a, cost, free, u
                if best < 0:  # nothing leads to the nodes that are left
                    break
                v = head[best]
                up[t, v], hears[v] = best, soonest + delay[best]
                told[tail] += gap[best]
                _count(best, gap[best], wanted, load)
