"""Whom liars fool, found without moving a byte: many sets of liars at once, one bit of a number for each."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from treecast.execution.election import check_liars
from treecast.execution.layout import ranges_by_node
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults, wanted


def fooled_nodes(schedule: Schedule, liars: Faults) -> tuple[list[int], list[int]]:
    """Return the honest nodes that liars fool, and those that they leave undecided, when no chunk is empty; without bytes.

    Raises as ``elect``.
    """
    return verdicts(schedule, [liars])[0]


def verdicts(schedule: Schedule, sets: Sequence[Faults]) -> list[tuple[list[int], list[int]]]:
    """Return for each set of liars the honest nodes that it fools, and those that it leaves undecided, as ``fooled_nodes``.

    All sets go through the sends at once: what is false is an integer for each copy, one bit for each set. Raises as ``elect``.
    """
    node_lies, arc_lies = defaultdict[int, list[tuple[int, int]]](list), defaultdict[int, list[tuple[int, int]]](list)
    network, collective = schedule.network, schedule.collective
    for number, liars in enumerate(sets):
        check_liars(schedule, liars)
        for node, step in liars.nodes.items():
            node_lies[node].append((step, 1 << number))
        for (node, port), step in liars.arcs.items():
            arc_lies[int(network.arc(node, port))].append((step, 1 << number))
    source = collective.source_of(np.arange(collective.chunks)).tolist()
    copies, first = dict[tuple[int, int], dict[int, int]](), dict[tuple[int, int], int]()  # of (node, chunk): by tree
    for sends in schedule.expand():
        lying = {u: _lying(entries, sends.step) for u, entries in node_lies.items()}
        lying_arcs = {arc: _lying(entries, sends.step) for arc, entries in arc_lies.items()}
        arcs, arrived = network.arc(sends.src, sends.port), list[tuple[int, int, int, int]]()
        columns = (c.tolist() for c in (sends.src, sends.dst, sends.tree, sends.chunk, arcs))
        for u, v, tree, chunk, arc in zip(*columns, strict=True):
            if u == source[chunk]:
                false = 0
            elif (got := copies.get((u, chunk))) is None:
                continue
            else:
                false = got.get(tree, first[u, chunk]) | lying.get(u, 0)
            arrived.append((v, chunk, tree, false | lying_arcs.get(arc, 0)))
        for v, chunk, tree, false in arrived:
            copies.setdefault((v, chunk), {}).setdefault(tree, false)
            first.setdefault((v, chunk), false)
    every = (1 << len(sets)) - 1
    fooled, undecided = [0] * network.nodes, [0] * network.nodes
    for v, chunks in enumerate(ranges_by_node(wanted(collective, Faults()), network.nodes)):
        for chunk in (chunk for first, stop in chunks for chunk in range(first, stop)):
            if source[chunk] == v:
                continue
            votes = copies.get((v, chunk), {}).values()
            wrong = _more_than_half(votes, schedule.copies)
            right = _more_than_half((every & ~false for false in votes), schedule.copies)
            fooled[v] |= wrong & ~right
            undecided[v] |= every & ~(wrong ^ right)
    found = list[tuple[list[int], list[int]]]()
    for number, liars in enumerate(sets):
        honest = [v for v in range(network.nodes) if v not in liars.nodes]
        wrong = [v for v in honest if fooled[v] >> number & 1]
        found.append((wrong, [v for v in honest if undecided[v] >> number & 1 and v not in wrong]))
    return found


def _lying(entries: list[tuple[int, int]], step: int) -> int:
    """Return the bits of the sets in which something lies at a step."""
    return sum(bit for since, bit in entries if since <= step)  # a set names it once


def _more_than_half(votes: Iterable[int], copies: int) -> int:
    """Return the bits that are set in more than half of ``copies`` votes."""
    enough = copies // 2 + 1
    at_least = [-1] + [0] * enough  # the bits that are set in at least so many votes
    for vote in votes:
        for count in range(enough, 0, -1):
            at_least[count] |= at_least[count - 1] & vote
    return at_least[enough]
