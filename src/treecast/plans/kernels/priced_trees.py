"""Inner loop that grows trees by price, each beside all others: the more is asked of a resource, the dearer it is."""
# pyright: basic

import math

import numpy as np

from treecast.compiled import inline, njit
from treecast.networks.kernels.heaps import cheapest, lift

_FAR = 1e300  # more than any way costs
_DEAREST = 60.0  # of the exponents of prices


@inline
def _count(a, weight, resource, load, price, steep, room):
    """Count so many steps of sends over arc a, or take them back, in the loads and prices of its resources.

    Prices are powers: one more step on a full resource costs e^10 times as much as on an empty one.
    """
    for j in range(resource.shape[1]):
        r = resource[a, j]
        load[r] += weight
        # capped, so that e^x stays finite: a float64 overflows beyond e^709
        price[r] = math.exp(min(_DEAREST, steep * (load[r] + abs(weight) - room[r]) / room[r]))


@njit
def _nearest(first, leaving, end, resource, price, later, telling, hears, told, wanted, cost, via, heap, at):
    """Return the wanted node that is cheapest to reach from a tree, -1 if none is; ``via``: by which arc to come to each node.

    ``hears``: the step in which each node of the tree has it, -1 for the others; ``told``: for how long it passes it on.

    Dijkstra's search: each arc once, and each node's way through the heap.
    """
    nodes, size, (ports, gap, delay) = len(cost), 0, telling
    for v in range(nodes):
        via[v] = at[v] = -1
        cost[v] = _FAR
        if hears[v] >= 0:
            for i in range(first[v], first[v + 1]):
                if hears[end[leaving[i]]] < 0:  # others have nobody to tell
                    # who has it costs as much as it tells late: the sooner it can tell, the cheaper
                    cost[v] = later * (hears[v] + (told[v] // ports if ports else 0))
                    size = lift(heap, at, size, cost, v)
                    break
    while size > 0:
        u = cheapest(heap, at, size, cost)
        size -= 1
        if wanted[u] and hears[u] < 0:  # the cheapest wanted node that is not in the tree yet
            return u
        for i in range(first[u], first[u + 1]):
            a = leaving[i]
            v = end[a]
            if hears[v] < 0:  # arcs back into the tree help nobody
                new = cost[u] + later * delay[a]
                for j in range(resource.shape[1]):
                    new += price[resource[a, j]] * gap[a]
                if new < cost[v]:  # never of one that was taken: prices are above 0
                    cost[v], via[v] = new, a
                    size = lift(heap, at, size, cost, v)
    return -1


@njit(
    arrays=True,
    work=lambda first, leaving, ends, resource, roots, root, targets, target, back, weight, passes, *others: (
        2.0 * passes * len(target) * (16 * len(first[0]) + len(ends[0]))
    ),
)
def grow(
    first, leaving, ends, resource, roots, root, targets, target, back, weight, passes, later, telling, room, order, by
):
    """Fill ``by``, int32 (trees, N), with the arc over which each node of a tree is joined to it, -1 for others; return how many.

    Tree t begins at all of ``root[roots[t]] … root[roots[t+1]-1]`` and leads to all targets, or if ``back[t]`` from there to
    them. Its chunks are ``weight[t]``. A node that is to join pays for the resources on its way, e^(10 (load - room) / room)
    each step, and ``later`` for each step in which it hears later. ``telling``: to how many a node sends at once, 0: to all,
    for how many steps a send over each arc takes that, and after how many it has arrived, int64 (arcs,). Each tree is grown
    anew in each of the ``passes``, in the ``order`` given, int64 (passes, trees). ``first``, ``leaving``, ``ends``: of the arcs
    forwards, and then backwards. ``resource``: int64 (arcs, width). ``room``: float64 (resources,), the load at which each is
    full. Fewer than all trees are returned where one has no way.

    Invariant: ``load`` and ``price`` are those of all trees but the part that the present one has still to grow. Cost: passes
    × targets × one search.
    """
    # 1. nothing is loaded
    (trees, nodes), (ports, gap, delay) = by.shape, telling
    load = np.zeros(len(room))
    price = np.full(len(load), math.exp(-10.0))
    hears, told = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    wanted, cost, via = np.empty(nodes, np.bool_), np.empty(nodes), np.empty(nodes, np.int64)
    way, heap, at = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    for turn in range(passes):
        for i in range(trees):
            t = order[turn, i]
            side = 1 if back[t] else 0  # against the arcs where data is collected
            # 2. take the tree out, if it is there from the pass before
            for v in range(nodes):
                if turn > 0 and by[t, v] >= 0:
                    _count(by[t, v], -weight[t] * gap[by[t, v]], resource, load, price, 10.0, room)
                by[t, v], hears[v], told[v], wanted[v] = -1, -1, 0, False
            left = 0
            for k in range(targets[t], targets[t + 1]):
                wanted[target[k]] = True
            for k in range(roots[t], roots[t + 1]):  # all roots have it in step 0
                hears[root[k]], wanted[root[k]] = 0, False
            for v in range(nodes):
                left += wanted[v]
            # 3. join the nearest target by its cheapest way until all are there
            while left > 0:
                v = _nearest(
                    first[side],
                    # the same search forwards and backwards: only the arcs are turned round
                    leaving[side],
                    ends[1 - side],
                    resource,
                    price,
                    later,
                    telling,
                    hears,
                    told,
                    wanted,
                    cost,
                    via,
                    heap,
                    at,
                )
                if v < 0:
                    return i
                count = 0
                while hears[v] < 0:  # back to the first node that is in the tree
                    way[count] = v
                    count += 1
                    v = ends[side][via[v]]
                # from the tree outwards, so that each node knows when its parent hears
                for k in range(count - 1, -1, -1):
                    v, a = way[k], via[way[k]]
                    u = ends[side][a]
                    by[t, v] = a
                    hears[v] = hears[u] + delay[a] + (told[u] // ports if ports else 0)
                    told[u] += gap[a]
                    left -= wanted[v]  # a relay on the way was not wanted
                    wanted[v] = False
                    _count(a, weight[t] * gap[a], resource, load, price, 10.0, room)
    return trees
