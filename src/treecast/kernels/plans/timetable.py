"""Inner loops of list schedules: of the sends that are ready the first in order go first, if their resources are free."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.heaps import put, take
from treecast.kernels.plans.servers import find_server


@njit(arrays=True, work=lambda first, after, waits, arc, *others: 100 * len(arc))
def time_sends(first, after, waits, arc, lasts, resource, key, spare, late, ranked, pool, room, together, began):
    """Fill ``began``, int64 (sends,), with the step in which each send begins; return the number of steps, or -1 in a circle.

    Send i goes for ``lasts[i]`` steps over any of the arcs in one pool with ``arc[i]``, which becomes the one that it takes, and
    waits for ``waits[i]`` others, which is counted down. Those that wait for it are ``after[first[i]] … after[first[i+1]-1]``,
    and may begin ``late`` steps later. Arc a takes the resources whose first servers are ``resource[a]``, under the keys
    ``key[a]``; -1: each send under its own. ``spare``: how many more servers stand behind each. ``ranked``: the sends in order.
    ``pool``: the pool of each arc. Pool p has room for its sends in ``room[p] … room[p+1]-1``. ``together``: whether all sends of
    a pool that are ready go at once. All others int32, ``first`` and ``room`` int64.
    """
    sends, pools, width = len(arc), len(room) - 1, resource.shape[1]
    busy = np.zeros((len(spare), 2), np.int64)
    alone = width == 1 and len(busy) == len(pool)  # no pool is in another's way, so none is asked before another
    rank, heap = np.empty(sends, np.int32), np.empty(sends, np.int32)
    fresh, sent = np.empty(sends, np.int32), np.empty(sends, np.int32)
    size, waiting, first_rank = np.zeros(pools, np.int64), np.empty(pools, np.int32), np.empty(pools, np.int32)
    ready, count, step, left, end, sends_begun, arrived = 0, 0, 0, sends, 0, 0, 0
    one, other = np.full(pools, -1, np.int32), np.full(len(pool), -1, np.int32)  # an arc of each pool; another of its
    for a in range(len(pool) - 1, -1, -1):
        other[a], one[pool[a]] = one[pool[a]], a
    for i in range(sends):
        rank[ranked[i]] = i
        if waits[i] == 0:
            fresh[ready] = i
            ready += 1
    while left > 0:
        for i in range(ready):
            p = pool[arc[fresh[i]]]
            put(heap, room[p], size[p], rank[fresh[i]])
            size[p] += 1
            if size[p] == 1:
                waiting[count] = p
                count += 1
        if count == 0 and arrived == sends_begun:
            return -1
        for i in range(count):
            first_rank[i] = heap[room[waiting[i]]]
        if not alone:
            first_rank[:count].sort()
        begun, soonest = sends_begun, -1
        for i in range(count):
            p = pool[arc[ranked[first_rank[i]]]]
            a = one[p]
            while a >= 0 and size[p] > 0:
                free = True
                for j in range(width):
                    r = resource[a, j]
                    if busy[r, 0] > step and (key[a, j] < 0 or busy[r, 1] != key[a, j]):
                        if spare[r] > 0 and find_server(busy, spare, r, key[a, j], step) >= 0:
                            continue
                        soonest = busy[r, 0] if soonest < 0 else min(soonest, busy[r, 0])
                        for s in range(r + 1, r + 1 + spare[r]):
                            soonest = min(soonest, busy[s, 0])
                        free = False
                        break
                while free:
                    send = ranked[take(heap, room[p], size[p])]
                    size[p] -= 1
                    arc[send], began[send], sent[begun] = a, step, send
                    begun += 1
                    until = step + lasts[send]
                    end = max(end, until)
                    for j in range(width):
                        r = resource[a, j]
                        if spare[r] > 0:
                            r = find_server(busy, spare, r, key[a, j], step)
                        busy[r, 0], busy[r, 1] = max(until, busy[r, 0]), key[a, j]
                    free = together and size[p] > 0
                a = other[a]
        kept = 0
        for i in range(count):
            if size[waiting[i]] > 0:
                waiting[kept] = waiting[i]
                kept += 1
        count, ready = kept, 0
        left -= begun - sends_begun
        if begun == sends_begun:  # the next that happens: something is free, or arrives
            coming = began[sent[arrived]] + late if arrived < begun else -1
            step = coming if soonest < 0 or 0 <= coming < soonest else soonest
        else:
            step += 1
        sends_begun = begun
        while arrived < begun and began[sent[arrived]] + late <= step:
            for j in range(first[sent[arrived]], first[sent[arrived] + 1]):
                waits[after[j]] -= 1
                if waits[after[j]] == 0:
                    fresh[ready] = after[j]
                    ready += 1
            arrived += 1
    return end + late - 1 if sends > 0 else 0


@njit(work=lambda first, after, waits, *others: 6.0 * len(after))
def measure(first, after, waits, height, below):
    """Fill how many sends come one after the other from each on, and how many there are below each, from 1 each, int64 (sends,).

    Those that wait for send i are ``after[first[i]] … after[first[i+1]-1]``. ``waits``: for how many each waits, counted down.
    """
    order, count = np.empty(len(height), np.int64), 0
    for i in range(len(height)):
        if waits[i] == 0:
            order[count] = i
            count += 1
    at = 0
    while at < count:
        for j in range(first[order[at]], first[order[at] + 1]):
            waits[after[j]] -= 1
            if waits[after[j]] == 0:
                order[count] = after[j]
                count += 1
        at += 1
    for at in range(count - 1, -1, -1):
        i = order[at]
        for j in range(first[i], first[i + 1]):
            height[i] = max(height[i], height[after[j]] + 1)
            below[i] += below[after[j]]
