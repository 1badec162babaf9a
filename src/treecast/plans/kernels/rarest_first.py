"""Inner loop that spreads chunks step by step: whatever is free carries the rarest chunk that its head lacks."""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit
from treecast.networks.kernels.dice import random_below
from treecast.networks.kernels.heaps import put, take
from treecast.plans.kernels.servers import find_server

_LOOKED_AT = 64  # arcs for each resource, in a step of few


@inline
def _count(a, more, can, live, place, count):
    """Count chunks that an arc can carry, and list it while there are any; return how many arcs are listed.

        live = [ arcs that can carry something | … ]      place[a]: where arc a is in it
                 0 … count-1

    An arc that can carry nothing any more exchanges places with the last: in constant time, whatever the order.
    """
    if can[a] == 0:  # its first chunk: it joins the list
        place[a], live[count] = count, a
        count += 1
    can[a] += more
    if can[a] == 0:  # its last one went: it leaves
        count -= 1
        live[place[a]], place[live[count]] = live[count], place[a]
    return count


@inline
def _awaited(v, c, tail, into, entering, has, can, live, place, listed):
    """Count for the arcs into a node a chunk less, which it has or will have; return how many arcs are listed.

    One step for each arc into the node.
    """
    for e in range(into[v], into[v + 1]):
        if has[tail[entering[e]], c]:  # only what the tail has was counted
            listed = _count(entering[e], -1, can, live, place, listed)
    return listed


@njit
def _soonest(busy, step, after):
    """Return the step after this one in which some server is free again, if that is before another.

    One look for each server.
    """
    for r in range(len(busy)):
        if busy[r, 0] > step:
            after = min(after, busy[r, 0])
    return after


@njit(
    arrays=True,
    work=lambda network, taken, has, *others: len(network[2]) * 2.0 * has.shape[1] ** 2 + 400.0 * has.size,
)
def spread(network, taken, has, wants, shut, fixed, alone, together, order, unlike, state, most, sent):
    """Fill ``sent``, int32 (sends, 3), with the step, arc and chunk of each send; return how many there are, and the steps.

    In each step arcs ask one after the other: those first that could carry the rarest chunk, by an ``order`` of 1 those whose
    head lacks most, of 2 those that could carry the fewest chunks; equal ones in any order. A head passes a chunk on as soon as
    it has arrived. ``network``: first, head, tail,
    into and entering. Arc a takes the resources whose first servers are ``taken[0][a]``, under the keys ``taken[1][a]``; -1:
    each send under its own. So many more servers stand behind each as ``taken[2]`` says. A send takes them for ``taken[3][a]``
    steps, and arrives ``taken[4][a]`` steps after it began. If ``unlike`` steps in which nothing can happen are left out, and
    arcs that are not free are not asked. ``has``: bool (N, chunks), which becomes true where anybody has a chunk. ``wants``:
    who is to have which, and ``shut``: who must not, bool (N, chunks). ``fixed``, int64 (sends, 3): the step, arc and chunk of
    sends that take place anyway, in order of steps; chunk -1: one of no interest. ``alone``: sends are in the way of no others
    but these, and their chunks may come earlier. ``together``: whether an arc carries all that it can at once. ``state``: of
    the random numbers. After ``most`` steps it gives up: the steps are -1. Where there are many arcs for each resource, as in
    an orbit, some are looked at.

    Who has a chunk in the end passes three tables. Each holds at least as much as the one before:

        has: there by now     got: there, under way since an earlier step, or shut     coming: as got, and sent in this step

    Invariant: ``can[a]`` counts the chunks in ``has`` of the tail and not in ``got`` of the head; ``live`` lists the arcs
    that can carry any; ``held[c]`` counts who has chunk c, gets it or must not. What is compared is packed into one number,
    the most important first:

        asking: order's figure | chance, 20 bits | arc        flying: step of arrival | number of the send

    Cost: a step asks all arcs, or those listed, for each chunk: O(arcs chunks). A send looks for its chunk, O(chunks), and
    its arrival tells the arcs at its head. ``flying`` is a heap, so steps in which nothing arrives cost nothing there.
    """
    (first, head, tail, into, entering), (resource, key, spare, gap, delay) = network, taken
    busy = np.zeros((len(spare), 2), np.int64)  # 1. All servers are free, nothing is under way.
    nodes, chunks = has.shape
    arcs, width = resource.shape
    can, place, live, listed = np.zeros(arcs, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64), 0
    got, held, lacks = has | shut, np.zeros(chunks, np.int64), np.zeros(nodes, np.int64)
    asking, left, sends, step, others = np.empty(arcs, np.int64), 0, 0, 0, 0
    every, coming_in = len(fixed) + len(sent), 0  # those under way, by when they arrive, the fixed ones first
    flying, late = np.empty(every, np.int64), False
    for a in range(arcs):
        late = late or delay[a] > 1
    for i in range(0 if alone else len(fixed)):  # 2. What fixed sends bring need not be sent.
        if fixed[i, 2] >= 0:
            got[head[fixed[i, 1]], fixed[i, 2]] = True
    coming = got.copy()
    for v in range(nodes):  # 3. Count who has each chunk, and who lacks any.
        for c in range(chunks):
            held[c] += got[v, c]
    for v in range(nodes):
        for c in range(chunks):
            lacks[v] += held[c] > 0 and not got[v, c]
            left += held[c] > 0 and wants[v, c] and not got[v, c]
    for a in range(arcs):  # 4. What each arc can carry.
        for c in range(chunks):
            if has[tail[a], c] and not got[head[a], c]:
                listed = _count(a, 1, can, live, place, listed)
    few, some = arcs <= _LOOKED_AT * len(busy), _LOOKED_AT * len(busy)
    while left > 0:
        if step == most:  # the caller set this limit
            return sends, -1
        at, looked, begun, since = 0, 0, sends, others  # 5. Fixed sends of this step come first.
        while others < len(fixed) and fixed[others, 0] == step:
            a = fixed[others, 1]
            for j in range(width):
                s = max(resource[a, j], find_server(busy, spare, resource[a, j], key[a, j], step))
                busy[s, 0], busy[s, 1] = step + gap[a], key[a, j]
            put(flying, 0, coming_in, (step + delay[a]) * every + others)
            coming_in += 1
            if fixed[others, 2] >= 0:
                coming[head[a], fixed[others, 2]] = True
            others += 1
        if not few:  # 6. Ask arcs: all, or some from a random one on.
            state, at = random_below(state, max(1, listed))
        while looked < (arcs if few else listed) and (alone or together or sends - begun < len(busy)):
            count = 0
            for i in range(looked, min(looked + some, arcs if few else listed)):
                a = i if few else live[(at + i) % listed]
                free = can[a] > 0
                for j in range(width if unlike else 0):
                    free = free and find_server(busy, spare, resource[a, j], key[a, j], step) >= 0
                if free:
                    rarest = nodes + 1
                    for c in range(chunks):
                        if held[c] < rarest and has[tail[a], c] and not got[head[a], c]:
                            rarest = held[c]
                    state, chance = random_below(state, 1 << 20)
                    keyed = (rarest, chunks - (can[a] if together else lacks[head[a]]), can[a])[order]
                    asking[count] = ((keyed << 20) + chance) * arcs + a
                    count += 1
            asking[:count].sort()  # 7. In this order, each sends the rarest chunk it can.
            looked += some
            state, begin = random_below(state, chunks)
            for i in range(count):
                a = asking[i] % arcs
                free = True
                for j in range(width):
                    free = free and find_server(busy, spare, resource[a, j], key[a, j], step) >= 0
                while free:
                    best = -1
                    for k in range(chunks):  # equally rare ones from somewhere on
                        c = (begin + k) % chunks
                        if has[tail[a], c] and not coming[head[a], c] and (best < 0 or held[c] < held[best]):
                            best = c
                    if best < 0:
                        break  # under way in this step already: others bring it
                    for j in range(0 if alone else width):
                        s = find_server(busy, spare, resource[a, j], key[a, j], step)
                        busy[s, 0], busy[s, 1] = step + gap[a], key[a, j]
                    put(flying, 0, coming_in, (step + delay[a]) * every + len(fixed) + sends)
                    coming_in += 1
                    coming[head[a], best] = True
                    held[best] += 1
                    lacks[head[a]] -= 1
                    left -= wants[head[a], best]  # a chunk that nobody wants there is relayed only
                    sent[sends, 0], sent[sends, 1], sent[sends, 2] = step, a, best
                    sends += 1
                    free = together
        if sends == begun and others == len(fixed) and coming_in == 0:  # nothing will happen
            return sends, -1
        for i in range(since, others + sends - begun if late else 0):  # 8. nobody else has to send it
            j = begun + i - others
            a, c = (fixed[i, 1], fixed[i, 2]) if i < others else (sent[j, 1], sent[j, 2])
            if c >= 0 and not got[head[a], c]:
                got[head[a], c] = True
                listed = _awaited(head[a], c, tail, into, entering, has, can, live, place, listed)
        after = step + 1  # 9. The next step, or the next event.
        if unlike and sends == begun:  # the next that happens
            after = flying[0] // every if coming_in > 0 else most
            if others < len(fixed):
                after = min(after, fixed[others, 0])
            after = max(_soonest(busy, step, after), step + 1)  # time goes on at least by one
        while coming_in > 0 and flying[0] // every <= after:  # 10. Arrivals: the arcs of the head can carry more.
            i = take(flying, 0, coming_in) % every
            coming_in -= 1
            j = i - len(fixed)
            a, c = (fixed[i, 1], fixed[i, 2]) if j < 0 else (sent[j, 1], sent[j, 2])
            v, fresh = head[a], c >= 0 and not got[head[a], c]
            if c < 0 or has[v, c]:  # a chunk of no interest, or one that came another way before
                continue
            has[v, c] = got[v, c] = coming[v, c] = True
            for a in range(first[v], first[v + 1]):
                if not got[head[a], c]:
                    listed = _count(a, 1, can, live, place, listed)
            if fresh:
                listed = _awaited(v, c, tail, into, entering, has, can, live, place, listed)
        step = after
    end = 0  # 11. How many steps it takes.
    for i in range(sends):
        end = max(end, sent[i, 0] + 1)
    return sends, end
