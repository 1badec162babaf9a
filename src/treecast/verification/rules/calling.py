"""The rule ``copies`` of sparing schedules on the hypercube: every node has disjoint calling paths.

A calling path is a way along rows, each later than the one before. Where a row on it is silent, its data has crossed that
link before. So if nothing on the path fails, data that reaches its first node reaches its last. Node-disjoint calling paths
to a node are therefore as good as disjoint paths. Source: Chau & Fu, Theorem 1.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.ways.trees.hypercube import calling_trees
from treecast.schedule import Rows, Schedule
from treecast.schedule.trees import TreeSet, find_meeting_ways
from treecast.steps import NEVER
from treecast.verification.case import Case
from treecast.verification.report import SHOWN, Broken, Violation


def copies(case: Case) -> Broken:
    """Rule ``copies``: every node has as many node-disjoint calling paths, from every source, as copies are claimed."""
    schedule, network = case.schedule, case.schedule.network
    if not network.flips_bits or not case.part.traits.spreads:
        text = "calling paths of sparing schedules are known for broadcast and allgather on the hypercube"
        return 1, [Violation("copies", text)]
    case.afford(network.ports * case.nodes, f"calling paths by {network.ports} trees to {case.nodes:,} nodes")
    count, shown, looked_at = 0, list[Violation](), set[tuple[bytes, bytes, bytes]]()
    for source, rows in _by_source(schedule):
        seen = rows.step.tobytes(), (rows.src ^ source).tobytes(), rows.port.tobytes()
        if seen not in looked_at:  # the sources that do the same, each seen from itself, are judged once
            looked_at.add(seen)
            found = _lacking(case, network, source, rows)
            count, shown = count + found[0], shown + found[1]
    if len(schedule.rows.payloads) != len(case.part.given().node):
        count, shown = count + 1, [*shown, Violation("copies", "the messages of a source do not all go together")]
    return count, shown[:SHOWN]


def _by_source(schedule: Schedule) -> Iterator[tuple[int, Rows]]:
    """Yield each source and the rows of its payload, in their order."""
    rows = schedule.rows
    source = schedule.part.source_of(rows.payloads.first[rows.payloads.start[:-1]])
    order = np.argsort(rows.payload, kind="stable")
    ends = np.searchsorted(rows.payload[order], np.arange(len(source) + 1))
    for p in range(len(source)):
        mine = order[ends[p] : ends[p + 1]]
        columns = {name: column[mine] for name, column in rows.columns().items()}
        yield int(source[p]), Rows(**columns, payloads=rows.payloads)


def _lacking(case: Case, cube: Network, source: int, rows: Rows) -> Broken:
    """Return the nodes that have too few calling paths from one source, by its rows."""
    wanted = case.schedule.copies
    trees = calling_trees(cube, order_of(rows, cube.ports), source)
    found = (calls(rows, trees, case.model.latency) < NEVER).sum(axis=0)
    found[source] = wanted
    few = np.flatnonzero(found < wanted)
    ways = f"calling paths from {case.label(source)}, not {wanted}"
    _, shown = case.at_nodes("copies", few, lambda v: f"{case.label(v)} has {found[v]} {ways}")
    met = find_meeting_ways(trees)
    if met is not None:
        shown.append(Violation("copies", f"two calling paths to {case.label(met[0])} meet at {case.label(met[2])}"))
    return len(few) + (met is not None), shown[:SHOWN]


def order_of(rows: Rows, d: int) -> list[int]:
    """Return the d dimensions in the order in which rows use them first.

    Where a step uses several dimensions, those that all nodes use come first, then those that fewer nodes use.
    """
    named = (rows.port >= 0) & (rows.port < d)
    first, count = np.full(d, NEVER), np.bincount(rows.port[named], minlength=d)
    np.minimum.at(first, rows.port[named], rows.step[named])
    full = count == count.max(initial=0)
    return sorted(range(d), key=lambda port: (int(first[port]), not full[port], int(count[port])))


def calls(rows: Rows, trees: TreeSet, late: int = 1) -> NDArray[np.int64]:
    """Return the step from which each node has been called by way of each tree, NEVER where it is not: int64 (trees, N).

    ``late``: in how many steps a call arrives.
    """
    network, span = trees.network, int(rows.step.max(initial=0)) + 2
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
            called[tree][nodes[there]] = step[there] + late
    return called
