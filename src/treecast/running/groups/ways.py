"""The few ranks that each of many has connections to: a circulant graph, and in it a tree to any rank from all others.

Every rank has the next ``survive // 2 + 1`` that live on either side, so that ``survive + 1`` ways without a common rank lead
from any to any, and those some powers of a number away, so that few steps do. Who is out leaves a gap that its neighbours
close; nobody else gets another neighbour. Sources: the ways are those of Harary's graph (1962); numbers in a base with signed
digits give the steps, as in the circulant graphs of Träff (2023).
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache

WIDE = 64
"""Ranks up to which each has a connection to all others."""
# Twelve neighbours: few connections, and any of 1,024 ranks is a few steps away.
_SIDE = 6  # neighbours on either side, if survive asks for no more
_LEAST = 2  # of them further away


class LivingGraph:
    """The graph of the ``living``, of ``size`` ranks; up to ``WIDE`` of them are all neighbours, unless ``is_wide``."""

    def __init__(self, living: Sequence[int], size: int, survive: int, is_wide: bool) -> None:
        self.living, self.size, self.is_wide = living, size, is_wide
        self._place = {rank: place for place, rank in enumerate(living)}
        self._near = survive // 2 + 1
        far = max(_SIDE - self._near, _LEAST)
        # Between the near ones and the whole circle, in equal ratios: each step leaves about the same share of the
        # way.
        steps = (self._near * (size / self._near) ** (k / (far + 1)) for k in range(1, far + 1))
        self._skips = sorted({*range(1, self._near + 1), *map(round, steps)})
        self._below = dict[tuple[int, int], list[int]]()

    def neighbours(self, rank: int) -> list[int]:
        """Return the neighbours of a rank that lives, in ascending order."""
        if not self.is_wide:
            return [other for other in self.living if other != rank]  # all of them, while there are few
        here, count = self._place[rank], len(self.living)
        # The near ones are counted among the living, so they close gaps. The far ones are counted among all ranks,
        # and one that is gone is left out: so a death changes the neighbours of few.
        near = {self.living[(here + k) % count] for k in range(-self._near, self._near + 1)}
        far = {(rank + sign * skip) % self.size for skip in self._skips for sign in (-1, 1)}
        return sorted((near | far & self._all) - {rank})

    @cached_property
    def _all(self) -> frozenset[int]:
        return frozenset(self.living)

    def above(self, rank: int, root: int) -> int:
        """Return the neighbour that is next on the way to the root."""
        if not self.is_wide:
            return root
        half = self.size // 2  # the shorter way round
        ahead = (root - rank + half) % self.size - half  # how far the root is, and on which side
        sign, away = (1 if ahead > 0 else -1), abs(ahead)
        # The skip that comes closest to the root, and does not go past it by more than is left: so each step comes
        # nearer, and the ways of all ranks make a tree.
        for skip in sorted(self._skips, key=lambda skip: abs(away - skip)):
            if skip < 2 * away and (other := (rank + sign * skip) % self.size) in self._place:
                return other
        # All far ones are gone: the next that lives, on the side of the root.
        return self.living[(self._place[rank] + sign) % len(self.living)]

    def below(self, rank: int, root: int) -> list[int]:
        """Return the neighbours whose way to the root leads over a rank."""
        if not self.is_wide:
            return self.neighbours(rank) if rank == root else []
        if (rank, root) not in self._below:
            near = self.neighbours(rank)
            self._below[rank, root] = [other for other in near if other != root and self.above(other, root) == rank]
        return self._below[rank, root]

    def under(self, rank: int, root: int) -> list[int]:
        """Return a rank, and all whose way to the root leads over it: each of those below with who is under it."""
        found, left = list[int](), [rank]
        while left:
            found.append(one := left.pop())
            left += reversed(self.below(one, root))
        return found


@lru_cache(1 << 7)
def ways_of(living: tuple[int, ...], size: int, survive: int = 1, is_wide: bool | None = None) -> LivingGraph:
    """Return the graph of those that live, of so many ranks.

    >>> ways_of(tuple(range(1024)), 1024).neighbours(0)
    [1, 3, 10, 32, 102, 323, 701, 922, 992, 1014, 1021, 1023]
    """
    return LivingGraph(living, size, survive, size > WIDE if is_wide is None else is_wide)
