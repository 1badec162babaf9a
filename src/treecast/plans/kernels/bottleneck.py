"""Inner loop of perfect matchings whose least entry is greatest, one after the other."""
# pyright: basic

import numpy as np

from treecast.compiled import njit


@njit(work=lambda left, least, *others: 8 * left.size, arrays=True)
def widest_matching(left, least, row_of, column_of):
    """Change a matching to a perfect one whose least entry of ``left``, int64 (n, n), is greatest; return that entry.

    ``row_of``, ``column_of``: int64 (n,), to whom each column and row is matched, -1: to nobody yet. ``least``: no perfect
    matching has a greater least entry; pairs of smaller entries are parted. Who is alone takes the widest way of exchanges
    (Derigs & Zimmermann 1978): no entry on it is below the least of the best matching, so the matching is the best in the end.

    Invariant: ``row_of`` and ``column_of`` say the same both ways, and a matched row or column stays matched. Cost: who is
    alone searches once, O(n²); so O(n²) for each pair that was parted, not for all. The search is Dijkstra's with the least
    entry of a way in place of its length:

        alone ── c ── row_of[c] ── c' ── … ── a free column

    ``width[c]`` is the widest least entry of a way to c, and ``by[c]`` the row before c on it.
    """
    # 1. Part pairs that are narrower than any best matching needs.
    nodes = len(left)
    for r in range(nodes):
        c = column_of[r]  # rows and columns are matched to each other, so one test does for both
        if c >= 0 and left[r, c] < least:
            row_of[c] = column_of[r] = -1
    width, by, seen = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.bool_)
    for alone in range(nodes):
        if column_of[alone] >= 0:
            continue
        # 2. Ways of one step.
        for c in range(nodes):
            width[c], by[c], seen[c] = left[alone, c], alone, False
        while True:
            # 3. The widest way that is known; if its column is matched, on from whom it is matched to.
            at = -1
            for c in range(nodes):
                if not seen[c] and (at < 0 or width[c] > width[at]):
                    at = c
            seen[at] = True
            if row_of[at] < 0:  # free: the way ends here
                break
            r = row_of[at]
            for c in range(nodes):
                wide = min(width[at], left[r, c])
                if not seen[c] and wide > width[c]:
                    width[c], by[c] = wide, r
        # 4. Exchange along the way: each row takes the column behind it.
        least = min(least, width[at])  # what is matched is never narrower than this
        # ``column_of[r]`` is read before it is written, so that the climb goes on over the old pair
        while at >= 0:
            r = by[at]
            row_of[at], column_of[r], at = r, at, column_of[r]
    return least
