"""Statements about scatters, down trees and without buffers: Proposition 1, and that farthest destination first (FDF) is best.

Communication model: bufferless; N counts the nodes of a tree, the root among them.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product
from math import factorial

import numpy as np

from treecast.networks.core import Ints, ints
from treecast.papers.statement import Claims, Statements
from treecast.papers.trees.builders.one_tree import ORDERS
from treecast.papers.trees.cases import WeightedTree, random_cases, rooted_trees, tree_of
from treecast.papers.trees.gatherings import ends_earlier
from treecast.plans.lengths import lengths_of
from treecast.progress import report
from treecast.verification.verifier import verify

_PLANNED = 3  # random trees of each size

stated = Statements()
"""The statements of the paper on scatters."""


@stated("time", "of an order: all flits up to a message's last, + its distance - 1, at most", 2, 12, 40)
def _time(n: int) -> Claims:
    for case in random_cases(n, _PLANNED):
        for first in ORDERS:
            schedule = case.planned("scatterv", first=first)
            flits = case.flits[lengths_of(schedule.collective).sequence]
            depth = case.tree.depth[lengths_of(schedule.collective).sequence]
            time = int((np.cumsum(flits) + depth - 1)[flits > 0].max(initial=0))
            yield schedule.steps == time and verify(schedule), f"{first} first: {schedule.steps} steps, not {time}"
    yield True, f"{_PLANNED} trees, {len(ORDERS)} orders"


@stated("Proposition 1", "all orders: max(M, l + δ - 1) to M + max δ - 1, the worst does; lengths ≤ 3", 2, 6, 7)
def _proposition_1(n: int) -> Claims:
    """The formula is lost: M flits, messages of l flits at distance δ; the worst order takes the most that is said."""
    cases = reached = 0
    for depths, lengths in _cases(n):
        _, _, least, most = _brute(depths, lengths)
        depth = np.where(lengths > 0, ints(depths), 0)
        total, some = lengths.sum(axis=1), lengths.any(axis=1)
        low = np.maximum(total, np.where(lengths > 0, lengths + depth - 1, 0).max(axis=1))
        high = np.where(some, total + depth.max(axis=1) - 1, 0)
        yield not (least < low).any() and np.array_equal(most, high), f"distances {depths}"
        cases, reached = cases + len(lengths), reached + int((least == low).sum())
    yield True, f"{cases:,} cases, the least reached in {reached:,}"


def _brute(depths: Sequence[int], lengths: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return of cases (rows of ``lengths``) the least time of FDF orders and the most, then those of all orders."""
    depth, count = ints(depths), len(depths)
    orders = ints(list(permutations(range(count)))).reshape(-1, count)
    farthest = (np.diff(depth[orders], axis=1) <= 0).all(axis=1)
    flits = lengths[:, orders]
    # All orders at once: of each the flits before a message, its own, and the way.
    times = np.where(flits > 0, np.cumsum(flits, axis=2) + depth[orders] - 1, 0).max(axis=2, initial=0)
    fdf = times[:, farthest]
    return fdf.min(axis=1), fdf.max(axis=1), times.min(axis=1), times.max(axis=1)


def _all_lengths(depths: Sequence[int], most: int) -> Ints:
    """Return all lengths up to ``most``, up to exchange of nodes of one depth; ``depths`` in order: int64 (cases, nodes)."""
    groups = [depths.count(depth) for depth in sorted(set(depths))]
    found = product(*(combinations_with_replacement(range(most + 1), size) for size in groups))
    return ints([[length for part in case for length in part] for case in found]).reshape(-1, len(depths))


def _cases(n: int) -> Iterator[tuple[list[int], Ints]]:
    """Yield the distances in trees of n nodes, each sequence once, and all lengths up to 3, some at a time."""
    profiles = sorted({tuple(sorted(tree_of(tree).depth[1:].tolist())) for tree in rooted_trees(n)})
    for done, depths in enumerate(profiles):
        lengths = _all_lengths(depths, 3)
        for part in np.array_split(lengths, len(lengths) // 64 + 1):
            yield list(depths), part
        report(done + 1, len(profiles), "profiles")


@stated("Theorem 1", "FDF, ties in any order, is the best order; all trees, lengths ≤ 3", 2, 6, 7)
def _theorem_1(n: int) -> Claims:
    cases = 0
    for depths, lengths in _cases(n):
        good, bad, least, _ = _brute(depths, lengths)
        yield np.array_equal(least, good) and np.array_equal(least, bad), f"distances {depths}"
        cases += len(lengths)
    yield True, f"{cases:,} cases of {len(rooted_trees(n))} trees, {factorial(n - 1)} orders each"


@stated("… with gaps", "… and no start times are better; all trees, lengths ≤ 2", 2, 4, 5)
def _start_times(n: int) -> Claims:
    """Without taking for granted that there are no gaps: any steps in which messages may begin to leave the root."""
    cases = 0
    for parents in rooted_trees(n):
        for lengths in product(range(3), repeat=n - 1):
            schedule = WeightedTree(tree_of(parents), ints([0, *lengths])).planned("scatterv", builder="farthest-first")
            yield not ends_earlier(parents, (0, *lengths), schedule.steps) and verify(schedule), f"{parents}, {lengths}"
            cases += 1
    yield True, f"{cases:,} cases"


@stated("… any size", "… and meets a bound of every scatter; random trees, lengths ≤ 9", 2, 12, 40)
def _of_any_size(n: int) -> Claims:
    """The flits for nodes at distance D or more leave the root one by one, and the last of them has D arcs to go."""
    for case in random_cases(n, _PLANNED):
        schedule = case.planned("scatterv", builder="farthest-first")
        beyond = [(int(case.flits[case.tree.depth >= far].sum()), far) for far in range(1, case.tree.height + 1)]
        least = max((flits + far - 1 for flits, far in beyond if flits), default=0)
        yield schedule.steps == least and verify(schedule), f"{schedule.steps} steps, at least {least}"
    yield True, f"{_PLANNED} trees, no scatter takes less"


@stated("… multi-port", "FDF in each branch of the root is the best; all trees", 2, 5, 6)
def _multiport(n: int) -> Claims:
    said = 0
    for parents in rooted_trees(n):
        rng = np.random.default_rng(n)
        for _ in range(2):
            flits = rng.integers(0, 4, n)
            flits[0] = 0
            tree = tree_of(parents)
            branches = [np.flatnonzero(tree.branch == child) for child in set(tree.branch[1:].tolist())]
            least = max(int(_brute(tree.depth[mine].tolist(), flits[None, mine])[2][0]) for mine in branches)
            schedule = WeightedTree(tree, flits).planned("scatterv", "bufferless-multiport", builder="farthest-first")
            yield schedule.steps == least and verify(schedule), f"{parents}, {flits.tolist()}"
            said += 1
    yield True, f"{said} cases"
