"""Inner loops on the star network: neighbours, the trees of Fragopoulou & Akl, and walks along them.

Words, positions and trees are those of ``star_node.py``.
"""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit
from treecast.networks.kernels.star_node import (
    disjoint_parent,
    is_mended,
    mended_parent,
    paper_parent,
    shortest_parent,
    swapped,
)


@njit
def advance(symbols):
    """Turn ``symbols`` into the next permutation in lexicographic order, in place.

    O(1) on average: the tail that falls is mostly short. At worst O(n).
    """
    n = len(symbols)
    i = n - 2
    while i >= 0 and symbols[i] > symbols[i + 1]:  # the longest tail that falls
        i -= 1
    if i < 0:  # the last permutation: it stays
        return
    j = n - 1
    while symbols[j] < symbols[i]:  # the least symbol of the tail that is greater
        j -= 1
    symbols[i], symbols[j] = symbols[j], symbols[i]
    low, high = i + 1, n - 1
    # the tail still falls: turned round it rises
    while low < high:
        symbols[low], symbols[high] = symbols[high], symbols[low]
        low += 1
        high -= 1


@njit
def unrank_into(rank, factorials, symbols):
    """Fill ``symbols`` with the permutation of that lexicographic rank; ``factorials[j]`` = (n-1-j)!.

    The symbols that are left stand in ``left``, 4 bits each, in order; one that is taken out closes the gap:

        left = … 3 2 1 0        digit 1 takes symbol 1   ─▶   … 3 2 0

    O(n): closing the gap takes shifts and masks only.
    """
    n = len(symbols)
    left = np.int64(0)
    for j in range(n):
        left |= np.int64(j) << (4 * j)
    for j in range(n):
        digit = rank // factorials[j]
        rank -= digit * factorials[j]
        shift = 4 * digit
        symbols[j] = (left >> shift) & 15
        below = (np.int64(1) << shift) - 1
        left = (left & below) | ((left >> 4) & ~below)  # the part below the gap stays, what is above moves down


@inline
def words_of(symbols):
    """Return the word of ``symbols`` and its inverse.

    word = … | symbol at position 1 | symbol at position 0        4 bits each; the inverse: the position of each symbol
    """
    word, inverse = np.int64(0), np.int64(0)
    for j in range(len(symbols)):
        word |= np.int64(symbols[j]) << (4 * j)
        inverse |= np.int64(j) << (4 * symbols[j])
    return word, inverse


@njit
def swap_rank(symbols, rank, factorials, position):
    """Return the rank of the permutation ``symbols``, of rank ``rank``, after a swap of position 0 with ``position``.

    Let the symbols a in front and b change places, and say a < b. The first digit of the rank grows by b - a, the digit of
    ``position`` shrinks by the number of symbols between a and b behind it, and each digit between the two positions
    grows by one where its symbol lies between a and b. With a > b all signs turn.

    O(n).
    """
    a, b = symbols[0], symbols[position]
    low, high, sign = min(a, b), max(a, b), 1 if a < b else -1  # the sign of b - a
    change = (high - low) * factorials[0]
    for i in range(1, len(symbols)):
        if low < symbols[i] < high:
            # digits behind ``position`` stay: they see the same symbols behind them
            change += factorials[i] if i < position else -factorials[position]
    return rank + sign * change


@njit(work=lambda start, stop, factorials, table: 20 * table.size)
def fill_neighbors(start, stop, factorials, table):
    """Fill ``table``, (stop - start, n-1), with the neighbours of the nodes ``start … stop-1`` over every port.

    O(n) for each entry, and no rank is found anew: ``advance`` goes on to the next node.
    """
    n = len(factorials)
    symbols = np.empty(n, np.int64)
    unrank_into(start, factorials, symbols)
    for u in range(start, stop):
        for position in range(1, n):
            table[u - start, position - 1] = swap_rank(symbols, u, factorials, position)
        advance(symbols)


@njit(work=lambda start, stop, factorials, first_tree, paper, parents, ports: 40 * (stop - start) * parents.shape[0])
def fill_trees(start, stop, factorials, first_tree, paper, parents, ports):
    """Fill columns ``start … stop-1`` of ``parents`` and ``ports``, each (trees, N): one row per tree from ``first_tree`` on.

    Tree 0 is a shortest-path tree, the trees 1 … n-1 are the edge-disjoint ones, by the paper's rule if ``paper``; all are
    rooted at the identity.

    O(trees × nodes): each parent in O(1), its rank in O(n).
    """
    # 1. The first node of the block.
    n = len(factorials)
    symbols = np.empty(n, np.int64)
    unrank_into(start, factorials, symbols)
    identity, _ = words_of(np.arange(n))
    for u in range(start, stop):
        # 2. Its words, and whether the paper's rule is not kept here.
        word, inverse = words_of(symbols)
        mended = not paper and is_mended(word, inverse, identity)
        for row in range(len(parents)):
            tree = first_tree + row
            if word == identity:  # the root has no parent
                parents[row, u] = -1
                ports[row, u] = -1
                continue
            # 3. Over which position its parent lies in each tree.
            position = 0
            if tree == 0:  # 0: no rule has said so yet
                position = shortest_parent(word, inverse & 15, identity)
            elif mended:
                position = mended_parent(word, inverse, tree, identity)
            if position == 0:  # 0 of the mended rule means: as the paper says
                position = paper_parent(word, inverse, tree, identity)
            parents[row, u] = swap_rank(symbols, u, factorials, position)
            ports[row, u] = position - 1  # ports count from 0, positions from 1
        advance(symbols)


@njit(work=lambda start, stop, factorials, limit, paper: 100 * (stop - start) * len(factorials) ** 2)
def walk_trees(start, stop, factorials, limit, paper):
    """Walk from every node ``start … stop-1`` up every tree to the root; store nothing per node.

    The trees are the paper's if ``paper``. Return (arcs walked, greatest depth, a node whose walk is longer than ``limit``
    or -1, a node two of whose parents lie over the same dimension or -1).

    O(depth) for each node and tree.
    """
    # 1. The first node of the block.
    n = len(factorials)
    symbols = np.empty(n, np.int64)
    unrank_into(start, factorials, symbols)
    identity, _ = words_of(np.arange(n))
    arcs, deepest, lost, shared = np.int64(0), np.int64(0), np.int64(-1), np.int64(-1)
    for u in range(start, stop):
        first_word, first_inverse = words_of(symbols)
        advance(symbols)  # the words are kept, so the symbols may go on
        if first_word == identity:
            continue
        # 2. Climb each tree from the node; the first steps should all take different positions.
        used = np.int64(0)
        for tree in range(1, n):
            word, inverse, depth = first_word, first_inverse, np.int64(0)
            while word != identity and depth <= limit:  # the limit ends walks that go round in circles
                if paper:
                    position = paper_parent(word, inverse, tree, identity)
                else:
                    position = disjoint_parent(word, inverse, tree, identity)
                if depth == 0:
                    if used >> position & 1:  # an arc from this node is in two trees
                        shared = u
                    used |= np.int64(1) << position
                word, inverse = swapped(word, inverse, position)
                depth += 1
            arcs += depth
            deepest = max(deepest, depth)
            if word != identity:  # more than ``limit`` arcs, or none that leads home
                lost = u
    return arcs, deepest, lost, shared
