"""Inner loop that cuts the sends of a step into parts in which no node both sends and receives."""
# pyright: basic

from treecast.kernels.compiled import njit


@njit
def parts(source, target, by_source, heard, part):
    """Fill ``part``, int64 (sends,), with 0 and 1 by turns along paths and cycles of sends; the last of an odd cycle has 2.

    ``by_source``: int64 (N,), the send of each node, or -1. ``heard``: bool (N,), which nodes are targets.
    """
    for i in range(len(part)):
        part[i] = -1
    for cycles in range(2):  # paths first: those that begin where nothing arrives
        for i in range(len(part)):
            if part[i] >= 0 or (cycles == 0 and heard[source[i]]):
                continue
            at, turn = i, 0
            while at >= 0 and part[at] < 0:
                part[at] = turn
                turn = 1 - turn
                last, at = at, by_source[target[at]]
            if cycles == 1 and part[last] == 0 and last != i:
                part[last] = 2
