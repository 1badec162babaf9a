"""Inner loops that split off relays: two arcs through a relay become one past it, as often as no rank then gets less.

Sources: Mader 1982, Jackson 1988, Bang-Jensen, Frank & Jackson 1995; Zhao et al., "ForestColl" (2024).

``room[u, v]``: the capacity from u to v, int64 (N, N). A source gives ``gives[u]`` to node u, int64 (N,). All of it could go to
any one rank: the flow to the i-th of these is ``flow[i]``, int64 (N, N), negative against an arc.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

_NO_END = 1 << 60  # more than all capacities together


@njit
def _augment(room, flow, i, left, sink, most, ahead, queue):
    """Send up to ``most`` more from some node that has something ``left`` to some sink; return how much, 0 if nothing can go.

    ``sink[v]`` is 1 for sinks. A search backwards from these: of a node that it reaches, ``ahead`` has the next on the way.

    One search of all pairs of nodes, O(N²). Invariant: a flow is nowhere above ``room``, and ``flow[i, u, v] == -flow[i, v,
    u]``.
    """
    n, low, high = len(left), 0, 0
    for v in range(n):
        # sinks point to themselves: there a way ends
        ahead[v] = -1
        if sink[v] == 1:
            ahead[v] = v
            queue[high] = v
            high += 1
    while low < high:
        w = queue[low]
        low += 1
        if left[w] > 0:  # here a way can begin
            sent, u = min(most, left[w]), w
            while ahead[u] != u:
                sent = min(sent, room[u, ahead[u]] - flow[i, u, ahead[u]])
                u = ahead[u]
            left[w] -= sent
            u = w
            while ahead[u] != u:
                flow[i, u, ahead[u]] += sent
                flow[i, ahead[u], u] -= sent
                u = ahead[u]
            return sent
        for u in range(n):
            if ahead[u] < 0 and room[u, w] > flow[i, u, w]:
                ahead[u] = w
                queue[high] = u  # flow back along an arc frees it: then ``flow`` is negative and the room is more
                high += 1
    return 0


@njit
def _fill(room, flow, i, ranks, gives, left, sink, ahead, queue):
    """Let ``flow[i]`` be one of all that the source gives to the i-th rank; return whether there is such a flow.

    A search for each piece of flow: O(pieces × N²).
    """
    n, need = len(left), 0
    for u in range(n):
        left[u], sink[u] = gives[u], 0
        need += gives[u]
        for v in range(n):
            flow[i, u, v] = 0
    sink[ranks[i]] = 1
    while need > 0:
        sent = _augment(room, flow, i, left, sink, need, ahead, queue)
        if sent == 0:
            return False
        need -= sent
    return True


@njit
def _more(room, flow, i, begins, also, ends, most, spare, left, sink, ahead, queue):
    """Return how much more than ``flow[i]`` could go from two nodes to the i-th rank or two others, up to ``most``.

    ``begins``, ``also``: where it comes from; ``sink`` has the rank, and all in ``ends`` are sinks, too. ``spare[0]`` has the
    flow that is tried.

    A search for each piece of flow that is found, after a copy of the flow: O((1 + pieces) N²).
    """
    n = len(left)
    for u in range(n):
        left[u] = 0
        for v in range(n):
            spare[0, u, v] = flow[i, u, v]
    left[begins] = left[also] = _NO_END  # the flow asked for may be of any size
    for v in ends:
        sink[v] = 1  # the rank stays a sink beside them
    found = 0
    while found < most:
        sent = _augment(room, spare, 0, left, sink, most - found, ahead, queue)
        if sent == 0:
            break
        found += sent
    return found


@njit
def _can_split(a, w, b, room, flow, ranks, spare, left, sink, ahead, queue, ends):
    """Return how much can go from a to b past relay w instead of through it.

    A set of nodes that a and b are in, but not w, loses as much of its arcs outwards; so does one that w is in, but not a and
    b.

    Two questions to each rank: O(ranks) flows of O(N²) each search. It stops as soon as nothing can go.
    """
    most = min(room[a, w], room[w, b])  # no more than both arcs have
    for i in range(len(ranks)):
        if most == 0:
            break
        for u in range(len(left)):
            sink[u] = 0
        # sets with a and b in them, but not w
        sink[ranks[i]] = 1
        ends[0], ends[1] = a, b
        most = _more(room, flow, i, w, w, ends, most, spare, left, sink, ahead, queue)
        if most > 0 and ranks[i] != a and ranks[i] != b:  # a rank that is a or b is in no such set
            for u in range(len(left)):
                sink[u] = 0
            # sets with w in them, but not a and b
            sink[ranks[i]] = 1
            ends[0], ends[1] = w, w
            most = _more(room, flow, i, a, b, ends, most, spare, left, sink, ahead, queue)
    return most


@njit(work=lambda room, ranks, relays, gives, log: 2.0 * len(relays) * len(ranks) * room.shape[0] ** 3)
def split_off(room, ranks, relays, gives, log):
    """Split off relays, one after the other; return how often two arcs became one, and -1, or a relay where that did not work.

    ``log``, int64 (any, 4): for each time from where, past which relay, to where, and how much. Capacity left at a relay is
    taken away, which does no harm where as much can come to it as go from it. (-1, -1) where the ranks do not get all that the
    source gives; (-2, -1) where ``log`` is too short.

    Invariant: ``flow[i]`` fits in ``room``, and brings all that the source gives to rank i. So a rank never gets less. Flows
    are found anew only where they no longer fit. Cost: relays × pairs of nodes × ranks × searches of O(N²).
    """
    # 1. A flow to each rank.
    n, count = room.shape[0], 0
    flow, spare = np.zeros((len(ranks), n, n), np.int64), np.zeros((1, n, n), np.int64)
    left, sink, ahead = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    queue, ends = np.zeros(n, np.int64), np.zeros(2, np.int64)
    for i in range(len(ranks)):
        if not _fill(room, flow, i, ranks, gives, left, sink, ahead, queue):
            return -1, -1
    for w in relays:
        # 2. For each relay: as much of each pair of arcs as can go past it.
        for b in range(n):
            for a in range(n):
                if a == b or room[a, w] == 0 or room[w, b] == 0:  # an arc from a node to itself would help nobody
                    continue
                moved = _can_split(a, w, b, room, flow, ranks, spare, left, sink, ahead, queue, ends)
                if moved == 0:
                    continue
                if count == len(log):  # the caller comes back with a longer log
                    return -2, -1
                # 3. Put it there, and note it; flows that no longer fit are found anew.
                room[a, w] -= moved
                room[w, b] -= moved
                room[a, b] += moved
                log[count, 0], log[count, 1], log[count, 2], log[count, 3] = a, w, b, moved
                count += 1
                for i in range(len(ranks)):
                    fits = flow[i, a, w] <= room[a, w] and flow[i, w, b] <= room[w, b]
                    # impossible where ``_can_split`` is right; then the caller is told which relay
                    if not fits and not _fill(room, flow, i, ranks, gives, left, sink, ahead, queue):
                        return count, w
        # 4. What is left at the relay is of no use.
        rest = 0
        for u in range(n):
            rest += room[u, w] + room[w, u]
            room[u, w] = room[w, u] = 0
        for i in range(len(ranks)):
            # other flows still stand: nothing was taken from them
            if rest > 0 and not _fill(room, flow, i, ranks, gives, left, sink, ahead, queue):
                return count, w
    return count, -1
