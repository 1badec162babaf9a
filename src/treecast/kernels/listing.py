"""Inner loops that make list schedules of runs of chunks which go along ways of their own, an arc carrying one run at a time."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.heaps import put, take


@njit(work=lambda first, arc, size, rank, ranked, room, began: 150 * len(arc))
def list_runs(first, arc, size, rank, ranked, room, began):
    """Fill ``began``, int64, with the step in which each hop begins; return the number of steps.

    The hops of run i are ``first[i] … first[i+1]-1``, in order. Hop h keeps ``arc[h]`` busy for ``size[h]`` steps; the next hop
    of its run can begin one step after it does. Of the hops that are ready an arc takes that of lowest ``rank``; ``ranked``:
    the hops by rank. Arc a has room for its hops in ``room[a] … room[a+1]-1``.
    """
    hops, arcs = len(arc), len(room) - 1
    last = np.zeros(hops, np.bool_)
    heap, waiting, free = np.empty(hops, np.int64), np.zeros(arcs, np.int64), np.zeros(arcs, np.int64)
    events, count, unit = np.empty(hops + arcs + 1, np.int64), 0, hops + arcs
    touched, steps = np.empty(arcs, np.int64), 0
    marked = np.full(arcs, -1, np.int64)
    for i in range(len(first) - 1):
        if first[i] < first[i + 1]:
            last[first[i + 1] - 1] = True
            put(events, 0, count, first[i])
            count += 1
    while count > 0:
        now, fresh = events[0] // unit, 0
        while count > 0 and events[0] // unit == now:
            what = take(events, 0, count) % unit
            count -= 1
            a = what - hops
            if what < hops:
                a = arc[what]
                put(heap, room[a], waiting[a], rank[what])
                waiting[a] += 1
            if marked[a] != now:
                marked[a] = now
                touched[fresh] = a
                fresh += 1
        for i in range(fresh):
            a = touched[i]
            if free[a] <= now and waiting[a] > 0:
                hop = ranked[take(heap, room[a], waiting[a])]
                waiting[a] -= 1
                began[hop], free[a] = now, now + size[hop]
                steps = max(steps, free[a])
                put(events, 0, count, free[a] * unit + hops + a)
                count += 1
                if not last[hop]:
                    put(events, 0, count, (now + 1) * unit + hop + 1)
                    count += 1
    return steps
