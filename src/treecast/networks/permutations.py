"""Permutations of up to 15 symbols, one 64-bit word each, and arrays of such words.

A *word* holds the symbol of position j in bits 4j … 4j+3; positions and symbols count from 0 here, so the identity has
symbol j at position j. All functions take and return int64 arrays of words (any shape) and broadcast.
"""

from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_SYMBOLS = 15
"""The most symbols for which a word is a non-negative int64."""

Words = NDArray[np.int64]


def identity(n: int) -> int:
    """Return the word with symbol j at position j, for every j < n."""
    return sum(j << 4 * j for j in range(n))


def place_values(n: int) -> Words:
    """Return (n-1)!, (n-2)!, …, 0!: the worth of each place of a lexicographic rank, int64 (n,)."""
    return np.array([factorial(n - 1 - j) for j in range(n)], np.int64)


def pack(symbols: ArrayLike) -> Words:
    """Return the words of permutations given as rows of symbols: shape (…, n), result shape (…)."""
    rows = np.asarray(symbols, np.int64)
    word = np.zeros(rows.shape[:-1], np.int64)
    for j in range(rows.shape[-1]):
        word |= rows[..., j] << 4 * j
    return word


def unpack(words: ArrayLike, n: int) -> Words:
    """Return the symbols of ``words`` as rows: shape (…, n)."""
    return (np.asarray(words, np.int64)[..., None] >> 4 * np.arange(n)) & 15


def symbol_at(words: ArrayLike, position: ArrayLike) -> Words:
    """Return the symbol at ``position`` of each word."""
    return (np.asarray(words, np.int64) >> (4 * np.asarray(position, np.int64))) & 15


def swap(words: ArrayLike, position: ArrayLike) -> Words:
    """Return ``words`` with the symbols of position 0 and of ``position`` exchanged."""
    word, shift = np.asarray(words, np.int64), 4 * np.asarray(position, np.int64)
    # the bits in which the two symbols differ: flipping them in both exchanges the two
    difference = (word ^ (word >> shift)) & 15
    return word ^ difference ^ (difference << shift)


def compose(outer: ArrayLike, inner: ArrayLike, n: int) -> Words:
    """Return the words with ``outer[inner[j]]`` at position j: first ``inner``, then ``outer``."""
    a, b = np.asarray(outer, np.int64), np.asarray(inner, np.int64)
    word = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.int64)
    for j in range(n):
        word |= (a >> 4 * (b >> 4 * j & 15) & 15) << 4 * j
    return word


def inverse(words: ArrayLike, n: int) -> Words:
    """Return the words that hold at position s where ``words`` hold symbol s."""
    word = np.asarray(words, np.int64)
    result = np.zeros(word.shape, np.int64)
    for j in range(n):
        result |= np.int64(j) << (4 * symbol_at(word, j))
    return result


def rank(words: ArrayLike, n: int) -> Words:
    """Return the lexicographic rank, 0 … n!-1, of each word."""
    word = np.asarray(words, np.int64)
    seen, result = np.zeros(word.shape, np.int64), np.zeros(word.shape, np.int64)
    for j in range(n):
        symbol = symbol_at(word, j)
        bit = np.int64(1) << symbol
        # of the symbols below it, those that have not come
        smaller_to_come = symbol - np.bitwise_count(seen & (bit - 1))
        result = result * (n - j) + smaller_to_come
        seen |= bit
    return result


def unrank(ranks: ArrayLike, n: int) -> Words:
    """Return the word of each lexicographic rank, 0 … n!-1."""
    rest = np.asarray(ranks, np.int64)
    left = np.full(rest.shape, identity(n), np.int64)  # the symbols not yet placed, ascending, 4 bits each
    word = np.zeros(rest.shape, np.int64)
    for j, place in enumerate(place_values(n)):
        digit, rest = np.divmod(rest, place)
        shift = 4 * digit
        word |= ((left >> shift) & 15) << 4 * j
        below = (np.int64(1) << shift) - 1
        # without the symbol taken: those above it move down into its place
        left = (left & below) | ((left >> 4) & ~below)
    return word


def cycles(word: int, n: int) -> list[tuple[int, ...]]:
    """Return the cycles of length ≥ 2 of one word, each from its least symbol: after s comes the symbol at position s."""
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for start in range(n):
        cycle: list[int] = []
        symbol = start
        while symbol not in seen:
            seen.add(symbol)
            cycle.append(symbol)
            symbol = (word >> 4 * symbol) & 15
        if len(cycle) > 1:
            found.append(tuple(cycle))
    return found


def misplaced_and_cycles(words: ArrayLike, n: int) -> tuple[Words, Words]:
    """Return the number of misplaced symbols of each word, and the number of its cycles of length ≥ 2."""
    word = np.asarray(words, np.int64)
    misplaced, leaders = np.zeros(word.shape, np.int64), np.zeros(word.shape, np.int64)
    for j in range(n):
        here = symbol_at(word, j)
        moved = here != j
        misplaced += moved
        least = moved.copy()  # j leads its cycle when no symbol met on the way round is smaller
        for _ in range(n - 2):
            least &= here >= j
            here = symbol_at(word, here)
        leaders += least & (here >= j)
    return misplaced, leaders
