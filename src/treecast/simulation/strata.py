"""The elements that can fail, each by itself with its probability; and the sets of faults, divided by how many there are.

All sets with the same number of faults of each kind form a *stratum*. How likely a stratum is follows from the probabilities.
Where the elements of a kind are equally likely to fail, so are its sets, and how many of them do harm holds for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, exp, isfinite, lgamma, log, log1p, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.description import count_of
from treecast.errors import FaultError
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.fault_sets import FaultSets, Kind, draw_sets, sets_in_order

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-30  # numbers of faults less likely than this are in the tail

Faulty = tuple[int, ...]
"""How many elements of each group fail."""
Chance = float | Mapping[Any, float]
"""How likely each element of a kind is to fail: one probability for all, or one for each node."""


@dataclass(frozen=True, eq=False)
class FaultGroup:
    """The elements of one ``kind`` that can fail, numbered from 0, and how likely each is to: float64 (elements,)."""

    kind: Kind
    probability: Floats

    def __len__(self) -> int:
        return len(self.probability)

    @cached_property
    def alike(self) -> bool:
        """Whether all are equally likely to fail."""
        return bool((self.probability == self.probability[0]).all())

    def describe(self) -> str:
        """Return how many they are and how likely to fail."""
        low, high = float(self.probability.min()), float(self.probability.max())
        likely = f"{low:g}" if self.alike else f"{low:g} to {high:g}"
        return f"{count_of(len(self), self.kind[:-1])}, each with probability {likely}"

    def times(self, factor: float) -> "FaultGroup":
        """Return the group with all probabilities multiplied, up to 1."""
        return FaultGroup(self.kind, np.minimum(1.0, self.probability * factor))

    @cached_property
    def sizes(self) -> Floats:
        """How likely so many of them fail: float64 (elements + 1,)."""
        n = len(self)
        if self.alike and 0 < (p := float(self.probability[0])) < 1:
            # by logarithms, as the factors alone are too large and too small for floats
            logs = (
                lgamma(n + 1) - lgamma(s + 1) - lgamma(n - s + 1) + s * log(p) + (n - s) * log1p(-p)
                for s in range(n + 1)
            )
            found: Floats = np.array([exp(one) for one in logs])
            return found
        return self._after(n)[0].copy()

    def _after(self, most: int) -> Floats:
        """Return how likely s of the elements e, e+1, … fail, up to ``most``: float64 (1 or elements + 1, most + 1).

        Only the first row where ``most`` is all of them, as the other rows would take too much memory.
        """
        n, whole = len(self), most == len(self)
        table = np.zeros((1 if whole else n + 1, most + 1))
        row = table[-1]
        row[0] = 1.0  # behind the last element none fail
        # a row for e + 1 becomes that for e: either element e does not fail, or it does and one fewer behind it
        for e in range(n - 1, -1, -1):
            p = self.probability[e]
            grown = row * (1 - p)
            grown[1:] += row[:-1] * p
            row = table[0 if whole else e]
            row[:] = grown
        return table

    def weigh(self, sets: Ints) -> Floats:
        """Return how likely each set of a size is among all sets of that size: float64 (sets,)."""
        count, size = sets.shape
        if self.alike:
            return np.ones(count) / comb(len(self), size)
        p, certain = self.probability, self.probability == 1
        free = ~certain
        # p / (1 - p) for each that fails, times 1 - p for all: by logarithms
        ratio, rest = np.zeros(len(self)), float(np.log1p(-p[free]).sum())
        ratio[free] = np.log(p[free]) - np.log1p(-p[free])
        weights = np.exp(ratio[sets].sum(axis=1) + rest - log(self.sizes[size]))
        # what fails for certain is in every set
        return np.where(certain[sets].sum(axis=1) == certain.sum(), weights, 0.0)

    def draw(self, random: np.random.Generator, count: int, size: int) -> Ints:
        """Return random sets of a size, each as likely as it is among all of that size: int64 (count, size)."""
        if self.alike:
            return draw_sets(random, len(self), count, size)
        if size == len(self):
            return np.tile(np.arange(size), (count, 1))
        after, left = self._after(size), np.full(count, size)
        sets = np.empty((count, size), np.int64)
        for e, p in enumerate(self.probability.tolist()):
            # element by element: chosen as often as it is among sets with so many left to choose
            fewer = np.maximum(left - 1, 0)
            # given how many are left, so that each set is drawn as often as it is likely
            chosen = (left > 0) & (random.random(count) * after[e, left] < p * after[e + 1, fewer])
            sets[chosen, size - left[chosen]] = e
            left -= chosen
        return sets


class Stratum(NamedTuple):
    """All sets of so many faults of each group: how likely it is that such a set fails, and how many there are."""

    faults: Faulty
    weight: float
    sets: int

    @property
    def log_likely(self) -> float:
        """The logarithm of how likely its sets are on average."""
        return log(self.weight) - log(self.sets)


@dataclass(frozen=True, eq=False)
class Elements:
    """All that can fail, as arrays for replays, group behind group; ``node`` and ``arcs`` are those of FaultSets."""

    groups: tuple[FaultGroup, ...]
    node: Ints
    arcs: Ints

    def strata(self) -> tuple[list[Stratum], float]:
        """Return all strata that are not negligible, and how likely all others are together, rounded up."""
        grid, lost, firsts = _grid(self.groups)
        strata = list[Stratum]()
        for place in np.argwhere(grid > 0).tolist():
            faults = tuple(first + i for first, i in zip(firsts, place, strict=True))
            sets = prod(comb(len(group), s) for group, s in zip(self.groups, faults, strict=True))
            strata.append(Stratum(faults, float(grid[tuple(place)]), sets))
        return strata, lost

    def sets(self, faults: Faulty, start: int, stop: int) -> tuple[Ints, Floats]:
        """Return the sets number ``start … stop-1`` of a stratum, and how likely each of them is within it."""
        rank = np.arange(start, stop)
        columns, weights = list[Ints](), np.ones(stop - start)
        within = prod(comb(len(group), size) for group, size in zip(self.groups, faults, strict=True))
        before = 0
        # a number for all groups is one of each, like digits
        for group, size in zip(self.groups, faults, strict=True):
            # so many sets of the groups behind
            within //= comb(len(group), size)
            own = rank // within % comb(len(group), size)
            low = int(own.min())
            # only the sets between the least and the greatest number
            sets = sets_in_order(len(group), low, int(own.max()) + 1, size)[own - low]
            columns.append(sets + before)
            weights *= group.weigh(sets)
            before += len(group)
        return np.concatenate(columns, axis=1), weights

    def draw(self, random: np.random.Generator, faults: Faulty, count: int) -> Ints:
        """Return random sets of a stratum, each as likely as it is within it: int64 (count, size)."""
        columns, before = list[Ints](), 0
        for group, size in zip(self.groups, faults, strict=True):
            columns.append(group.draw(random, count, size) + before)
            before += len(group)
        return np.concatenate(columns, axis=1)


def elements_of(schedule: Schedule, chances: Mapping[Kind, Chance]) -> Elements:
    """Return the elements that can fail under a schedule, by their kinds and probabilities. The root is not among them.

    Raises FaultError for a number that is no probability, and when nothing can fail.
    """
    groups, nodes, arcs = list[FaultGroup](), list[Ints](), list[Ints]()
    for kind, chance in chances.items():
        found = FaultSets(schedule, kind)
        probability = _probabilities(schedule, found, kind, chance)
        can = probability > 0
        if can.any():
            groups.append(FaultGroup(kind, probability[can]))
            nodes.append(found.node[can])
            arcs.append(found.arcs[can])
    if not groups:
        raise FaultError("nothing can fail: give nodes, links or arcs a probability above 0, as in --node-failure 0.01")
    return Elements(tuple(groups), np.concatenate(nodes), np.concatenate(arcs))


def _probabilities(schedule: Schedule, found: FaultSets, kind: Kind, chance: Chance) -> Floats:
    if not isinstance(chance, Mapping):
        return np.full(found.elements, check_probability(chance, f"all {kind}"))
    if kind != "nodes":
        raise FaultError(f"only nodes have a probability each: give all {kind} one")
    network = schedule.network
    each = {network.node(name): check_probability(p, str(name)) for name, p in chance.items()}
    return np.array([each.get(node, 0.0) for node in found.node.tolist()])


def check_probability(value: Any, whose: str) -> float:
    """Return a probability. Raises FaultError when it is none."""
    number = float(value)
    if not (isfinite(number) and 0 <= number <= 1):
        raise FaultError(f"{value} is no probability of {whose}: write a number from 0 to 1")
    return number


def _grid(groups: Sequence[FaultGroup]) -> tuple[Floats, float, list[int]]:
    """Return how likely so many of each group fail, how likely numbers outside of that table are, and where the table begins."""
    grid, lost, firsts = np.ones(()), 0.0, list[int]()
    for group in groups:
        sizes = group.sizes
        likely = np.flatnonzero(sizes > _NEGLIGIBLE)
        first, stop = int(likely[0]), int(likely[-1]) + 1
        grid = np.multiply.outer(grid, sizes[first:stop])
        lost += float(sizes[:first].sum() + sizes[stop:].sum())
        lost += max(0.0, 1 - float(sizes.sum()) - 1e-9)  # the part below the least float
        firsts.append(first)
    return grid, lost, firsts


def weigh_strata(groups: Sequence[FaultGroup], known: Sequence[Faulty]) -> tuple[list[float], float]:
    """Return how likely some strata are, and how likely all others are together, rounded up."""
    grid, lost, firsts = _grid(groups)
    weights = list[float]()
    for faults in known:
        place = tuple(s - first for s, first in zip(faults, firsts, strict=True))
        inside = all(0 <= i < size for i, size in zip(place, grid.shape, strict=True))
        weights.append(float(grid[place]) if inside else 0.0)
        if inside:
            grid[place] = 0.0
    return weights, lost + float(grid.sum())
