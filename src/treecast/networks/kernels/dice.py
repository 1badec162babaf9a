"""Random numbers for inner loops: Marsaglia's xorshift of 64 bits, the same on every machine, compiled or not."""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit


@inline
def next_state(state):
    """Return the state behind ``state``, a uint64 that is not 0; its high bits are the better ones.

    Three shifts. NumPy's and the compiler's words drop what a shift pushes out; the masks do so for Python's numbers.
    """
    # 13, 7, 17: Marsaglia's triple with the full period 2^64 - 1
    state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    state ^= state >> np.uint64(7)
    return state ^ ((state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF))


@njit
def random_below(state, stop):
    """Return the next state, and with it one of the numbers 0 … stop-1.

    The high 31 bits, as they are the better ones. Numbers are not quite even where ``stop`` is large, which does no harm
    here.
    """
    state = next_state(state)
    return state, np.int64(state >> np.uint64(33)) % stop  # 33 bits away: the number is positive as an int64


@njit
def shuffle(items, count, state):
    """Put the first ``count`` items in random order; return the next state.

    From the last item down each changes places with one of those up to it: all orders are as likely (Fisher & Yates). One
    draw an item.
    """
    for i in range(count - 1, 0, -1):  # the item may stay where it is
        state, j = random_below(state, i + 1)
        items[i], items[j] = items[j], items[i]
    return state
