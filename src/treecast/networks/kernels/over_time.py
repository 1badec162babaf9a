"""Inner loops that find flows over time: units that leave a root and reach their nodes by some step, each arc one unit a step.

Arcs as in networks.arcs.Arcs. A state is a node v at the begin of step t, numbered t · N + v. Searches go backwards from where a
unit is wanted. From (v, t) they go to (u, t - 1) over a free arc from u, to (v, t - 1) by waiting, and forwards in time where
they call back units that leave v, or wait there. The root has units at all times.

The number of a state, and the moves of a search from it, by number:

    state = t · N + v            0 … back - 1     | back  | back + 1 … back + out  | back + out + 1
                                 arcs that enter  | wait  | call a unit back       | call back one that waits
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

_DEAD = 2**31 - 1  # a stamp above all others
_SOONER = 2  # looks of a search in depth, beside the size of one that weighs ways: either takes about a second


@njit
def _change(state, i, tick, first, into, entering, flow, held):
    """Carry out move ``i`` of a state: back over an arc that enters, waiting, or forwards, where a unit that goes out or waits
    is called back.

    Searches try the arcs that enter in turn, each search another one first.

    O(1).
    """
    nodes = len(into) - 1
    t, u = state // nodes, state % nodes
    back, out = into[u + 1] - into[u], first[u + 1] - first[u]
    if i < back:
        # ``tick`` turns the order, the same in search and change
        flow[t - 1, entering[into[u] + (i + tick) % back]] = 1
    elif i == back:  # the unit came here a step before, and waited
        held[t - 1, u] += 1
    elif i <= back + out:  # counted from behind the arcs that enter and the wait
        flow[t, first[u] + i - back - 1] = 0
    else:
        held[t, u] -= 1


@njit
def _nearest_way(v, first, head, tail, into, entering, far, flow, held, seen, tick, place, stack):
    """Let one more unit arrive at ``v`` by the last step, changing others where need be; return how many moves were looked at,
    less than 0 where there is no way.

    It takes only arcs that lead farther from the root, so that all ways stay shortest ones.

    Depth first; ``stack`` is the way, and ``place`` the next move of each state. Each state is seen once for each ``tick``:
    O(steps (nodes + arcs)). What a search saw that failed leads nowhere ever after: no way enters it, so none leads out of it
    anew. It stays ``_DEAD``, so all searches that fail take together what one takes.
    """
    # 1. Begin at the node in the last step.
    steps, nodes = len(flow), len(far)
    top = looks = 0
    stack[0] = steps * nodes + v
    seen[stack[0]] = tick
    place[stack[0]] = 0
    while top >= 0:
        state = stack[top]
        t, u = state // nodes, state % nodes
        if far[u] == 0:  # the root has units at all times: the way is found
            break
        # 2. The next move of the state on top, if it can be made; after the last one go back.
        i = place[state]
        place[state] = i + 1  # the next time another one
        looks += 1
        back, out = into[u + 1] - into[u], first[u + 1] - first[u]
        other = -1
        if i < back:
            a = entering[into[u] + (i + tick) % back]
            w = tail[a]
            # nearer the root, in time, and free in the step before
            if t > 0 and far[w] >= 0 and far[w] < far[u] and far[w] < t and flow[t - 1, a] == 0:
                other = state - nodes - u + w
        elif i == back:
            if far[u] < t:  # later than that it could not have been here
                other = state - nodes
        elif i <= back + out:
            a = first[u] + i - back - 1
            if t < steps and flow[t, a] == 1:  # in the last step nothing leaves any more
                other = state + nodes - u + head[a]
        elif i == back + out + 1:
            if t < steps and held[t, u] > 0:
                other = state + nodes
        else:
            top -= 1  # a dead end: it stays seen, so nobody comes again
        if other >= 0 and seen[other] < tick:
            seen[other], place[other] = tick, 0
            top += 1
            stack[top] = other
    if top < 0:
        for state in range(len(seen)):
            if seen[state] == tick:
                seen[state] = _DEAD
    # 3. Carry out the moves on the way.
    # the place was counted on when the move was made
    for j in range(top):
        _change(stack[j], place[stack[j]] - 1, tick, first, into, entering, flow, held)
    return looks if top >= 0 else -looks


@njit
def _cheapest_way(v, first, head, tail, into, entering, far, flow, held, seen, tick, place, queue, before, cost):
    """Let one more unit arrive at ``v`` over any arcs, for as few more sends as can be; return whether there is one.

    Bellman and Ford's search with a queue, since sends that are called back cost -1. States cheaper than the next in turn go
    to the front, so that fewer are asked again.
    """
    # 1. Begin at the node in the last step; the queue is a ring.
    steps, nodes, size = len(flow), len(far), len(queue)
    start, end = len(flow) * nodes + v, -1  # as ``steps``
    low, high = 0, 1
    queue[0], seen[start], cost[start] = start, tick, 0
    waiting = np.zeros(size, np.bool_)
    while low != high:
        # 2. The next state; at the root the cheapest counts.
        state = queue[low]
        low = (low + 1) % size  # a ring: what comes to the front steps back over its end
        waiting[state] = False
        if far[state % nodes] == 0:
            if end < 0 or cost[state] < cost[end]:
                end = state
            continue  # from the root nothing goes on
        t, u = state // nodes, state % nodes
        back, out = into[u + 1] - into[u], first[u + 1] - first[u]
        for i in range(back + out + 2):
            # 3. Its moves as in ``_nearest_way``, over any arcs; a send costs 1.
            other, more = -1, 0
            if i < back:
                a = entering[into[u] + (i + tick) % back]
                w = tail[a]
                if far[w] >= 0 and far[w] < t and flow[t - 1, a] == 0:
                    other, more = state - nodes - u + w, 1
            elif i == back:
                if far[u] < t:
                    other = state - nodes
            elif i <= back + out:
                a = first[u] + i - back - 1
                if t < steps and flow[t, a] == 1:
                    other, more = state + nodes - u + head[a], -1
            elif t < steps and held[t, u] > 0:
                other = state + nodes
            # a state of another search counts as not seen
            if other >= 0 and (seen[other] != tick or cost[state] + more < cost[other]):
                seen[other], cost[other], before[other], place[other] = tick, cost[state] + more, state, i
                if not waiting[other]:
                    waiting[other] = True
                    if low != high and cost[other] < cost[queue[low]]:  # cheaper than the next: to the front
                        low = (low - 1) % size
                        queue[low] = other
                    else:
                        queue[high] = other
                        high = (high + 1) % size
    # 4. Carry out the moves on the way, from the root to the node.
    state = end
    while state >= 0 and state != start:
        _change(before[state], place[state], tick, first, into, entering, flow, held)
        state = before[state]  # towards v, as ``before`` leads
    return end >= 0


@njit(
    work=lambda first, head, tail, into, entering, far, order, units, most, flow, held: flow.size * len(order) * units
)
def send(first, head, tail, into, entering, far, order, units, most, flow, held):
    """Fill in a flow that brings so many units to each node of ``order``; return how many units are left.

    ``flow``, int8 (steps, arcs): whether an arc carries a unit in a step; ``held``, int32 (steps, N): the units that wait at a
    node meanwhile. Both are 0 to begin with. ``far``: how far each node is from the root, -1 where no way leads. As many units
    as can be go shortest ways; the others such that all together are sent as seldom as can be. Return -1, and give up, where
    these, multiplied by the size of the flow, are more than ``most``, or the first searches look at twice as much.

    Invariant: ``there[i]`` units arrive at ``order[i]``, and no arc carries two in a step. Cost: a search for each unit:
    O(units nodes steps arcs).
    """
    # 1. As many units as can be go shortest ways, the nodes in order.
    states = (len(flow) + 1) * len(far)  # one more than steps: a unit arrives at the end of the last
    seen, place, stack = np.zeros(states, np.int32), np.zeros(states, np.int32), np.zeros(states, np.int64)
    before, cost = np.zeros(states, np.int64), np.zeros(states, np.int32)
    there, tick, left, looks = np.zeros(len(order), np.int64), 0, units * len(order), 0
    for i in range(len(order)):  # first pass: depth first, cheap, and each arc leads away from the root
        while there[i] < units:
            tick += 1  # a stamp for each search
            found = _nearest_way(order[i], first, head, tail, into, entering, far, flow, held, seen, tick, place, stack)
            looks += abs(found)
            if looks > _SOONER * most:
                return -1
            if found < 0:
                break
            there[i] += 1
            left -= 1
    # 2. The others go any ways.
    # an estimate of the slower searches' time, before any is made
    if left * len(flow) * len(head) > most:
        return -1
    for state in range(states):
        seen[state] = 0  # what leads nowhere by shortest ways may lead somewhere
    for i in range(len(order)):
        while there[i] < units:
            tick += 1
            if not _cheapest_way(
                order[i], first, head, tail, into, entering, far, flow, held, seen, tick, place, stack, before, cost
            ):
                return left  # no more can come: the caller learns how many are missing
            there[i] += 1
            left -= 1
    return 0
