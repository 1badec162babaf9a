"""Pipelines down sets of spanning trees: which tree carries which messages, and when each arc of it is busy.

The M messages are split into k parts, one per tree, and part p goes down the x trees p, p+1, …, p+x-1 (cyclically), each
tree a pipeline. So every node hears every message over x trees, whether or not x divides k. Source: Fragopoulou & Akl,
sections 4.2 and 4.3, for x that divide k; the cyclic rule for the others is ours.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.built import Job
from treecast.plans.ways.trees.hops import ParentRule
from treecast.schedule import COLUMNS, Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet

Hop = tuple[int, int, int, int]
"""An arc of a tree at one node: source, destination, port, and the depth of the source."""


def streams(messages: int, trees: int, copies: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of chunks that each tree carries, in the order in which it carries them; [] for an idle tree.

    Part p is the chunks ⌊pM/k⌋ … ⌊(p+1)M/k⌋-1, so that any x parts in a row have at most ⌈Mx/k⌉ chunks.

    Four trees and two copies, parts of M chunks by tree:

        tree 0   part 3, part 0        runs [(3M/4, M), (0, M/4)]
        tree 1   part 0, part 1        one run, as they follow each other
        tree 2   part 1, part 2
        tree 3   part 2, part 3
    """
    if not trees:
        return []
    cuts = [part * messages // trees for part in range(trees + 1)]
    if copies == trees:
        return [[(0, messages)]] * trees
    carried: list[list[tuple[int, int]]] = []
    for tree in range(trees):
        first = tree - copies + 1  # of the parts that it carries
        runs = [(cuts[max(first, 0)], cuts[tree + 1])]
        if first < 0:
            runs.insert(0, (cuts[first + trees], messages))  # parts from the end, cyclically
        carried.append([(a, b) for a, b in runs if a < b])
    return carried


def claims(job: Job[Network], trees: int, depth: int) -> Claims:
    """Return ⌈Mx/k⌉ + depth - 1 steps and Mx(N-1) transmissions of a broadcast over k ``trees``."""
    if job.network.nodes == 1:
        return Claims(0, 0)
    messages = job.collective.messages * job.copies
    return Claims(-(-messages // trees) + depth - 1, messages * (job.network.nodes - 1))


def sends_of_streams(trees: TreeSet, carried: list[list[tuple[int, int]]]) -> int:
    """Return the transmissions of a broadcast down ``trees`` where each tree carries some ranges of chunks."""
    chunks = [sum(b - a for a, b in ranges) for ranges in carried]
    return int(sum(many * np.count_nonzero(parent >= 0) for many, parent in zip(chunks, trees.parent, strict=True)))


def uneven_streams(messages: int, copies: int, depths: Sequence[int]) -> tuple[int, list[list[tuple[int, int]]]]:
    """Return the fewest steps over trees that differ in depth, and the chunks of each tree then, as ``streams`` does.

    In T steps a tree of depth d carries min(M, T - d + 1) chunks. The trees fill a line of Mx chunks one after another, which is
    the M messages x times: as no tree carries more than M, none gets a message twice. Deep trees carry less.
    """
    total = messages * copies
    if total == 0 or not any(depths):
        return 0, [[] for _ in depths]

    def most(steps: int) -> list[int]:
        return [min(messages, max(0, steps - depth + 1)) for depth in depths]

    # 1. The fewest steps in which all trees together carry enough, by bisection.
    least, enough = 1, messages + max(depths)  # by then each tree has carried all
    while least < enough:
        middle = (least + enough) // 2
        least, enough = (least, middle) if sum(most(middle)) >= total else (middle + 1, enough)
    # 2. What is too much is taken from the deepest trees.
    carries = most(least)
    spare = sum(carries) - total
    for tree in sorted(range(len(depths)), key=lambda tree: -depths[tree]):
        less = min(spare, carries[tree])
        carries[tree], spare = carries[tree] - less, spare - less
    # 3. A line of all copies, cut for one tree after the other; it goes on from the last chunk to the first.
    carried, start = list[list[tuple[int, int]]](), 0
    for count in carries:
        stop = start + count
        runs = [(start, stop)] if stop <= messages else [(0, stop - messages), (start, messages)]
        carried.append([(a, b) for a, b in runs if a < b])
        start = stop % messages
    return least, carried


def rows_of_trees(trees: TreeSet, messages: int, copies: int) -> Rows:
    """Return the broadcast down ``trees``: one row per arc, which begins at the step that is the depth of its source."""
    return rows_of_streams(trees, streams(messages, len(trees), copies))


def rows_of_streams(trees: TreeSet, carried: list[list[tuple[int, int]]]) -> Rows:
    """Return the same where each tree carries some ranges of chunks."""
    table = [ranges for ranges in carried if ranges]
    used = np.array([tree for tree, ranges in enumerate(carried) if ranges], np.int64)
    payload, dst = np.nonzero(trees.parent[used] >= 0)
    tree = used[payload]
    return rows_into(trees, Payloads.of(table), tree, dst, trees.depths[tree, dst] - 1, payload=payload)


def rows_into(trees: TreeSet, table: Payloads, tree: Ints, node: Ints, step: ArrayLike, *, payload: Ints) -> Rows:
    """Return rows over the arcs into some nodes, each in a tree."""
    src, port = trees.parent[tree, node], trees.port[tree, node]
    return Rows.of(table, step=step, src=src, dst=node, port=port, tree=tree, payload=payload)


def hops_of(rules: ParentRule, network: Network, node: int, root: int) -> Callable[[int], Iterator[Hop]]:
    """Return the function that yields the arcs of a tree at one node, from the node's label alone."""

    def hops(tree: int) -> Iterator[Hop]:
        depth = rules.depth_of(network, node, tree, root)
        above = rules.parent(network, node, tree, root)
        if above is not None:
            yield above[0], node, above[1], depth - 1
        for child, port in rules.children(network, node, tree, root):
            yield node, child, port, depth

    return hops


def rows_at_node_of_streams(hops: Callable[[int], Iterator[Hop]], carried: list[list[tuple[int, int]]]) -> Rows:
    """Return the rows that one node sends or receives, from the hops that it has in each tree, and its chunks."""
    table = [ranges for ranges in carried if ranges]
    found: list[tuple[int, ...]] = []
    payload = 0
    for tree, ranges in enumerate(carried):
        if ranges:
            length = sum(b - a for a, b in ranges)
            found += [(depth, length, src, dst, port, tree, payload) for src, dst, port, depth in hops(tree)]
            payload += 1
    return Rows.of(Payloads.of(table), **columns_of(found))


def columns_of(rows: Sequence[tuple[int, ...]]) -> dict[str, Ints]:
    """Return the columns of rows that are given one by one."""
    return dict(zip(COLUMNS, np.array(rows, np.int64).reshape(-1, len(COLUMNS)).T, strict=True))
