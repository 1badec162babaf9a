"""Inner loop that finds which chunk of a period each node of a circulant broadcast receives in each step.

Source: Träff, "Round-optimal n-block broadcast schedules in logarithmic time" (2022-2024). See
treecast.plans.whole.one_port.skips.
"""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit(work=lambda node, skips, _: 4 * len(node) * len(skips))
def receive_lists(node, skips, found):
    """Fill row i of ``found``, int64 (nodes, q), with the receive list of ``node[i]``.

    ``skips``: int64 (q + 1,), ascending; the last is the number of nodes. ``node`` counts from the root. An entry e ≥ 0 is
    chunk e of this period of q steps, and e - q chunk e of the period before.

    The entries are indices of skips. They are looked for such that the skips from there to the root add up to node + N greedily:
    depth first, largest skips first, each index once. The free indices are a list linked downwards; some 2q are looked at.

    Invariant: the free indices are linked both ways, and an index is taken out once it is the last step of a sum:

        q ── below ─▶ q-1 ── below ─▶ … ── below ─▶ 0 ── below ─▶ -1        above: the other way; q + 1 stands over q

    Cost: O(q) for each node.
    """
    q = len(skips) - 1
    below, above = np.empty(q + 2, np.int64), np.empty(q + 2, np.int64)
    where, index = np.empty(q + 2, np.int64), np.empty(q + 2, np.int64)  # the places to which the search comes back
    for i in range(len(node)):
        # 1. All indices are free, but for the base: the least index of the skips that add up to the node, or q for the
        # root.
        for e in range(q + 2):
            below[e], above[e] = e - 1, e + 1
        base, left = q, node[i]
        for e in range(q - 1, -1, -1):
            if left > 0 and skips[e] <= left:
                base, left = e, left - skips[e]  # an index is out of the list before the search begins
        below[above[base]] = below[base]
        if below[base] >= 0:
            above[below[base]] = above[base]  # the ends are no entries, so they need no care
        # 2. Search depth first; where sums end close enough below the goal, the last index is an entry.
        # ``got`` entries are found; sums must fall below ``last``, and each next goal is a smaller skip away
        goal, last, got = skips[q] + node[i], 2 * skips[q], 0
        at, e, depth = 0, below[q + 1], 0
        while got < q:
            if e < 0:  # nothing more is found from here
                if depth == 0:
                    break
                depth -= 1
                at, e = where[depth], index[depth]
            else:
                here = at + skips[e]
                if here > goal - skips[got] or here >= last:
                    e = below[e]  # too far on: try a smaller step from the same place
                    continue
                if here <= goal - skips[got + 1]:
                    where[depth], index[depth] = at, e  # to come back here
                    at, e, depth = here, below[e], depth + 1
                    continue
            if at > goal - skips[got + 1]:
                e = -1
                continue
            # 3. An entry. The search goes on behind it, and sums get smaller from now on.
            last = at + skips[e]
            found[i, got] = base if e == q else e - q
            got += 1
            below[above[e]] = below[e]
            if below[e] >= 0:
                above[below[e]] = above[e]  # so each index is the last step of one sum only
            e = below[e]
