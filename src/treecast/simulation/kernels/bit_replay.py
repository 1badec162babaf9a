"""Inner loops that replay a hypercube orbit for all sources at once: one bit per source, 64 to a word.

Node w has the chunks of the sources in row w of ``has``, uint64 (N, words): bit h & 63 of word h >> 6 is source h. The sends of
node u for source 0 are those of node u xor h for source h. ``low … high-1`` are the nodes that one thread looks after.
"""
# pyright: basic

import numpy as np

from treecast.compiled import inline, njit


@njit(work=lambda nodes, table: 64 * len(nodes))
def fill_translates(nodes, table):
    """Fill ``table``, uint64 (64, words), with the set {u xor low : u in nodes} for each low < 64 (< N).

    O(64 × nodes): a bit for each node, 64 times.
    """
    for low in range(64):  # with fewer than 64 nodes nobody asks for the rows from N on
        for i in range(len(nodes)):
            u = nodes[i] ^ low
            table[low, u >> 6] |= np.uint64(1) << np.uint64(u & 63)


@njit
def say(low, high, port, masks, has, gone, dies, step, saying):
    """Fill ``saying``, uint64 (ports in use, N, words), with the chunks that each node sends over each port in use at this step.

    ``port``: which ports. ``masks``: uint64 (ports in use, 64, words), by ``fill_translates``: for which sources node 0 sends.
    ``gone``: uint64 (ports, N, words) the chunks that have gone over the link of a port; (0, N, words) when the schedule is not
    sparing.

    Node w sends the chunk of source h if node w xor h sends that of source 0. The words and the bits in them are found apart:

        w xor h  =  word (w >> 6) xor (h >> 6) | bit (w & 63) xor (h & 63)
                         = j ^ block                 = in masks[k, w & 63]

    Cost: ports × nodes × words.
    """
    words = has.shape[1]
    for k in range(len(port)):
        for w in range(low, high):
            for j in range(words):
                saying[k, w, j] = 0  # also of the dead: nobody hears what was there before
            if step < dies[w]:
                block = w >> 6
                for j in range(words):
                    said = has[w, j] & masks[k, w & 63, j ^ block]
                    if len(gone):  # sparing: a link carries a chunk once, whichever way
                        said &= ~gone[port[k], w, j]
                    saying[k, w, j] = said


@njit
def hear(low, high, port, has, gone, dies, arc_dies, step, saying):
    """Let each node hear its neighbours; return the chunks of the longest message, of all, and of those that are lost.

    A message is lost when its arc carries nothing or the node that it is for is dead.

    ``has`` changes here alone. A thread writes only its own nodes' rows.
    Invariant: all that is said in a step was filled in by ``say`` before anybody hears, so nothing goes two arcs in one step.
    Cost: ports × nodes × words.
    """
    words, longest, total, lost = has.shape[1], 0, 0, 0
    for k in range(len(port)):
        p = port[k]
        for w in range(low, high):
            u = w ^ (1 << p)  # the neighbour over this dimension
            count = 0
            arrives = step < arc_dies[u, p] and step < dies[w]
            for j in range(words):
                said = saying[k, u, j]
                if said:
                    count += _ones(said)
                    if arrives:
                        has[w, j] |= said
                        if len(gone):
                            gone[p, w, j] |= said
                # what w itself says goes over the link too, heard or not: the sender cannot know
                if len(gone):
                    gone[p, w, j] |= saying[k, w, j]
            longest = max(longest, count)
            total += count
            if not arrives:  # counted as said all the same
                lost += count
    return longest, total, lost


@inline
def _ones(word):
    """Return the number of bits set in a word.

    Counts side by side, in fields twice as wide each time; a product adds up the bytes in the highest one.
    """
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(((word * np.uint64(0x0101010101010101)) & np.uint64(0xFFFFFFFFFFFFFFFF)) >> np.uint64(56))
