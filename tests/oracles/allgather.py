"""What holds of the rows of an allgather in x copies: plain numpy over columns, and the ways walked node by node."""

from collections import Counter

import numpy as np


def least(where, messages, copies):
    """What reaches a node, over all of its arcs."""
    return -(-messages * copies * (where.nodes - 1) // max(where.ports, 1))


def check_rows(where, schedule, ways=True):
    """One message: no port twice in a step, every node by x trees, later than its parent in the tree, by disjoint paths."""
    rows, copies = schedule.rows, schedule.copies
    assert bool((rows.steps == 1).all())
    source, target, port = (column.astype(np.int64) for column in (rows.src, rows.dst, rows.port))
    assert np.array_equal(where.neighbor(source, port), target)
    assert len(np.unique(rows.step.astype(np.int64) * where.ports + port)) == len(rows)
    heard = np.bincount(target, minlength=where.nodes)
    assert heard[0] == 0
    assert (heard[1:] == copies).all()
    trees = int(rows.tree.max(initial=0)) + 1
    when, parent = np.full((2, trees, where.nodes), -1)
    when[rows.tree, target], parent[rows.tree, target] = rows.step, source
    assert (when >= 0).sum() == len(rows)
    relayed = source != 0
    above = when[rows.tree, source]
    assert (above[relayed] >= 0).all()
    assert (above[relayed] < rows.step[relayed]).all()
    if not ways:
        return
    for v in range(1, where.nodes):
        met = Counter()
        for tree in np.flatnonzero(when[:, v] >= 0).tolist():
            u = int(parent[tree, v])
            while u:
                met[u] += 1
                u = int(parent[tree, u])
        assert max(met.values(), default=1) == 1, v
