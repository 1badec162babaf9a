"""Inner loop of plans without waiting: whole units of hops, each at a place that is free for all of them."""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.heaps import put, take


@njit(arrays=True, work=lambda first, arc, *others: 200 * len(arc))
def place(first, arc, later, lasts, above, arrives, follow, after, resource, ranked, soonest, began):
    """Fill ``began``, int64 (units,), with the step in which each unit begins; return the number of steps.

    Hop i of ``first[u] … first[u+1]-1`` goes over ``arc[i]`` exactly ``later[i]`` steps after its unit u began, and takes each
    of the arc's resources, ``resource[arc[i]]``, for ``lasts[u]`` steps. Unit u begins no earlier than ``arrives[u]`` steps after
    unit ``above[u]`` did, where that is not negative; those that wait for it are ``after[follow[u]] … after[follow[u+1]-1]``.
    ``ranked``: the units, the first in order first. ``soonest``: of those that are ready, whether the one that can begin first
    goes next, and of equals the first in order; else that is first in order. All int64.

        r:   head ─▶ [ begin … stop ) ─▶ [ begin … stop ) ─▶ -1        in time; two that touch are one

    Invariant: the intervals of a resource are apart, so no two units take it at once. A unit moves on only past what is
    in the way of one of its hops, so it begins at the first place there is. Cost: hops times intervals.
    """
    width, units = resource.shape[1], len(lasts)  # 1. Nothing is taken.
    room = len(arc) * width + 1
    head = np.full(int(resource.max()) + 1, -1)
    begin, stop, behind = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    heap, rank, size, count, end = np.empty(units, np.int64), np.empty(units, np.int64), 0, 0, 0
    for i in range(units):
        rank[ranked[i]] = i
    for u in range(units):
        if above[u] < 0:
            put(heap, 0, size, rank[u])
            size += 1
    while size > 0:  # 2. The next of those that are ready.
        key = take(heap, 0, size)
        size -= 1
        u = ranked[key % units]
        b = key // units
        if above[u] >= 0:
            b = max(b, began[above[u]] + arrives[u])
        moved = True
        while moved:  # 3. Past all that is in the way of a hop, until nothing is.
            moved = False
            for i in range(first[u], first[u + 1]):
                for k in range(width):
                    at = head[resource[arc[i], k]]
                    while at >= 0 and stop[at] <= b + later[i]:
                        at = behind[at]
                    if at >= 0 and begin[at] < b + later[i] + lasts[u]:
                        b = stop[at] - later[i]
                        moved = True
        if soonest and b > key // units:  # another may be sooner
            put(heap, 0, size, b * units + rank[u])
            size += 1
            continue
        began[u] = b
        for i in range(first[u], first[u + 1]):  # 4. It takes its place.
            s = b + later[i]
            end = max(end, s + lasts[u])
            for k in range(width):
                r = resource[arc[i], k]
                last, at = -1, head[r]
                while at >= 0 and stop[at] <= s:
                    last, at = at, behind[at]
                if last >= 0 and stop[last] == s:
                    stop[last] = s + lasts[u]
                    if at >= 0 and begin[at] == stop[last]:
                        stop[last], behind[last] = stop[at], behind[at]
                    continue
                begin[count], stop[count], behind[count] = s, s + lasts[u], at
                if last >= 0:
                    behind[last] = count
                else:
                    head[r] = count
                count += 1
        for j in range(follow[u], follow[u + 1]):  # 5. Those that waited for it are ready.
            put(heap, 0, size, rank[after[j]])
            size += 1
    return end
