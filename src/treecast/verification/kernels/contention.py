"""Inner loops about messages that share channels, where some messages are over before others begin.

Messages are numbered in preorder of the forest of which comes before which: message a is before the messages
a+1 … ``last[a]``. ``channel``, ``message``: int64, which messages cross which channels, in order of both.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit
def unordered(channel, message, last):
    """Return how many pairs of messages of one channel have neither before the other; a pair counts once for each channel.

    One pass: a message is put on the stack once, and taken off once. Invariant: ``stack[:depth]`` are the messages of the
    channel under which the present one stands in the forest: they are before it, all others of the channel so far are not.
    """
    found, depth, first = 0, 0, 0
    stack = np.zeros(len(last), np.int64)
    for i in range(len(channel)):
        if i == 0 or channel[i] != channel[i - 1]:  # another channel: its messages are in nobody's way here
            depth, first = 0, i
        while depth > 0 and last[stack[depth - 1]] < message[i]:  # over before this message begins: not above it
            depth -= 1
        found += i - first - depth  # of the messages before on this channel, all but those above
        stack[depth] = message[i]
        depth += 1
    return found


@njit(work=lambda channel, *others: 10 * len(channel))
def unordered_pairs(channel, message, last, start, entry):
    """Return how many pairs of messages share channels with neither before the other, each pair once.

    ``entry[start[a]] … entry[start[a+1]-1]``: where in ``channel`` message a stands. In time O(pairs, once for each channel).

    Invariant: ``seen[b] == a`` where the pair of b and a was counted, so it counts once, whatever they share.
    """
    found = 0
    seen = np.full(len(last), -1, np.int64)
    for a in range(len(last)):
        for k in range(start[a], start[a + 1]):
            i = entry[k] - 1  # back over the same channel to the messages with smaller numbers
            while i >= 0 and channel[i] == channel[entry[k]]:
                # b ends before a in preorder: neither is above the other
                if last[message[i]] < a and seen[message[i]] != a:
                    seen[message[i]] = a
                    found += 1
                i -= 1
    return found
