"""Inner loops of list schedules: of the sends that are ready the first in order go first, if their resources are free."""
# pyright: basic

import numpy as np

from treecast.compiled import njit
from treecast.networks.kernels.heaps import put, take
from treecast.plans.kernels.servers import find_server


@njit(arrays=True, work=lambda first, after, waits, arc, *others: 100 * len(arc))
def time_sends(first, after, waits, arc, lasts, resource, key, spare, gap, late, ranked, pool, room, together, began):
    """Fill ``began``, int64 (sends,), with the step in which each send begins; return the number of steps, or -1 in a circle.

    Send i has ``lasts[i]`` chunks, and goes over any of the arcs in one pool with ``arc[i]``, which becomes the one that it
    takes, ``gap`` steps each. It waits for ``waits[i]`` others, which is counted down. Those that wait for it are
    ``after[first[i]] … after[first[i+1]-1]``. ``late``: (lags, of, waits, of): a send over arc a has arrived ``lags[of[a]]``
    steps after it began, and one that waits for it begins so many steps later as the second pair says of its own arc. Arc a
    takes the resources whose first servers are ``resource[a]``, under the keys ``key[a]``; -1: each send under its own.
    ``spare``: how many more servers stand behind each. ``ranked``: the sends in order. ``pool``: the pool of each arc. Pool p
    has room for its sends in ``room[p] … room[p+1]-1``. ``together``: whether all sends of a pool that are ready go at once.
    ``first``, ``room`` and lags int64, all others int32.

    A send is in one place at a time:

        waits > 0 ── last arrival ─▶ stays ─▶ heap of its pool ── resources free ─▶ under way ── lag ─▶ arrived

    ``under_way`` has two rows: of those under way, and of those that stay. Each row is cut into a queue for each lag. All in
    a queue last as long, so who came first leaves first:

        under_way[0] = [ arrived | under way | not used ][ arrived | under way | not used ] …
                               at[0,0]     at[1,0]              at[0,1]     at[1,1]

    Invariant: no send begins before all that it waits for is there, nor on a server that is taken under another key. Cost:
    each send is once on a heap, O(sends log sends). A step asks the pools that have something ready, each all of its arcs for
    all of their resources. Where nothing can begin, the time goes on to the next event at once.
    """
    sends, pools, width = len(arc), len(room) - 1, resource.shape[1]  # 1. Nothing has begun, all servers are free.
    busy = np.zeros((len(spare), 2), np.int64)
    alone = width == 1 and len(busy) == len(pool)  # no pool is in another's way, so none is asked before another
    rank, heap = np.empty(sends, np.int32), np.empty(sends, np.int32)
    fresh = np.empty(sends, np.int32)
    # those under way, and those that wait after all has arrived, first come first served among those of one lag
    lag, of_lag, stay, of_stay = late
    under_way, at = np.empty((2, sends), np.int32), np.zeros((4, max(len(lag), len(stay)) + 1), np.int64)
    since = np.zeros(sends if (stay > 0).any() else 0, np.int64)  # a network of one rank has no arc, and no lag
    for i in range(sends):  # 2. Cut the two rows into a queue for each lag.
        at[0, of_lag[arc[i]] + 1] += 1
        at[2, of_stay[arc[i]] + 1] += 1
    for k in range(1, at.shape[1]):
        at[0, k] += at[0, k - 1]
        at[2, k] += at[2, k - 1]
    at[1], at[3] = at[0], at[2]  # from where on there is none
    size, waiting, first_rank = np.zeros(pools, np.int64), np.empty(pools, np.int32), np.empty(pools, np.int32)
    ready, count, step, left, end, pending = 0, 0, 0, sends, 0, 0
    one, other = np.full(pools, -1, np.int32), np.full(len(pool), -1, np.int32)  # an arc of each pool; another of its
    for a in range(len(pool) - 1, -1, -1):  # from the last to the first, so that arcs are asked in their order
        other[a], one[pool[a]] = one[pool[a]], a
    for i in range(sends):  # 3. What waits for nobody is ready, or stays first.
        rank[ranked[i]] = i
        if waits[i] == 0:
            k = of_stay[arc[i]]
            if stay[k] == 0:
                fresh[ready] = i
                ready += 1
            else:
                under_way[1, at[3, k]] = i
                at[3, k] += 1
                pending += 1
    while left > 0:
        for i in range(ready):  # 4. What is ready goes to the heap of its pool.
            p = pool[arc[fresh[i]]]
            put(heap, room[p], size[p], rank[fresh[i]])
            size[p] += 1
            if size[p] == 1:  # the first in this heap: the pool joins those that are asked
                waiting[count] = p
                count += 1
        if count == 0 and pending == 0:  # all that is left waits for something in a circle
            return -1
        for i in range(count):  # 5. Pools are asked in the order of their best sends.
            first_rank[i] = heap[room[waiting[i]]]
        if not alone:
            first_rank[:count].sort()  # the best send of all pools is asked first: it may take what others want
        begun, soonest = 0, -1  # 6. Begin what finds its resources free.
        for i in range(count):
            p = pool[arc[ranked[first_rank[i]]]]  # the rank tells the send, and that its pool
            a = one[p]
            while a >= 0 and size[p] > 0:
                free = True
                for j in range(width):
                    r = resource[a, j]
                    if busy[r, 0] > step and (key[a, j] < 0 or busy[r, 1] != key[a, j]):
                        if spare[r] > 0 and find_server(busy, spare, r, key[a, j], step) >= 0:  # another server
                            continue  # this resource is no hindrance
                        soonest = busy[r, 0] if soonest < 0 else min(soonest, busy[r, 0])
                        for s in range(r + 1, r + 1 + spare[r]):
                            soonest = min(soonest, busy[s, 0])
                        free = False
                        break
                while free:
                    send = ranked[take(heap, room[p], size[p])]
                    size[p] -= 1
                    k = of_lag[a]
                    arc[send], began[send], under_way[0, at[1, k]] = a, step, send
                    at[1, k] += 1
                    begun += 1
                    until = step + lasts[send] * gap[a]
                    end = max(end, until - gap[a] + lag[k])
                    for j in range(width):
                        r = resource[a, j]
                        if spare[r] > 0:
                            r = find_server(busy, spare, r, key[a, j], step)
                        busy[r, 0], busy[r, 1] = max(until, busy[r, 0]), key[a, j]  # or the other send's end
                    free = together and size[p] > 0
                a = other[a]
        kept = 0  # 7. Pools that still have something wait on.
        for i in range(count):
            if size[waiting[i]] > 0:
                waiting[kept] = waiting[i]
                kept += 1
        count, ready = kept, 0
        left -= begun
        pending += begun
        if begun == 0:  # 8. The next event: something is free, or arrives, or has stayed.
            for k in range(len(lag)):
                if at[0, k] < at[1, k] and (soonest < 0 or began[under_way[0, at[0, k]]] + lag[k] < soonest):
                    soonest = began[under_way[0, at[0, k]]] + lag[k]
            for k in range(len(stay)):
                if at[2, k] < at[3, k] and (soonest < 0 or since[under_way[1, at[2, k]]] + stay[k] < soonest):
                    soonest = since[under_way[1, at[2, k]]] + stay[k]
            step = max(soonest, step + 1)  # never backwards, though something may be free already by then
        else:
            step += 1
        for k in range(len(lag)):  # 9. What has arrived frees those that wait for it.
            while at[0, k] < at[1, k] and began[under_way[0, at[0, k]]] + lag[k] <= step:
                i = under_way[0, at[0, k]]
                at[0, k] += 1
                pending -= 1
                for j in range(first[i], first[i + 1]):  # one arrival less to wait for
                    waits[after[j]] -= 1
                    if waits[after[j]] == 0:
                        other_k = of_stay[arc[after[j]]]
                        if stay[other_k] == 0:
                            fresh[ready] = after[j]
                            ready += 1
                        else:
                            since[after[j]] = step
                            under_way[1, at[3, other_k]] = after[j]
                            at[3, other_k] += 1
                            pending += 1
        for k in range(len(stay)):  # 10. Who has stayed long enough is ready.
            while at[2, k] < at[3, k] and since[under_way[1, at[2, k]]] + stay[k] <= step:
                fresh[ready] = under_way[1, at[2, k]]
                ready += 1
                at[2, k] += 1
                pending -= 1
    return end


@njit(work=lambda first, after, waits, *others: 6.0 * len(after))
def measure(first, after, waits, delay, height, below):
    """Fill how long the sends last that come one after the other from each on, and how many there are below each, int64 (sends,).

    They begin as ``delay``, how long each lasts, and 1.
    Those that wait for send i are ``after[first[i]] … after[first[i+1]-1]``. ``waits``: for how many each waits, counted down.

    Each wait is followed once down and once up: O(sends + waits). Invariant: ``order`` has a send behind all that it waits
    for. Sends that wait in a circle are not reached, and keep what they began with.
    """
    # 1. All sends, each behind those that it waits for.
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
    # 2. From the last to the first: what is behind each is known when it is asked.
    for at in range(count - 1, -1, -1):
        i = order[at]
        for j in range(first[i], first[i + 1]):
            height[i] = max(height[i], height[after[j]] + delay[i])
            below[i] += below[after[j]]
