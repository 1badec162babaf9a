"""Inner loops of list schedules: of the sends that are ready the first in order go first, if what they take is free."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.heaps import put, take


@njit(arrays=True, work=lambda first, after, waits, arc, *others: 100 * len(arc))
def time_sends(first, after, waits, arc, lasts, resource, key, busy, ranked, room, together, began):
    """Fill ``began``, int64 (sends,), with the step in which each send begins; return the number of steps, or -1 in a circle.

    Send i goes over ``arc[i]`` for ``lasts[i]`` steps and waits for ``waits[i]`` others, which is counted down. Those that wait
    for it are ``after[first[i]] … after[first[i+1]-1]``, and may begin a step later. Arc a takes the resources ``resource[a]``
    under the keys ``key[a]``; -1: each send under its own. ``busy``: int64 (resources, 2), 0: until when each is taken, and under
    which key. ``ranked``: the sends in order. Arc a has room for its sends in ``room[a] … room[a+1]-1``. ``together``:
    whether all sends of an arc that are ready go at once. All others int32, ``first`` and ``room`` int64.
    """
    sends, arcs, width = len(arc), len(room) - 1, resource.shape[1]
    alone = width == 1 and len(busy) == arcs  # no arc is in another's way, so none is asked before another
    rank, heap = np.empty(sends, np.int32), np.empty(sends, np.int32)
    fresh, sent = np.empty(sends, np.int32), np.empty(sends, np.int32)
    size, waiting, first_rank = np.zeros(arcs, np.int64), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    ready, count, step, left, end = 0, 0, 0, sends, 0
    for i in range(sends):
        rank[ranked[i]] = i
        if waits[i] == 0:
            fresh[ready] = i
            ready += 1
    while left > 0:
        for i in range(ready):
            a = arc[fresh[i]]
            put(heap, room[a], size[a], rank[fresh[i]])
            size[a] += 1
            if size[a] == 1:
                waiting[count] = a
                count += 1
        if count == 0:
            return -1
        for i in range(count):
            first_rank[i] = heap[room[waiting[i]]]
        if not alone:
            first_rank[:count].sort()
        begun, soonest = 0, -1
        for i in range(count):
            a, free = arc[ranked[first_rank[i]]], True
            for j in range(width):
                r = resource[a, j]
                if busy[r, 0] > step and (key[a, j] < 0 or busy[r, 1] != key[a, j]):
                    soonest = busy[r, 0] if soonest < 0 else min(soonest, busy[r, 0])
                    free = False
                    break
            while free:
                send = ranked[take(heap, room[a], size[a])]
                size[a] -= 1
                began[send], sent[begun] = step, send
                begun += 1
                until = step + lasts[send]
                end = max(end, until)
                for j in range(width):
                    r = resource[a, j]
                    busy[r, 0], busy[r, 1] = max(until, busy[r, 0]), key[a, j]
                free = together and size[a] > 0
        kept = 0
        for i in range(count):
            if size[waiting[i]] > 0:
                waiting[kept] = waiting[i]
                kept += 1
        count, ready = kept, 0
        left -= begun
        step = soonest if begun == 0 else step + 1
        for i in range(begun):
            for j in range(first[sent[i]], first[sent[i] + 1]):
                waits[after[j]] -= 1
                if waits[after[j]] == 0:
                    fresh[ready] = after[j]
                    ready += 1
    return end


@njit(work=lambda first, after, *others: 3.0 * len(after))
def measure(first, after, height, below):
    """Fill how many sends come one after the other from each on, and how many there are below each, from 1 each, int64 (sends,).

    Those that wait for send i are ``after[first[i]] … after[first[i+1]-1]``, all behind it.
    """
    for i in range(len(height) - 1, -1, -1):
        for j in range(first[i], first[i + 1]):
            height[i] = max(height[i], height[after[j]] + 1)
            below[i] += below[after[j]]
