"""List schedules of many chunks down trees, in turns: what every tree carries in a turn goes before what it carries in the next.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
Each tree carries its chunks in blocks, one block a turn. Of the sends that are ready an arc takes one of the earliest turn. If no
arc is in more than s trees, a turn keeps it busy for s blocks at most. So a block waits no longer than if there were only the
turns before it: T turns take T s times the length of a block, and a number of steps that does not grow with T.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.plans.built import Built
from treecast.ragged import places, starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet

MOST_SENDS = 2**18  # of all turns


class Turn(NamedTuple):
    """The sends of one turn: arrays of one length, int64.

    ``arc``: by number in ``arcs_of``; ``part``: of which part of the chunks; ``tree``: the number that the rows are to have;
    ``shift``: what is added to the numbers of the chunks. ``before`` and ``after``: pairs of sends of the same part, of which the
    second waits.
    """

    arc: Ints
    part: Ints
    tree: Ints
    shift: Ints
    before: Ints
    after: Ints


def turn_of_trees(found: list[TreeSet]) -> Turn:
    """Return the sends down all trees of some sets: part p is what the p-th tree of all carries."""
    columns, pairs, count, part = list[Ints](), list[Ints](), 0, 0
    for trees in found:
        arcs, ports = arcs_of(trees.network), trees.network.ports
        names = arcs.tail.astype(np.int64) * ports + arcs.port
        for tree, (parent, port) in enumerate(zip(trees.parent.astype(np.int64), trees.port, strict=True)):
            dst = np.flatnonzero(parent >= 0)
            number = np.full(len(parent), -1)
            number[dst] = count + np.arange(len(dst))
            above = number[parent[dst]]
            pairs.append(np.stack([above, number[dst]])[:, above >= 0])
            column = np.zeros((4, len(dst)), np.int64)
            column[0], column[1], column[2] = np.searchsorted(names, parent[dst] * ports + port[dst]), part, tree
            columns.append(column)
            count, part = count + len(dst), part + 1
    return Turn(*np.concatenate(columns, axis=1), *np.concatenate(pairs, axis=1))


def built_in_turns(network: Network, turn: Turn, first: Ints, size: Ints) -> Built:
    """Return the schedule of parts of chunks, ``size`` of them from number ``first`` on, in the fewest steps of a few orders.

    Blocks are as short as the number of sends allows, and longer ones are tried. Of a turn those sends go first that are farthest
    from the end; or the parts one after the other.
    """
    least = max(1, -(-int(size[turn.part].sum()) // MOST_SENDS))
    left, found = to_go(turn.before, turn.after, len(turn.arc)), list[Built]()
    for block, staggered in product(sorted({least, max(least, int(size.max()) // 8)}), (False, True)):
        found.append(_built(network, turn, (first, size), block, (left, staggered)))
    return min(found, key=lambda built: (built.claims.steps, len(built.rows)))


def _built(network: Network, turn: Turn, parts: tuple[Ints, Ints], block: int, order: tuple[Ints, bool]) -> Built:
    from treecast.kernels.packing import list_schedule

    arcs, (first, size), (left, staggered) = arcs_of(network), parts, order
    turns = -(-size[turn.part] // block)
    base, send, when = starts(turns)[:-1], np.repeat(np.arange(len(turns)), turns), places(turns)
    pairs = turns[turn.before]
    before = np.repeat(base[turn.before], pairs) + places(pairs)
    after = np.repeat(base[turn.after], pairs) + places(pairs)
    arc, part, count = turn.arc[send], turn.part[send], len(send)
    keys = (when * len(first) + part - left[send],) if staggered else (-left[send], when)
    ranked = np.lexsort(keys)
    rank, step = np.empty(count, np.int64), np.empty(count, np.int64)
    rank[ranked] = np.arange(count)
    follow, waits = starts(np.bincount(before, minlength=count)), np.bincount(after, minlength=count)
    pool, length = cables_of(network), np.minimum(block, size[part] - when * block)
    room = starts(np.bincount(pool[arc], minlength=int(pool.max()) + 1))
    child = after[np.argsort(before, kind="stable")]
    steps = int(list_schedule(follow, child, waits, arc, pool, rank, ranked, length, room, step))
    begin = first[part] + when * block + turn.shift[send]
    rows = Rows.of(
        Payloads.of_ranges(begin, begin + length),
        step=step,
        steps=length,
        src=arcs.tail[arc],
        dst=arcs.head[arc],
        port=arcs.port[arc],
        tree=turn.tree[send],
        payload=np.arange(count),
    )
    return Built(rows, Claims(steps, int(length.sum())))


def cables_of(network: Network) -> Ints:
    """Return numbers of arcs, alike for those from one node to another: whichever is free carries the next chunk. int64."""
    arcs = arcs_of(network)
    return np.unique(arcs.tail.astype(np.int64) * network.nodes + arcs.head, return_inverse=True)[1].astype(np.int64)


def to_go(before: Ints, after: Ints, sends: int) -> Ints:
    """Return how many sends come one after the other from each one on. Of each pair the second waits."""
    found = np.ones(sends, np.int64)
    longer = True
    while longer:
        value = found[after] + 1
        longer = bool((value > found[before]).any())
        np.maximum.at(found, before, value)
    return found
