"""Shifted trees from their shape: the arcs at all positions of a tree, or at those of one node, however many there are.

Positions are numbered: the inner ones by their steps, then the leaves by theirs, then the fixed ones.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from treecast.networks.core import Ints
from treecast.plans.whole.one_port.shape import TreeShape


class TreeArcs(NamedTuple):
    """Sends of the first chunk: their trees, steps and ends, int64 of one length each; nodes count from the root."""

    tree: Ints
    step: Ints
    source: Ints
    target: Ints


@lru_cache(4)
def arcs_of(of: TreeShape, node: int | None = None) -> TreeArcs:
    """Return the arcs of shifted trees, those of one tree behind those of another, or those that lead to or from one node.

    >>> from treecast.plans.whole.one_port.shape import shape
    >>> for arc in zip(*arcs_of(shape(7, 2), 2)):
    ...     print(*arc)
    0 4 3 2
    1 1 0 2
    1 2 2 6
    1 3 2 4
    """
    places, found = _Positions(of), list[Ints]()
    for tree in range(of.copies):
        position = np.arange(places.count if node is None else 1)
        if node:
            own = places.position(node, tree)
            position = np.append(own, places.children(own))
        found.append(np.stack([np.full_like(position, tree), *places.sends(position, tree)]))
    return TreeArcs(*np.concatenate(found, axis=1))


class _Positions:
    """The positions of a shape by number, without a table of them: of runs, each of positions that are alike in a row.

    A *hang* is a run of one step below positions in a row: its first position, the first above, how many, the step. A *seat* is
    one of nodes at one place of groups in a row: its first position, the first group, how many, the place.
    """

    def __init__(self, of: TreeShape) -> None:
        self._x, self._passing = of.copies, sum(of.inner)
        self._grouped = self._passing + sum(of.leaves)
        self.count = self._grouped + len(of.fixed)
        self._hangs, self._seats = _sorted(self._hanging(of)), _sorted(self._seated(of))

    def _hanging(self, of: TreeShape) -> Iterator[tuple[int, int, int, int]]:
        """Yield the hangs: at a step inner positions come first, then leaves, then fixed ones; last the leaves of fixed ones."""
        start: list[int] = [0, *np.cumsum(of.inner).tolist()]
        leaf = self._passing
        for step, (inner, leaves) in enumerate(zip(of.inner, of.leaves, strict=True)):
            above = start[max(0, step - self._x)] if step else -1  # of the root there is no position
            held = [place for place, (_, then) in enumerate(of.fixed) if then == step][:leaves]  # one may be left out
            free = leaves - len(held)
            yield start[step], above, inner, step
            yield leaf, above + inner, free, step
            late = [place for place, (begins, _) in enumerate(of.fixed) if begins == step]
            for i, place in enumerate(late):
                yield self._grouped + place, above + inner + free + i, 1, step
            for i, place in enumerate(held):
                yield leaf + free + i, self._grouped + place, 1, step
            leaf += leaves

    def _seated(self, of: TreeShape) -> Iterator[tuple[int, int, int, int]]:
        """Yield the seats: groups take the positions of a residue in order."""
        free = dict[tuple[int, int], list[tuple[int, int]]]()
        for pool, (many, position) in enumerate(((of.inner, 0), (of.leaves, self._passing))):
            for step, count in enumerate(many):
                free.setdefault((pool, step % self._x), []).insert(0, (position, count))
                position += count
        group = 0
        for kind in of.groups:
            for place, residue in enumerate(kind.residues):
                begun, left = group, kind.count
                while left:
                    position, count = free[int(place != kind.inner), residue].pop()
                    taken = min(left, count)
                    yield position, begun, taken, place
                    begun, left = begun + taken, left - taken
                    if count > taken:
                        free[int(place != kind.inner), residue].append((position + taken, count - taken))
            group += kind.count

    def sends(self, position: Ints, tree: int) -> tuple[Ints, Ints, Ints]:
        """Return the step, source and target of the arcs that lead to some positions in a tree."""
        first, above, _, step = self._hangs[:, _run(self._hangs, position)]
        above = above + position - first
        source = np.where(above < 0, 0, self._node(np.maximum(above, 0), tree))
        return step + tree, source, self._node(position, tree)

    def children(self, position: int) -> Ints:
        """Return the positions below another, in the order of their steps."""
        first, above, count, step = self._hangs
        below = np.flatnonzero((above <= position) & (position < above + count))
        below = below[np.argsort(step[below], kind="stable")]
        return (first + position - above)[below]

    def position(self, node: int, tree: int) -> int:
        """Return the position of a node in a tree."""
        group, place = divmod(node - 1, self._x)
        if group >= self._passing:
            return self._grouped + node - 1 - self._passing * self._x
        first, begun, count, mine = self._seats
        (seat,) = np.flatnonzero((mine == (place - tree) % self._x) & (begun <= group) & (group < begun + count))
        return int(first[seat] + group - begun[seat])

    def _node(self, position: Ints, tree: int) -> Ints:
        """Return the nodes that have some positions in a tree."""
        first, begun, _, place = self._seats[:, _run(self._seats, position)]
        seated = 1 + (begun + position - first) * self._x + (place + tree) % self._x
        return np.where(position < self._grouped, seated, 1 + self._passing * self._x + position - self._grouped)


def _sorted(runs: Iterator[tuple[int, int, int, int]]) -> Ints:
    """Return the runs that are not empty, by their first positions: int64 (4, runs)."""
    return np.array(sorted(run for run in runs if run[2]), np.int64).T


def _run(runs: Ints, position: Ints) -> Ints:
    """Return the run of each of some positions."""
    return np.searchsorted(runs[0], position, "right") - 1
