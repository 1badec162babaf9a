"""Inner loops that find when each send of a period begins: in each step modulo the period resources have room.

*Modulo scheduling* puts the most urgent send as early as it can, and throws out the sends in its way (Rau, "Iterative modulo
scheduling", 1994). Over one port a period of the greatest load is always enough: sends are the links of a bipartite multigraph,
whose links have as many colours as the greatest degree (König 1916), found by alternating paths.
"""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit
from treecast.networks.kernels.heaps import put, take


@inline
def _slot_of(slot, server, resource, at, send):
    """Return the server of a resource that has a send at a remainder of steps, -1 if none has; send -1: a free one.

    A step for each server of the resource.
    """
    found = -1
    for s in range(server[resource], server[resource + 1]):
        if found < 0 and slot[s, at] == send:
            found = s
    return found


@njit(
    arrays=True,
    work=lambda first, after, begin, before, wanted, ranked, colour, period, server, late, budget, began: (
        0.5 * budget * period
    ),
)
def place(first, after, begin, before, wanted, ranked, colour, period, server, late, budget, began):
    """Fill ``began``, int64 (sends,), with the step in which each send begins; return how many found no place in the end.

    Send i waits for ``before[begin[i]] … before[begin[i+1]-1]``, and ``after[first[i]] … after[first[i+1]-1]`` wait for it, until
    ``late`` steps after it began. It takes the resources ``wanted[i]``, int64 (sends, width), and of resource r one of the
    servers ``server[r] … server[r+1]-1``. ``ranked``: the sends in order, each before those that wait for it. ``colour``: the
    remainder that its step is to have; -1: any. ``budget``: after how many places to give up.

    A table of one period says who has each server: a send at step t stands at t modulo the period.

        slot[server, t % period] = send        remainder    0   1   2   3
                                               server 0     5   -   7   -        send 5 begins at 0, 4, 8 or …

    Invariant: of the sends that have a place no two have one server at one remainder, and each begins when those that it
    waits for, as far as they have a place, have arrived. Cost of a place: a period of steps for each resource, and who waits
    for the send.
    """
    # 1. Nobody has a place, and all want one, the first in order first.
    sends, width = wanted.shape
    slot = np.full((server[-1], period), -1, np.int64)
    heap, rank, last = np.empty(sends, np.int64), np.empty(sends, np.int64), np.full(sends, -1, np.int64)
    out = np.empty(sends + width, np.int64)
    for r in range(sends):  # ranks on the heap, not numbers: the least is the most urgent
        rank[ranked[r]], began[r], heap[r] = r, -1, r
    size = sends
    while size > 0 and budget > 0:
        # 2. The most urgent one, and when it could begin at the soonest.
        i = ranked[take(heap, 0, size)]
        size -= 1
        budget -= 1  # each try costs one, so it ends even where no timetable exists
        soonest, step = 0, -1
        for j in range(begin[i], begin[i + 1]):
            # of one without a place ``began`` is -1, and is no hindrance
            soonest = max(soonest, began[before[j]] + late)
        # 3. The first step at which its resources are free; a period later all is the same.
        for t in range(soonest, soonest + period):
            free = colour[i] < 0 or t % period == colour[i]
            for j in range(width):
                if _slot_of(slot, server, wanted[i, j], t % period, -1) < 0:
                    free = False
            if free:
                step = t
                break
        # 4. There is none: as early as can be, but later than the last time, so that two do not throw each other out
        # for ever.
        if step < 0:
            step = max(soonest, last[i] + 1)
        # 5. Who is in the way: one on each full resource, and all that wait for it but would begin too early.
        last[i], count = step, 0
        for j in range(width):
            if _slot_of(slot, server, wanted[i, j], step % period, -1) < 0:
                # any server will do: the first one's send makes room
                out[count] = slot[server[wanted[i, j]], step % period]
                count += 1
        for j in range(first[i], first[i + 1]):
            if 0 <= began[after[j]] < step + late:  # those without a place are free to come later
                out[count] = after[j]
                count += 1
        # 6. Throw them out; they want a place again.
        for k in range(count):
            thrown = out[k]
            if began[thrown] >= 0:  # it may stand in the list twice, once for each resource
                for j in range(width):
                    at = began[thrown] % period
                    slot[_slot_of(slot, server, wanted[thrown, j], at, thrown), at] = -1
                began[thrown] = -1
                put(heap, 0, size, rank[thrown])
                size += 1
        # 7. Take the place.
        began[i] = step
        for j in range(width):
            slot[_slot_of(slot, server, wanted[i, j], step % period, -1), step % period] = i
    return size  # what is left on the heap found no place


@njit(arrays=True, work=lambda wanted, period, *others: 20.0 * period * len(wanted))
def colours(wanted, period, resources, colour):
    """Fill ``colour``, int64 (sends,), with a number below ``period`` for each send, so that sends of one resource differ.

    ``wanted``: int64 (sends, 2), below ``resources``. No resource is in both columns, and none is there more than ``period``
    times.

    Invariant: no two sends of one resource have one colour: ``at[u, c]`` is the send of colour c at u, -1 if there is none.
    Cost: a send looks at all colours, and turns round at most one path: O(sends (period + resources)).
    """
    # 1. No send has a colour.
    at = np.full((resources, period), -1, np.int64)
    path = np.empty(resources + 1, np.int64)
    for i in range(len(wanted)):
        u, v = wanted[i, 0], wanted[i, 1]
        # 2. The least colour that is free at each end; a common one, if there is one.
        a = b = period
        for c in range(period - 1, -1, -1):  # downwards, so that the least stays
            a, b = c if at[u, c] < 0 else a, c if at[v, c] < 0 else b
        for c in range(period - 1, -1, -1):
            if at[u, c] < 0 and at[v, c] < 0:
                a = b = c
        if (
            a != b
        ):  # a is free at u and b at v: the path from v of colours a, b, a, … does not end in u, and changes them
            count, x, side, now = 0, v, 1, a
            while at[x, now] >= 0:
                path[count] = at[x, now]
                side = 1 - side
                x, now = wanted[path[count], side], a + b - now  # ``a + b - now``: the other of the two colours
                count += 1
            # 3. Exchange the two colours along the path: first take all off, so that none is overwritten.
            for k in range(count):
                at[wanted[path[k], 0], colour[path[k]]], at[wanted[path[k], 1], colour[path[k]]] = -1, -1
                colour[path[k]] = a + b - colour[path[k]]
            for k in range(count):
                at[wanted[path[k], 0], colour[path[k]]], at[wanted[path[k], 1], colour[path[k]]] = path[k], path[k]
        at[u, a], at[v, a], colour[i] = i, i, a
