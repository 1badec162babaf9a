"""Inner loops that pack sends down trees into few steps, no port or arc used twice in one step.

A *pair* is a node and a tree by which it receives; the send to it waits for that to its parent's pair.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.heaps import put, take


@njit
def weigh(above, below):
    """Fill ``below``, int64, with the number of pairs below each, that itself included; return whether all lead to the root.

    ``above``: the number of the pair above each; -1: the root.
    """
    count = len(above)
    children, bare = np.zeros(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        below[i] = 1
        if above[i] >= 0:
            children[above[i]] += 1
    stop = 0
    for i in range(count):
        if children[i] == 0:
            bare[stop] = i
            stop += 1
    at = 0
    while at < stop:
        up = above[bare[at]]
        if up >= 0:
            below[up] += below[bare[at]]
            children[up] -= 1
            if children[up] == 0:
                bare[stop] = up
                stop += 1
        at += 1
    return stop == count


@njit(work=lambda first, child, port, *others: 60 * len(port))
def pack(first, child, port, rank, ranked, room, began):
    """Fill ``began``, int64, with the step of each pair; return the number of steps.

    Of the pairs that are ready, each port serves the one of lowest ``rank`` first; ``ranked``: the pairs by rank. The pairs
    below pair i are ``child[first[i]] … child[first[i+1]-1]``; those of the root stand there as of the pair behind the last.
    Port p has room for its pairs in ``room[p] … room[p+1]-1``.
    """
    pairs, ports = len(port), len(room) - 1
    heap, size = np.empty(pairs, np.int64), np.zeros(ports, np.int64)
    now = np.empty(ports, np.int64)
    for j in range(first[pairs], first[pairs + 1]):
        put(heap, room[port[child[j]]], size[port[child[j]]], rank[child[j]])
        size[port[child[j]]] += 1
    step, waiting = 0, first[pairs + 1] - first[pairs]
    while waiting > 0:
        for p in range(ports):
            now[p] = -1
            if size[p] > 0:
                now[p] = ranked[take(heap, room[p], size[p])]
                size[p] -= 1
                waiting -= 1
        for p in range(ports):
            if now[p] >= 0:
                began[now[p]] = step
                for j in range(first[now[p]], first[now[p] + 1]):
                    put(heap, room[port[child[j]]], size[port[child[j]]], rank[child[j]])
                    size[port[child[j]]] += 1
                    waiting += 1
        step += 1
    return step


@njit
def _call(calls, size, time, which, names):
    """Put on the calendar that ``which`` is due at ``time``; return how much is on it."""
    put(calls, 0, size, time * names + which)
    return size + 1


@njit(work=lambda first, after, waits, arc, *others: 120 * (len(arc) + len(after)))
def list_schedule(first, after, waits, arc, pool, rank, ranked, lasts, room, began):
    """Fill ``began``, int64, with the step in which each send begins; return the number of steps.

    Send i takes an arc ``lasts[i]`` steps, a chunk in each: any of those in one pool with ``arc[i]``, which becomes the one that
    it takes. ``pool``: the pool of each arc, int64. It waits for ``waits[i]`` others, int64, which is counted down.
    Those that wait for it are ``after[first[i]] … after[first[i+1]-1]``; they may begin in the step behind that of the last
    they wait for.
    Whenever an arc is free it begins the send of lowest ``rank`` that is ready; ``ranked``: the sends by rank. Pool p has room
    for its sends in ``room[p] … room[p+1]-1``.
    """
    sends, arcs, pools = len(arc), len(pool), len(room) - 1
    names, steps, on_calendar = sends + arcs, 0, 0
    heap, size = np.empty(sends, np.int64), np.zeros(pools, np.int64)
    # the arcs that are free with nothing to send, as a stack for each pool: the one on top, and what is below each
    top, below = np.full(pools, -1, np.int64), np.empty(arcs, np.int64)
    for a in range(arcs - 1, -1, -1):
        below[a], top[pool[a]] = top[pool[a]], a
    # what is due when, as time and name: a send that gets ready, an arc that gets free
    calls = np.empty(2 * sends + arcs + 1, np.int64)
    for i in range(sends):
        if waits[i] == 0:
            on_calendar = _call(calls, on_calendar, 0, i, names)
    while on_calendar > 0:
        due = take(calls, 0, on_calendar)
        on_calendar -= 1
        time, which = due // names, due % names
        if which < sends:
            p = pool[arc[which]]
            put(heap, room[p], size[p], rank[which])
            size[p] += 1
            if top[p] >= 0:
                on_calendar = _call(calls, on_calendar, time, sends + top[p], names)
                top[p] = below[top[p]]
            continue
        a = which - sends
        p = pool[a]
        if size[p] == 0:
            below[a], top[p] = top[p], a
            continue
        send = ranked[take(heap, room[p], size[p])]
        size[p] -= 1
        arc[send], began[send] = a, time
        steps = max(steps, time + lasts[send])
        on_calendar = _call(calls, on_calendar, time + lasts[send], which, names)
        for j in range(first[send], first[send + 1]):
            waits[after[j]] -= 1
            if waits[after[j]] == 0:
                on_calendar = _call(calls, on_calendar, time + 1, after[j], names)
    return steps
