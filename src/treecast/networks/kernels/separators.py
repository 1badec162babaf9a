"""Inner loops that look for cuts of few arcs between many nodes.

Arcs as in networks.arcs.Arcs. A cut is the set of nodes that are ``inside``; its arcs lead out. Nodes of ``weight`` 1 send to
each other; those of weight 0 only pass on.
"""
# pyright: basic

from treecast.compiled import njit


@njit(work=lambda first, head, *others: 40 * len(head))
def improve(first, head, tail, into, entering, weight, inside):
    """Move single nodes into a cut or out of it while that leaves more pairs for each arc; return its nodes and its arcs.

    Invariant: ``count`` and ``out`` are those of ``inside``. Every move makes pairs for each arc, count (total - count) /
    out, more, so it ends. The two sides are multiplied out, which keeps them whole. Cost of a round: each arc twice.
    """
    nodes, total, count, out = len(inside), 0, 0, 0
    for v in range(nodes):
        total += weight[v]
        count += weight[v] * inside[v]
        for a in range(first[v], first[v + 1]):
            out += inside[v] and not inside[head[a]]
    better = True
    while better:
        better = False
        for v in range(nodes):
            leaving, entered = 0, 0  # to nodes outside, and from nodes inside, but for v itself
            for a in range(first[v], first[v + 1]):
                # counted anew for each node: sides change while they are gone through
                leaving += not inside[head[a]]
            for e in range(into[v], into[v + 1]):
                entered += inside[tail[entering[e]]]
            if inside[v]:
                # v takes its arcs out, and those that led in now lead out
                n, c = count - weight[v], out - leaving + entered
            else:
                n, c = count + weight[v], out + leaving - entered
            # both sides keep ranks, and the cut keeps arcs
            if 0 < n < total and c > 0 and n * (total - n) * out > count * (total - count) * c:
                inside[v] = not inside[v]
                count, out, better = n, c, True
    return count, out
