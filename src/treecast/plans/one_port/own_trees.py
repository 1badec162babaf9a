"""What one node does in shifted trees, from its label and the shape alone.

``shifted_trees`` numbers the positions of the shape: the inner ones by their steps, then the leaves by theirs, then the fixed
ones. All that is counted there for all positions is counted here for those of one node.
"""

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import NamedTuple

from treecast.plans.one_port.shape import Shape


class Arc(NamedTuple):
    """A send of the first chunk: its tree, step, and ends, counted from the root."""

    tree: int
    step: int
    source: int
    target: int


def arcs_of(of: Shape, node: int) -> list[Arc]:
    """Return the arcs of shifted trees that lead to or from a node, counted from the root.

    Examples
    --------
    >>> from treecast.plans.one_port.shape import shape
    >>> for arc in arcs_of(shape(7, 2), 2):
    ...     print(*arc)
    0 4 3 2
    1 1 0 2
    1 2 2 6
    1 3 2 4
    """
    tree, arcs = _Positions(of), list[Arc]()
    for copy in range(of.copies):
        if node == 0:
            arcs.append(Arc(copy, copy, 0, tree.node(0, copy)))
            continue
        position = tree.position(node, copy)
        above = tree.parent(position)
        arcs.append(Arc(copy, tree.step(position) + copy, 0 if above < 0 else tree.node(above, copy), node))
        arcs += [Arc(copy, tree.step(each) + copy, node, tree.node(each, copy)) for each in tree.children(position)]
    return arcs


class _Positions:
    """The positions of a shape by number, without a table of them."""

    def __init__(self, of: Shape) -> None:
        self._of, self._x = of, of.copies
        self._many = (of.inner, of.leaves)
        self._start = [[0, *accumulate(many)] for many in self._many]
        self._passing, self._leaves = self._start[0][-1], self._start[1][-1]
        self._grouped = self._passing + self._leaves

    def step(self, position: int) -> int:
        """Return the step of a position."""
        if position >= self._grouped:
            return self._of.fixed[position - self._grouped][0]
        pool = int(position >= self._passing)
        return bisect_right(self._start[pool], position - pool * self._passing) - 1

    def parent(self, position: int) -> int:
        """Return the position above another, -1 for the root."""
        step = self.step(position)
        if not step:
            return -1
        held = self._held(step)
        if position >= self._grouped:
            rank = sum(f == step for f, _ in self._of.fixed[: position - self._grouped])
            return self._first(step) + self._of.inner[step] + self._of.leaves[step] - len(held) + rank
        if position < self._passing:
            return self._first(step) + position - self._start[0][step]
        rank = position - self._passing - self._start[1][step]
        free = self._of.leaves[step] - len(held)
        if rank >= free:
            return self._grouped + held[rank - free]
        return self._first(step) + self._of.inner[step] + rank

    def children(self, position: int) -> list[int]:
        """Return the positions below another, in the order of their steps."""
        if position >= self._grouped:
            place = position - self._grouped
            step = self._of.fixed[place][1]
            held = self._held(step) if step < len(self._of.leaves) else []
            after = self._passing + self._start[1][step + 1] - len(held) if held else 0
            return [after + held.index(place)] if place in held else []
        if position >= self._passing:
            return []
        own, found = self.step(position), list[int]()
        for step in range(own + 1, min(own + self._x + 1, len(self._of.inner))):
            rank, inner = position - self._first(step), self._of.inner[step]
            free = self._of.leaves[step] - len(self._held(step))
            fixed = [place for place, (begins, _) in enumerate(self._of.fixed) if begins == step]
            if rank < inner:
                found.append(self._start[0][step] + rank)
            elif rank < inner + free:
                found.append(self._passing + self._start[1][step] + rank - inner)
            elif rank < inner + free + len(fixed):
                found.append(self._grouped + fixed[rank - inner - free])
        return found

    def _first(self, step: int) -> int:
        """Return the first inner position that has a child at a step."""
        return self._start[0][max(0, step - self._x)]

    def _held(self, step: int) -> list[int]:
        """Return the fixed positions whose leaf is among the last of a step: one leaf for which there is room is left out."""
        return [place for place, (_, leaf) in enumerate(self._of.fixed) if leaf == step][: self._of.leaves[step]]

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

    def node(self, position: int, tree: int) -> int:
        """Return the node that has a position in a tree."""
        if position >= self._grouped:
            return 1 + self._passing * self._x + position - self._grouped
        pool, residue = int(position >= self._passing), self.step(position) % self._x
        left, begun = self._rank(pool, residue, position - pool * self._passing), 0
        for kind in self._of.groups:
            for j, each in enumerate(kind.residues):
                if each == residue and int(j != kind.inner) == pool:
                    if left < kind.count:
                        return 1 + (begun + left) * self._x + (j + tree) % self._x
                    left -= kind.count
            begun += kind.count
        raise IndexError(position)

    def _nth(self, pool: int, residue: int, count: int) -> int:
        """Return the position number ``count`` of those of a pool whose step has a residue, in the pool."""
        for step in range(residue, len(self._many[pool]), self._x):
            if count < self._many[pool][step]:
                return self._start[pool][step] + count
            count -= self._many[pool][step]
        raise IndexError(count)

    def _rank(self, pool: int, residue: int, position: int) -> int:
        """Return how many positions of a pool before another have that residue."""
        steps = range(residue, len(self._many[pool]), self._x)
        return sum(min(self._many[pool][step], max(0, position - self._start[pool][step])) for step in steps)
