"""Inner loop that spreads chunks step by step: whatever is free carries the rarest chunk that its head lacks."""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import njit
from treecast.kernels.dice import random_below


@njit(arrays=True, work=lambda tail, head, resource, key, busy, has, *others: 2.0 * len(tail) * has.shape[1] ** 2)
def spread(tail, head, resource, key, busy, has, wants, by_need, state, most, sent):
    """Fill ``sent``, int32 (sends, 3), with the step, arc and chunk of each send; return how many there are, and the steps.

    In each step arcs ask one after the other: those first that could carry the rarest chunk, or by ``by_need`` those whose head
    lacks most; equal ones in any order. What a head gets in a step, it passes on in the next. Arc a takes the resources
    ``resource[a]`` under the keys ``key[a]``; -1: each send under its own. ``busy``: int64 (resources, 2), all -1. ``has``:
    bool (N, chunks), which becomes true where anybody has a chunk. ``wants``: which nodes are to have all, bool (N,). ``state``:
    of the random numbers. After ``most`` steps it gives up: the steps are -1.
    """
    nodes, chunks = has.shape
    arcs, width = resource.shape
    coming, held, lacks = has.copy(), np.zeros(chunks, np.int64), np.zeros(nodes, np.int64)
    asking, left, sends, step = np.empty(arcs, np.int64), 0, 0, 0
    for v in range(nodes):
        for c in range(chunks):
            held[c] += has[v, c]
    for v in range(nodes):
        for c in range(chunks):
            lacks[v] += held[c] > 0 and not has[v, c]
        left += lacks[v] * wants[v]
    while left > 0:
        if step == most:
            return sends, -1
        count = 0
        for a in range(arcs):
            rarest = nodes + 1
            for c in range(chunks):
                if held[c] < rarest and has[tail[a], c] and not has[head[a], c]:
                    rarest = held[c]
            if rarest <= nodes:
                state, chance = random_below(state, 1 << 20)
                first = chunks - lacks[head[a]] if by_need else rarest
                asking[count] = ((first << 20) + chance) * arcs + a
                count += 1
        if count == 0:
            return sends, -1
        asking[:count].sort()
        state, begin = random_below(state, chunks)
        begun = sends
        for i in range(count):
            a = asking[i] % arcs
            free, best = True, -1
            for j in range(width):
                r = resource[a, j]
                free = free and (busy[r, 0] < step or (key[a, j] >= 0 and busy[r, 1] == key[a, j]))
            if not free:
                continue
            for k in range(chunks):  # equally rare ones from somewhere on
                c = (begin + k) % chunks
                if has[tail[a], c] and not coming[head[a], c] and (best < 0 or held[c] < held[best]):
                    best = c
            if best < 0:
                continue
            for j in range(width):
                busy[resource[a, j], 0], busy[resource[a, j], 1] = step, key[a, j]
            coming[head[a], best] = True
            held[best] += 1
            lacks[head[a]] -= 1
            left -= wants[head[a]]
            sent[sends, 0], sent[sends, 1], sent[sends, 2] = step, a, best
            sends += 1
        for i in range(begun, sends):
            has[head[sent[i, 1]], sent[i, 2]] = True
        step += 1
    return sends, step
