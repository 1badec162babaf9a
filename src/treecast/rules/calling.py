"""The rule ``copies`` of sparing schedules on the hypercube: every node has disjoint calling paths.

A calling path is a way along rows, each later than the one before. Where a row of it is silent, what it would have said
has gone over its link before: so what reaches its first node reaches its last, when nothing on it fails. Node-disjoint
calling paths to a node are therefore as good as disjoint ways. Source: Chau & Fu, Theorem 1.
"""

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Hypercube
from treecast.networks.core import Ints
from treecast.plans.dimension_order import calling_trees
from treecast.report import SHOWN, Broken, Violation
from treecast.rules.case import NEVER, Case
from treecast.schedule import Schedule
from treecast.trees import TreeSet, meeting_ways


def copies(case: Case) -> Broken:
    """Rule ``copies``: every node has as many node-disjoint calling paths as copies are claimed."""
    schedule, network = case.schedule, case.schedule.network
    if not isinstance(network, Hypercube) or case.part.kind != "broadcast":
        text = "calling paths of sparing schedules are known for broadcast on the hypercube, and for orbits of it"
        return 1, [Violation("copies", text)]
    if len(schedule.rows.payloads) > 1:
        return 1, [Violation("copies", "calling paths are known where all messages go together")]
    case.afford(network.ports * case.nodes, f"calling paths by {network.ports} trees to {case.nodes:,} nodes")
    trees = calling_trees(network, order_of(schedule), case.part.root)
    found = (calls(schedule, trees) < NEVER).sum(axis=0)
    found[case.part.root] = schedule.copies
    few = np.flatnonzero(found < schedule.copies)
    shown = [
        Violation("copies", f"{case.label(v)} has {found[v]} calling paths, not {schedule.copies}", -1, (v,))
        for v in few[:SHOWN].tolist()
    ]
    met = meeting_ways(trees)
    if met is not None:
        shown.append(Violation("copies", f"two calling paths to {case.label(met[0])} meet at {case.label(met[2])}"))
    return len(few) + (met is not None), shown[:SHOWN]


def order_of(schedule: Schedule) -> list[int]:
    """Return the dimensions in the order in which a schedule uses them first.

    Where it uses several at once, those that all nodes use come first, then those that fewer nodes use.
    """
    rows, d = schedule.rows, schedule.network.ports
    first, count = np.full(d, NEVER), np.bincount(rows.port[(rows.port >= 0) & (rows.port < d)], minlength=d)
    named = (rows.port >= 0) & (rows.port < d)
    np.minimum.at(first, rows.port[named], rows.step[named])
    full = count == count.max(initial=0)
    return sorted(range(d), key=lambda port: (int(first[port]), not full[port], int(count[port])))


def calls(schedule: Schedule, trees: TreeSet) -> NDArray[np.int64]:
    """Return the step from which each node has been called by way of each tree, NEVER where it is not: int64 (trees, N)."""
    rows, network = schedule.rows, schedule.network
    span = schedule.steps + 1
    known: Ints = np.unique(network.arc(rows.src, rows.port) * span + rows.step)
    called = np.full(trees.parent.shape, NEVER, np.int64)
    called[:, trees.root] = 0
    if not len(known):
        return called
    for tree in range(len(trees)):
        depth = trees.depths[tree]
        for level in range(1, int(depth.max(initial=0)) + 1):
            nodes = np.flatnonzero(depth == level)
            above = trees.parent[tree][nodes]
            nodes = nodes[called[tree][above] < NEVER]
            above = trees.parent[tree][nodes].astype(np.int64)
            arc = network.arc(above, trees.port[tree][nodes])
            sought: Ints = arc * span + called[tree][above]
            at = np.searchsorted(known, sought)
            step = known[np.minimum(at, len(known) - 1)] - arc * span
            there = (at < len(known)) & (step < span) & (step >= 0)
            called[tree][nodes[there]] = step[there] + 1
    return called
