"""Inner loop over all one-port broadcasts in a number of steps: the cost of the cheapest.

Communication model: one-port, wormhole: in a step a node sends to any node, or receives, or idles. The work of a node of a set
in t steps is this, if it does anything: its first message makes a part of the set another node's affair, and both go on for
t - 1 steps. So the loop goes over all ways to divide, the parts being small enough for the steps they have left, and the rest
large enough for the work to be done elsewhere.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit

FAR = 1 << 13  # twice as much, and a distance, is an int16


@njit(work=lambda distance, steps: steps * len(distance) * 2 ** len(distance), arrays=True)
def cheapest(distance, steps):
    """Return the least total distance of a broadcast within each set of nodes, in each number of steps, from each node.

    ``distance``: int16 (n, n). Two arrays, int16 (steps + 1, 2^n, n): of a set, a mask of bits, from a node of it (else FAR or
    more); and from a node outside that first sends into the set. Sets that are too large, or leave too much to do
    elsewhere, are FAR.

    Invariant: ``inside[t]`` and ``entered[t]`` are final before step t + 1 asks for them. Cost: each pair of a set and a part
    of it, each step: O(steps 3^n n), less what is too large or too small. All parts of a set, as masks, the largest first:

        whole      = 1 0 1 1
        part:  1011 ─▶ 1010 ─▶ 1001 ─▶ 1000 ─▶ 0011 ─▶ 0010 ─▶ 0001 ─▶ 0
    """
    # 1. The sizes of all sets; in no steps a node informs itself.
    n = len(distance)
    inside, entered = np.full((steps + 1, 1 << n, n), FAR, np.int16), np.full((steps + 1, 1 << n, n), FAR, np.int16)
    size = np.zeros(1 << n, np.int64)
    for whole in range(1, 1 << n):
        size[whole] = size[whole >> 1] + (whole & 1)  # one bit less, looked up
    for v in range(n):
        inside[0, 1 << v, v] = 0
    for t in range(steps + 1):
        # 2. What a set may have: at most 2^t nodes, and at least all but the 2^steps - 2^t that can hear elsewhere.
        # few and half: the same of a part, which has one step less
        fewest, most = n - ((1 << steps) - (1 << t)), 1 << t
        few, half = n - ((1 << steps) - (1 << t) // 2), (1 << t) // 2
        for whole in range(1, 1 << n):
            # no such set in an optimal broadcast; with all steps only the whole set counts
            if not fewest <= size[whole] <= most or (t == steps and size[whole] < n):
                continue
            # 3. Its first message divides the set.
            here = inside[t, whole]
            if t:
                here[:] = inside[t - 1, whole]  # idle
                part = (whole - 1) & whole
                while part:
                    rest = whole ^ part
                    if few <= size[part] <= half and few <= size[rest] <= half:  # else one of the two is FAR anyway
                        for s in range(n):
                            here[s] = min(here[s], inside[t - 1, part, s] + entered[t - 1, rest, s])
                    part = (part - 1) & whole  # the next smaller mask within ``whole``
            # 4. From outside, by way of each of its nodes.
            for b in range(n):
                if whole >> b & 1:
                    for s in range(n):
                        # the message itself costs its distance
                        entered[t, whole, s] = min(entered[t, whole, s], distance[s, b] + here[b])
    return inside, entered
