"""Inner loops that bring every chunk to every node: in each step a maximum matching of the arcs into each node with chunks.

An arc enters one node, so nodes choose chunks to receive one after the other. In each step the chunks are ranked, those that
the fewest nodes hold first, and those that no node has chosen yet in this step go before others: so the copies that cross a
thin cut differ. A set of chunks is kept as bits by rank, ``BITS`` to a word.
"""
# pyright: basic

import numpy as np

from treecast.kernels.compiled import lowest_bit, njit
from treecast.kernels.dice import random_below, shuffle

BITS = 62


@njit
def _find(u, ranked, lacks, taken, chosen):
    """Return the first chunk by rank that node u holds, ``lacks`` names, and is neither ``taken`` nor ``chosen``; -1: none."""
    for w in range(len(lacks)):
        free = ranked[u, w] & lacks[w] & ~(taken[w] | chosen[w])
        if free != 0:
            return w * BITS + lowest_bit(free)
    return -1


@njit
def _offer(first, low, tail, ranked, lacks, sets, way, by, heard):
    """Let an arc into a node bring a chunk that the node ``lacks``, others bringing others if need be, if that can be.

    The arc in ``slot`` of the node, ``first`` for this one, brings ``heard[slot]``, and ``by[c]`` is the slot that brings
    chunk c. ``sets``: the chunks that are brought already, those that other nodes have chosen, and those that this search has
    looked at. ``way``: room for the slots that would bring another chunk, and that chunk: two of int64 (arcs).
    """
    taken, chosen, tried = sets
    slots, chunks = way
    last = 0
    slots[0], chunks[0] = first, -1
    while last >= 0:
        u, chunk = tail[low + slots[last]], -1
        if chunks[last] < 0:
            chunk = _find(u, ranked, lacks, taken, chosen)
            if chunk < 0:
                chunk = _find(u, ranked, lacks, taken, taken)
        if chunk >= 0:
            taken[chunk // BITS] |= np.int64(1) << (chunk % BITS)
            chunks[last] = chunk
            for i in range(last + 1):
                by[chunks[i]], heard[slots[i]] = slots[i], chunks[i]
            return
        chunk = _find(u, ranked, lacks, tried, tried)
        chunks[last] = chunk
        if chunk < 0:
            last -= 1
        else:
            tried[chunk // BITS] |= np.int64(1) << (chunk % BITS)
            last += 1
            slots[last], chunks[last] = by[chunk], -1


@njit
def _rank(order, holders, nodes, state, spare):
    """Put all chunks in random order, those that the fewest nodes hold first; return the next random number."""
    chunks = len(order)
    state = shuffle(order, chunks, state)
    place = np.zeros(nodes + 2, np.int64)
    for c in range(chunks):
        place[holders[c] + 1] += 1
        spare[c] = order[c]
    for h in range(1, len(place)):
        place[h] += place[h - 1]
    for i in range(chunks):
        order[place[holders[spare[i]]]] = spare[i]
        place[holders[spare[i]]] += 1
    return state


@njit
def _as_bits(has, order, word, ranked):
    """Fill ``ranked``, int64 (N, words), with the chunks that each node ``has``, int8 (chunks, N), by their rank.

    All nodes at once, chunk by chunk, so that the compiler takes several nodes in one instruction. ``word``: room, int64 (N,).
    """
    chunks, nodes = len(order), len(ranked)
    for w in range(ranked.shape[1]):
        for u in range(nodes):
            word[u] = 0
        for i in range(min(BITS, chunks - w * BITS)):
            c = order[w * BITS + i]
            for u in range(nodes):
                word[u] |= np.int64(has[c, u]) << i
        for u in range(nodes):
            ranked[u, w] = word[u]


@njit(work=lambda tail, head, into, owner, *others: 2.0 * ((len(into) - 1) * len(owner)) ** 2 / max(1, len(tail)))
def hear(tail, head, into, owner, state, rows):
    """Let every node hear all chunks, chunk c beginning at the node ``owner[c]``.

    ``tail``, ``head``: the ends of each arc; those into node v are ``into[v] … into[v+1]-1``. Fill ``rows``, int32
    (chunks · (N-1), 3), with (step, arc, chunk) in the order of steps. Return the number of steps; -1 where some node does
    not hear all.
    """
    nodes = len(into) - 1
    chunks, words = len(owner), (len(owner) + BITS - 1) // BITS
    has, holders = np.zeros((chunks, nodes), np.int8), np.ones(chunks, np.int64)
    order, spare = np.arange(chunks), np.empty(chunks, np.int64)
    ranked, lacks = np.zeros((nodes, words), np.int64), np.zeros(words, np.int64)
    taken, chosen, tried = np.zeros(words, np.int64), np.zeros(words, np.int64), np.zeros(words, np.int64)
    word, by, heard = np.empty(nodes, np.int64), np.full(chunks, -1), np.empty(max(1, len(tail)), np.int64)
    way = np.empty(len(heard), np.int64), np.empty(len(heard), np.int64)
    for c in range(chunks):
        has[c, owner[c]] = 1
    row, step = 0, 0
    while row < len(rows):
        began = row
        state = _rank(order, holders, nodes, state, spare)
        _as_bits(has, order, word, ranked)
        for w in range(words):
            chosen[w] = 0
        state, first = random_below(state, nodes)
        for i in range(nodes):
            v = (first + i) % nodes
            low, arcs, left = into[v], into[v + 1] - into[v], np.int64(0)
            for w in range(words):
                lacks[w] = ((np.int64(1) << min(BITS, chunks - w * BITS)) - 1) & ~ranked[v, w]
                taken[w] = 0
                left |= lacks[w]
            if left == 0:
                continue
            state, turn = random_below(state, arcs)
            for slot in range(arcs):
                heard[slot] = -1
            for slot in range(arcs):
                for w in range(words):
                    tried[w] = 0
                _offer((slot + turn) % arcs, low, tail, ranked, lacks, (taken, chosen, tried), way, by, heard)
            for w in range(words):
                chosen[w] |= taken[w]
            for slot in range(arcs):
                if heard[slot] >= 0:
                    rows[row, 0], rows[row, 1], rows[row, 2] = step, low + slot, order[heard[slot]]
                    row += 1
        if row == began:
            return -1
        for r in range(began, row):
            has[rows[r, 2], head[rows[r, 1]]] = 1
            holders[rows[r, 2]] += 1
        step += 1
    return step
