"""The shape of shifted trees: at which steps one tree has how many nodes that pass on, and how positions make groups.

Communication model: one-port, full duplex.

x trees of one shape, tree c a step behind tree c - 1, repeat every x steps. Below the root lie n = N - 1 = xG + h positions,
where h < x.

- The root has one child, at step 0. G positions are *inner*: each has a child at each of the x steps behind its own. The h
  *fixed* ones have one child each. All others are leaves. That is one place more than needed, so a leaf is left out.
- The positions but the fixed ones make G groups of x, one inner position in each, whose steps add up to 0 modulo x. Then a group
  can be put in an order j = 0 … x - 1 in which all step_j - j differ modulo x (M. Hall 1952). In tree c node i of a group has
  its position i - c, modulo x, and a fixed node its own position. So a node is inner in one tree at most, receives in steps that
  differ modulo x, and hangs below a given fixed node in one tree at most. The ways of the trees share no node.

Inner positions come as early as there is room. That ends soonest, but for x = 2, where a group is two positions with steps of the
same parity: there each parity has as many inner positions as leaves.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_ORDERS = 20_000  # exchanges that are tried to put a group in order
_BULK = 4  # of the scarcest positions, one in so many goes into groups of one kind


@dataclass(frozen=True)
class ResidueGroups:
    """Groups of one kind: the residues of their steps modulo x, in order, which of these is the inner one, and how many."""

    residues: tuple[int, ...]
    inner: int
    count: int


@dataclass(frozen=True)
class TreeShape:
    """A tree by its steps, of which there are x = ``copies``.

    ``inner`` and ``leaves``: how many positions pass on, and how many do not, at each step. ``fixed``: the steps of each
    fixed position and of its leaf, which is among ``leaves``. ``groups``: those of all positions but the fixed ones.
    """

    copies: int
    inner: tuple[int, ...]
    leaves: tuple[int, ...]
    fixed: tuple[tuple[int, int], ...]
    groups: tuple[ResidueGroups, ...]

    @property
    def length(self) -> int:
        """The steps that all trees take with one chunk."""
        last = max(step for step in range(len(self.leaves)) if self.leaves[step] or self.inner[step])
        return max(last, *(leaf for _, leaf in self.fixed), 0) + self.copies


@lru_cache(1024)
def shape(others: int, copies: int) -> TreeShape | None:
    """Return the shape of x shifted trees of so many nodes below the root, x ≥ 2; None where none is found.

    >>> shape(63, 2).length, shape(63, 3).length
    (11, 11)
    """
    if copies > others:
        return None
    found: TreeShape | None = None
    for inner in _inner_by_step(others // copies, copies):
        for candidate in _filled(others, copies, inner):
            if found is not None and candidate.length >= found.length:
                continue
            groups = _groups(candidate)
            if groups is not None:
                found = TreeShape(copies, candidate.inner, candidate.leaves, candidate.fixed, groups)
    return found


def _inner_by_step(inner: int, copies: int) -> Iterator[list[int]]:
    """Yield how many inner positions there are at each step: as early as there is room, at most so many of each residue."""
    quotas = [[inner] * copies]
    if copies == 2:
        even = range(max(0, inner // 2 - 1), min(inner, inner // 2 + 2) + 1)
        quotas = [[many, inner - many] for many in even]
    for room in quotas:
        left, found = inner, list[int]()
        while left:
            step = len(found)
            slots = sum(found[max(0, step - copies) :]) if step else 1
            many = min(slots, left, room[step % copies])
            if not slots:
                break
            found.append(many)
            room[step % copies] -= many
            left -= many
        if not left:
            yield found


def _filled(others: int, copies: int, inner: list[int]) -> Iterator[TreeShape]:
    """Yield shapes with some inner positions, whose steps add up to 0 modulo x: those first that end a step sooner."""
    end = len(inner) - 1 + copies
    inner = inner + [0] * (end + 1 - len(inner))
    slots = [1] + [sum(inner[max(0, step - copies) : step]) for step in range(1, end + 1)]
    free = [many - taken for many, taken in zip(slots, inner, strict=True)]
    for drop in [1, 0] if free[end] == 1 else [0]:
        last = end - drop
        for fixed in _fixed(others % copies, free[:last], copies):
            leaves = list(free)
            for step, leaf in fixed:
                leaves[step] -= 1
                leaves[leaf] += 1
            spare = sum(step * (inner[step] + leaves[step]) for step in range(end + 1)) % copies
            where = [step for step in range(end, 0, -1) if leaves[step] and step % copies == spare]
            if not where or (drop and where[0] != end):
                continue
            leaves[where[0]] -= 1
            yield TreeShape(copies, tuple(inner), tuple(leaves), tuple(fixed), ())


def _fixed(count: int, free: list[int], copies: int) -> Iterator[list[tuple[int, int]]]:
    """Yield steps of some fixed positions, in places that are free, and of their leaves; ``free``: by step, but for the last."""
    last = len(free)
    if not count:
        yield []
    for begin in range(1, last if count else 0):
        places = [step for step in range(begin, last) for _ in range(min(free[step], count))][:count]
        if len(places) == count and places[0] == begin:
            for delay in range(1, min(copies, last - begin) + 1):
                yield [(step, step + (1 if number else delay)) for number, step in enumerate(places)]


def _groups(of: TreeShape) -> tuple[ResidueGroups, ...] | None:
    """Return groups of all positions but the fixed ones, in order; None where none are found."""
    copies = of.copies
    inner, leaves = [0] * copies, [0] * copies
    for step, (many, few) in enumerate(zip(of.inner, of.leaves, strict=True)):
        inner[step % copies] += many
        leaves[step % copies] += few
    orders = ([*range(first, copies), *range(first)] for first in range(copies))
    kinds = next((dealt for order in orders if (dealt := _deal(inner, leaves, order)) is not None), None)
    if kinds is None:
        return None
    found = list[ResidueGroups]()
    for (head, *rest), count in sorted(kinds.items()):
        order = _in_order((head, *rest))
        if order is None:
            return None
        found.append(ResidueGroups(tuple((head, *rest)[i] for i in order), order.index(0), count))
    return tuple(found)


def _deal(inner: list[int], leaves: list[int], order: list[int]) -> Counter[tuple[int, ...]] | None:
    """Return how many groups there are of each kind: the residue of the inner position, then those of x - 1 leaves, sorted.

    ``order``: the residues; of those of which there are as many the first is taken. None where some group does not come out.
    """
    inner, leaves, found = list(inner), list(leaves), Counter[tuple[int, ...]]()
    while any(inner):
        head = max(order, key=lambda a: inner[a])
        rest = _leaves_for(head, leaves, order)
        if rest is None:
            return None
        used = Counter(rest)
        count = min([inner[head], *(leaves[a] // times for a, times in used.items())])
        count = max(1, count // _BULK)
        found[head, *sorted(rest)] += count
        inner[head] -= count
        for a, times in used.items():
            leaves[a] -= times * count
    return found


def _leaves_for(head: int, leaves: list[int], order: list[int]) -> list[int] | None:
    """Return residues of x - 1 leaves that make up 0 with that of an inner position: of those of which there are most."""
    copies, left, rest = len(order), list(leaves), list[int]()
    for _ in range(copies - 3):
        most = max(order, key=lambda a: left[a])
        rest.append(most)
        left[most] -= 1
    need = -(head + sum(rest)) % copies
    if copies == 2:
        return [need] if left[need] else None
    pairs = [(a, (need - a) % copies) for a in order]
    last = max(pairs, key=lambda pair: min(left[pair[0]], left[pair[1]]) // (1 + (pair[0] == pair[1])))
    for a in last:
        left[a] -= 1
    return [*rest, *last] if min(left) >= 0 else None


def _in_order(residues: tuple[int, ...]) -> list[int] | None:
    """Return an order of residues that add up to 0 in which residue - place are all different modulo x (M. Hall 1952)."""
    copies, order, dice = len(residues), list(range(len(residues))), random.Random(0)
    times = [0] * copies  # how often each residue - place occurs
    for place, i in enumerate(order):
        times[(residues[i] - place) % copies] += 1

    def exchange(a: int, b: int) -> int:
        """Exchange two places, and return how many differences are missing then."""
        for place, other in ((a, b), (b, a)):
            times[(residues[order[place]] - place) % copies] -= 1
            times[(residues[order[place]] - other) % copies] += 1
        order[a], order[b] = order[b], order[a]
        return times.count(0)

    missing = times.count(0)
    for _ in range(_ORDERS if missing else 0):
        a, b = dice.randrange(copies), dice.randrange(copies)
        if (now := exchange(a, b)) > missing:
            exchange(a, b)
        elif not (missing := now):
            break
    return None if missing else order
