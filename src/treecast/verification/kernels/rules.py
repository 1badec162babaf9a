"""Inner loops of the verifier: one pass over the rows each, whatever the length of their streams.

Rows come sorted by step. ``start, atom, place``: where atoms lie in payloads (see treecast.schedule.atoms). ``pace``: the steps
from one chunk of a row to the next, so that its atom at place p leaves p times as many steps after the row begins. ``late``: how
many steps after it began a send of a row has arrived.

Loops that fill a table go through all rows, but heed only those whose node (or key) lies in ``low … high-1``, so that
several can run beside each other.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def arrivals(low, high, late, step, pace, dst, payload, start, atom, place, arrival):
    """Lower ``arrival``, int32 (N, atoms), to the first step at which each node holds the first chunk of each atom.

    O(rows × atoms of each).
    """
    for r in range(len(step)):
        if low <= dst[r] < high:
            for i in range(start[payload[r]], start[payload[r] + 1]):
                there = step[r] + late[r] + pace[r] * place[i]
                if there < arrival[dst[r], atom[i]]:
                    arrival[dst[r], atom[i]] = there


@njit
def contributions(low, high, late, step, pace, src, dst, payload, start, atom, place, last, sends):
    """Of the atoms that are sums, the first: raise ``last``, int32 (N, sums), to the step from which all that a node is to
    add is there, and count in ``sends``, int32 (N, sums), how often it sends each on.

    O(rows × atoms of each).
    """
    sums = last.shape[1]
    for r in range(len(step)):
        for i in range(start[payload[r]], start[payload[r] + 1]):
            if atom[i] < sums:
                if low <= dst[r] < high:  # threads share the table by nodes: no entry is written by two
                    there = step[r] + late[r] + pace[r] * place[i]
                    if there > last[dst[r], atom[i]]:
                        last[dst[r], atom[i]] = there
                if low <= src[r] < high:
                    sends[src[r], atom[i]] += 1


@njit
def not_held(step, pace, src, payload, start, atom, place, arrival, missing):
    """Fill ``missing``, int32 (rows,), with an atom that the row's source does not hold when it sends it, or -1.

    ``arrival``: int32 (N, atoms), or of the first atoms only: the others are passed over.

    O(rows × atoms of each) at most: the first atom that is missing ends the row.
    """
    for r in range(len(step)):
        missing[r] = -1
        for i in range(start[payload[r]], start[payload[r] + 1]):
            leaves = step[r] + pace[r] * place[i]
            if atom[i] < arrival.shape[1] and arrival[src[r], atom[i]] > leaves:
                missing[r] = atom[i]
                break


@njit
def undelivered(node, first, stop, arrival, never, shown):
    """Count the atoms ``first[i] … stop[i]-1`` that ``node[i]`` never holds.

    Fill ``shown``, int64 (k, 2), with the first of them as (node, atom), as many as fit; return the count.

    O(atoms that are wanted).
    """
    count = 0
    for i in range(len(node)):
        for a in range(first[i], stop[i]):
            if arrival[node[i], a] == never:  # counts go on when the examples are full
                if count < len(shown):
                    shown[count, 0], shown[count, 1] = node[i], a
                count += 1
    return count


@njit
def overlaps(low, high, node, port, ports, step, steps, busy_until, clash):
    """Set ``clash``, bool (rows,), where a row begins while as many of the same node and port as go at once are under way.

    ``busy_until``: int32 (nodes x ports, room), zeros. Rows whose port is outside ``0 … ports-1`` use none.

    Invariant: ``busy_until[key]`` are the ends of the last rows that took each place. The place free first is the best one:
    if it is not free, none is. Cost: rows × room.
    """
    for r in range(len(step)):
        if low <= node[r] < high and 0 <= port[r] < ports:
            key = np.int64(node[r]) * ports + port[r]
            first = 0
            for s in range(1, busy_until.shape[1]):
                first = s if busy_until[key, s] < busy_until[key, first] else first
            # against what is there so far; a row that clashes still takes its place
            clash[r] = step[r] < busy_until[key, first]
            busy_until[key, first] = max(busy_until[key, first], step[r] + steps[r])


@njit
def contended(resource, key, step, steps, busy_until, last, clash):
    """Set ``clash``, bool (rows,), where a row begins while its resource is in use under as many other keys as it has room for.

    ``busy_until``, ``last``: int64 (resources, room), zeros: of each place the latest end of its use, and that key. As long as
    there is no clash, all that use a place at once have one key.

    Cost: O(rows × room). Invariant: as long as there is no clash, a place in use has the one key of all that use it.
    """
    for r in range(len(step)):
        v, place, is_free = resource[r], 0, False  # place 0 to begin with, until one is better
        for s in range(busy_until.shape[1]):
            if last[v, s] == key[r] and step[r] < busy_until[v, s]:  # the same key at the same time: it goes along
                place, is_free = s, True
                break
            if busy_until[v, s] < busy_until[v, place]:  # else the place that is free first
                place = s
        # ``|=``: other resources of the row may have clashed
        clash[r] |= not is_free and step[r] < busy_until[v, place]
        if step[r] + steps[r] > busy_until[v, place]:
            busy_until[v, place] = step[r] + steps[r]
            last[v, place] = key[r]


@njit
def tree_depths(src, dst, tree, depth):
    """Fill ``depth``, int32 (trees, N), zeros, with arcs from the root, as far as sources come before their rows.

    O(rows). Rows come in order, so the depth of a source is known if its row came before.
    """
    deepest = 0
    for r in range(len(src)):
        if tree[r] >= 0:
            depth[tree[r], dst[r]] = depth[tree[r], src[r]] + 1
            deepest = max(deepest, depth[tree[r], dst[r]])
    return deepest


@njit(arrays=True)
def judge_relays(node, first, stop, offset, at, into, till, came, own_first, own_stop, due, due_stop, verdict):
    """Judge the sends of flits that nodes received: fill ``verdict``, int8, by piece: 0 right, 1 not held by then, 2 held up.

    Piece i: ``node[i]`` sends flits ``first[i] … stop[i]-1``, flit c in step c + ``offset[i]``. ``at, into, till, came``: the
    same of the flits that they receive, sorted by node, then by flit. Node v has flits ``own_first[v] … own_stop[v]-1`` from
    the start, and keeps ``due[v] … due_stop[v]-1``, which it wants.

    Cost: a binary search for each piece, and the pieces that came in beside it: O(pieces log pieces + pieces beside).

        came in:   [ into … till )  [ into … till )        own: [ own_first … own_stop )
        sends:         [ first ──────▶ c … stop )          c jumps to the end of what has been judged
    """
    # 1. Where the pieces that each node received begin.
    begin = np.searchsorted(at, np.arange(len(own_first) + 1))
    for i in range(len(node)):
        # 2. The last of them that begins at c or before.
        v, c = node[i], first[i]
        low, high = begin[v], begin[v + 1]
        j = low + np.searchsorted(into[low:high], c, side="right") - 1  # ``j`` may be low - 1: none begins so early
        while c < stop[i]:
            # 3. From c on: own flits are right; others must have come in a step before, and should leave at once.
            if own_first[v] <= c < own_stop[v]:
                c = own_stop[v]
                continue
            while j + 1 < high and into[j + 1] <= c:  # the last piece that begins at c or before
                j += 1
            # no piece has c, or it comes too late
            if j < low or not (into[j] <= c < till[j]) or came[j] + 1 > offset[i]:
                verdict[i] = 1
                break
            if came[j] + 1 < offset[i] and not (due[v] <= c and min(till[j], stop[i]) <= due_stop[v]):
                verdict[i] = 2
            c = till[j]


@njit(
    arrays=True,
    work=lambda start, row, time, src, dst, late, coming, begins, *others: 40.0 * len(row) * begins.shape[1],
)
def join(start, row, time, src, dst, late, coming, begins, done, twice):
    """Carry sets of contributions along the moves of each atom: a node sends on the contributions that have arrived by then.

    ``begins``: int64 (N, words), the set that each node begins with, 63 nodes a word; together they are all. Lower ``done``,
    int32 (N, atoms), to the step from which a node has all; set ``twice``, bool (rows,), where a row brings a contribution that
    is there. ``coming``: the moves of each atom in the order in which they arrive.

        bit of node v: word v // 63, bit v % 63        63, so that no int64 has a sign

    Invariant: ``has`` are the contributions at each node by the step of move j. Two places go along the moves of an atom, as
    in ``replay_sums``. Cost: each move twice, a word at a time: O(moves words + atoms nodes words).
    """
    # 1. The set of all, and room for what is under way.
    nodes, words = begins.shape
    every = np.zeros(words, np.int64)
    for v in range(nodes):
        for w in range(words):
            every[w] |= begins[v, w]
    has, longest = np.empty_like(begins), 1
    for atom in range(len(start) - 1):
        longest = max(longest, start[atom + 1] - start[atom])
    carried = np.empty((longest, words), np.int64)
    for atom in range(len(start) - 1):
        # 2. For each atom begin anew; arrivals up to a move come before it.
        has[:] = begins
        i, first, stop = start[atom], start[atom], start[atom + 1]
        for j in range(first, stop + 1):
            while i < stop and (
                j == stop or time[coming[i]] + late[row[coming[i]]] <= time[j]
            ):  # what has arrived by then
                # 3. An arrival: what it brings twice, and whether the node now has all.
                k = coming[i]
                v, whole = dst[row[k]], True
                for w in range(words):
                    if has[v, w] & carried[k - first, w]:
                        twice[row[k]] = True
                    has[v, w] |= carried[k - first, w]
                    whole &= has[v, w] == every[w]
                if whole:
                    done[v, atom] = min(done[v, atom], time[k] + late[row[k]])
                i += 1
            # 4. A send takes what its node has now.
            for w in range(words if j < stop else 0):
                carried[j - first, w] = has[src[row[j]], w]
