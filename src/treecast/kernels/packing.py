"""Inner loops that pack the sends of label sets into few steps, no port used twice in one step.

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
