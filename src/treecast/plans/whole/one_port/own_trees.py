"""Shifted trees from their shape: the arcs at all positions of a tree, or at those of one node, however many there are.

Positions are numbered: the inner ones by their steps, then the leaves by theirs, then the fixed ones.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from treecast.networks.core import Ints
from treecast.plans.whole.one_port.shape import Shape


class Arc(NamedTuple):
    """A send of the first chunk: its tree, step, and ends, counted from the root."""

    tree: int
    step: int
    source: int
    target: int


def arcs_of(of: Shape, node: int) -> list[Arc]:
    """Return the arcs of shifted trees that lead to or from a node, counted from the root.

    >>> from treecast.plans.whole.one_port.shape import shape
    >>> for arc in arcs_of(shape(7, 2), 2):
    ...     print(*arc)
    0 4 3 2
    1 1 0 2
    1 2 2 6
    1 3 2 4
    """
    tree, arcs = Positions(of), list[Arc]()
    for copy in range(of.copies):
        here = [0]
        if node:
            own = tree.position(node, copy)
            here = [own, *tree.children(own)]
        columns = (column.tolist() for column in tree.sends(np.array(here), copy))
        arcs += [Arc(copy, *each) for each in zip(*columns, strict=True)]
    return arcs


class Positions:
    """The positions of a shape by number, without a table of them: inner ones are of pool 0, leaves of pool 1."""

    def __init__(self, of: Shape) -> None:
        self._of, self._x = of, of.copies
        self._many = np.array([of.inner, of.leaves], np.int64)
        self._start: Ints = np.pad(self._many.cumsum(axis=1), ((0, 0), (1, 0)))
        self._passing, self._grouped = int(self._start[0, -1]), int(self._start[:, -1].sum())
        self.count = self._grouped + len(of.fixed)
        steps = self._many.shape[1]
        periods: Ints = np.pad(self._many, ((0, 0), (0, -steps % self._x))).reshape(2, -1, self._x)
        self._before: Ints = (periods.cumsum(axis=1) - periods).reshape(
            2, -1
        )  # positions of earlier steps of the same residue
        self._segments = self._by_residue()

    def _by_residue(self) -> dict[tuple[int, int], Ints]:
        """Return where kinds of groups begin among positions of a pool and residue, their first group, and the place in it."""
        found, used, begun = dict[tuple[int, int], list[tuple[int, int, int]]](), Counter[tuple[int, int]](), 0
        for kind in self._of.groups:
            for j, residue in enumerate(kind.residues):
                key = int(j != kind.inner), residue
                found.setdefault(key, []).append((used[key], begun, j))
                used[key] += kind.count
            begun += kind.count
        return {key: np.array(segments, np.int64) for key, segments in found.items()}

    def sends(self, position: Ints, tree: int) -> tuple[Ints, Ints, Ints]:
        """Return the step, source and target of the arcs that lead to some positions in a tree."""
        above = self._parent(position)
        source = np.where(above < 0, 0, self._node(np.maximum(above, 0), tree))
        return self._step(position) + tree, source, self._node(position, tree)

    def _step(self, position: Ints) -> Ints:
        """Return the steps of positions."""
        inner = np.searchsorted(self._start[0], position, "right") - 1
        leaf = np.searchsorted(self._start[1], position - self._passing, "right") - 1
        step = np.where(position < self._passing, inner, leaf)
        late = position >= self._grouped
        step[late] = [self._of.fixed[place][0] for place in (position[late] - self._grouped).tolist()]
        return step

    def _parent(self, position: Ints) -> Ints:
        """Return the positions above others, -1 for the root: at a step inner ones hang first, then leaves, then fixed ones."""
        step, fixed = self._step(position), self._of.fixed
        held = {now: self._held(now) for _, now in fixed}
        free = self._many[1, step] - np.array([len(held.get(now, ())) for now in range(self._many.shape[1])])[step]
        among = np.array(
            [sum(f == begins for f, _ in fixed[:i]) for i, (begins, _) in enumerate(fixed)] or [0], np.int64
        )
        last = self._many[0, step] + free + among[np.maximum(0, position - self._grouped)]
        leaf = self._many[0, step] + position - self._passing - self._start[1, step]
        rank = position - self._start[0, step]
        rank[position >= self._passing] = leaf[position >= self._passing]
        rank[position >= self._grouped] = last[position >= self._grouped]
        above = self._start[0, np.maximum(0, step - self._x)] + rank
        for now, places in held.items():  # the last leaves of a step hang below fixed positions
            after = self._passing + int(self._start[1, now + 1]) - len(places) if places else 0
            for i, place in enumerate(places):
                above[position == after + i] = self._grouped + place
        above[step == 0] = -1
        return above

    def children(self, position: int) -> list[int]:
        """Return the positions below another, in the order of their steps."""
        if position >= self._grouped:
            place = position - self._grouped
            step = self._of.fixed[place][1]
            held = self._held(step)
            after = self._passing + int(self._start[1, step + 1]) - len(held) if held else 0
            return [after + held.index(place)] if place in held else []
        if position >= self._passing:
            return []
        own, found = int(self._step(np.array([position]))[0]), list[int]()
        for step in range(own + 1, min(own + self._x + 1, self._many.shape[1])):
            rank, inner = position - int(self._start[0, max(0, step - self._x)]), self._of.inner[step]
            free = self._of.leaves[step] - len(self._held(step))
            fixed = [place for place, (begins, _) in enumerate(self._of.fixed) if begins == step]
            if rank < inner:
                found.append(int(self._start[0, step]) + rank)
            elif rank < inner + free:
                found.append(self._passing + int(self._start[1, step]) + rank - inner)
            elif rank < inner + free + len(fixed):
                found.append(self._grouped + fixed[rank - inner - free])
        return found

    def _held(self, step: int) -> list[int]:
        """Return the fixed positions whose leaf is among the last of a step: one leaf for which there is room is left out."""
        room = self._of.leaves[step] if step < len(self._of.leaves) else 0
        return [place for place, (_, leaf) in enumerate(self._of.fixed) if leaf == step][:room]

    # -- nodes in positions ------------------------------------------------------------------------------------------

    def position(self, node: int, tree: int) -> int:
        """Return the position of a node in a tree."""
        group, place = divmod(node - 1, self._x)
        if group >= self._passing:
            return self._grouped + node - 1 - self._passing * self._x
        place = (place - tree) % self._x
        used = Counter[tuple[int, int]]()
        for kind in self._of.groups:
            for j, residue in enumerate(kind.residues):
                pool = int(j != kind.inner)
                if j == place and group < kind.count:
                    return pool * self._passing + self._nth(pool, residue, used[pool, residue] + group)
                used[pool, residue] += kind.count
            group -= kind.count
        raise IndexError(node)

    def _nth(self, pool: int, residue: int, count: int) -> int:
        """Return the position number ``count`` of those of a pool whose step has a residue, in the pool."""
        before = self._before[pool, residue : self._many.shape[1] : self._x]
        step = residue + self._x * (int(np.searchsorted(before, count, "right")) - 1)
        return int(self._start[pool, step]) + count - int(self._before[pool, step])

    def _node(self, position: Ints, tree: int) -> Ints:
        """Return the nodes that have some positions in a tree."""
        step, pool = self._step(position), (position >= self._passing).astype(np.int64)
        found = 1 + self._passing * self._x + position - self._grouped
        for (kind, residue), segments in self._segments.items():
            lowest, begun, j = segments[:, 0], segments[:, 1], segments[:, 2]
            mine = np.flatnonzero((pool == kind) & (step % self._x == residue) & (position < self._grouped))
            now, place = step[mine], position[mine] - kind * self._passing
            rank = self._before[kind, now] + place - self._start[kind, now]
            at: Ints = np.searchsorted(lowest, np.asarray(rank, np.int64), "right") - 1
            found[mine] = 1 + (begun[at] + rank - lowest[at]) * self._x + (j[at] + tree) % self._x
        return found
