"""The resources of an orbit schedule: orbits of arcs, links and nodes, found from what generates the symmetry.

**Theorem** (Lemma 7, for any group). All elements of a group carry the rows. In a step, those of the elements that carry a row
onto a given resource are a coset of the resource's stabiliser, or none if the row takes nothing in its orbit. So the carried
rows share nothing exactly when rows of one step take resources of different orbits, and none whose stabiliser is more than the
unit. A row over such a resource is *crowded*: its own copies meet there.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.symmetry import AbelianSymmetry, Symmetry
from treecast.schedule import Schedule


class Taken(NamedTuple):
    """The orbit of what each row takes, int64 (rows,), and whether copies of the row meet there: bool (rows,)."""

    orbit: Ints
    crowded: NDArray[np.bool_]


def orbits_of(schedule: Schedule, symmetry: Symmetry) -> "Orbits":
    """Return the orbits of what rows take. Raises ScheduleError when the symmetry does not prove to be one."""
    if isinstance(symmetry, AbelianSymmetry):
        return _OfTurns(schedule, symmetry)
    return Orbits(schedule)


class Orbits:
    """The resources under the translations of a Cayley network: all nodes are one orbit, the arcs of a port are one."""

    def __init__(self, schedule: Schedule) -> None:
        self.network, self.rows = schedule.network, schedule.rows
        self.none = np.zeros(len(self.rows), np.bool_)

    def arcs(self) -> Taken:
        """Return the orbit of each row's arc: its port."""
        return Taken(self.rows.port.astype(np.int64), self.none)

    def of_arcs(self, arc: Ints) -> Ints:
        """Return the orbits of some arcs, by the numbers in ``arcs_of``: their ports."""
        return arcs_of(self.network).port[arc].astype(np.int64)

    def nodes(self, node: NDArray[np.integer]) -> Taken:
        """Return the orbit of a node of each row: there is one."""
        return Taken(np.zeros(len(self.rows), np.int64), self.none)

    def arcs_at(self, node: NDArray[np.integer]) -> Ints:
        """Return a number for the arc that a copy of each row takes at a node to which the one of the row is carried: node 0."""
        # the translation that carries the node to 0 carries the source here
        src = self.network.untranslate(node, self.rows.src)
        return src * self.network.ports + self.rows.port

    def partners(self) -> Ints:
        """Return whom the node 0 sends to in the copies of each row, and then whom it receives from: int64 (2 rows,)."""
        src, dst = self.rows.src.astype(np.int64), self.rows.dst.astype(np.int64)
        return np.concatenate([self.network.untranslate(src, dst), self.network.untranslate(dst, src)])

    def links(self) -> Taken:
        """Return the orbit of each row's link: of a row u > v the links of the kind u⁻¹v, crowded when u⁻¹v = v⁻¹u."""
        src, dst = self.rows.src.astype(np.int64), self.rows.dst.astype(np.int64)
        there, back = self.network.untranslate(src, dst), self.network.untranslate(dst, src)
        return Taken(
            np.minimum(there, back) * self.network.nodes + np.maximum(there, back), (there == back) & (there != 0)
        )


class _OfTurns(Orbits):
    """The resources under a group of automorphisms that commute."""

    def __init__(self, schedule: Schedule, symmetry: AbelianSymmetry) -> None:
        super().__init__(schedule)
        self.order = symmetry.order
        try:
            self._prove(symmetry)
        except ValueError as error:
            raise ScheduleError(f"{symmetry.words} is no symmetry of {self.network.spec}: {error}") from None

    def _prove(self, symmetry: AbelianSymmetry) -> None:
        """Find the orbits of nodes and arcs. Raises ValueError unless the turns generate a group that is free on ranks.

        The turns commute, and the n_i-th power of each is the unit: so they generate Π n_i elements at most. An orbit of so many
        ranks proves that there are as many, and that none but the unit keeps a rank of it.
        """
        network, arcs = self.network, arcs_of(self.network)
        every, is_rank = np.arange(network.nodes), np.ones(network.nodes, np.bool_)
        if network.relays is not None:
            is_rank = ~network.relays
        # 1. A turn carries nodes to nodes, ranks to ranks, and arcs to arcs; it has its order, and commutes with those
        # before.
        key = arcs.tail.astype(np.int64) * network.nodes + arcs.head
        by_ends = np.argsort(key, kind="stable")
        images, of_arcs = [turn.image for turn in symmetry.turns], list[Ints]()
        for i, turn in enumerate(symmetry.turns):
            if not np.array_equal(np.sort(turn.image), every) or not np.array_equal(is_rank[turn.image], is_rank):
                raise ValueError(f"{turn.words} does not carry nodes to nodes, and ranks to ranks")
            # arcs by their ends, before and after the turn
            moved = turn.image[arcs.tail] * network.nodes + turn.image[arcs.head]
            order = np.argsort(moved, kind="stable")  # parallel arcs go to parallel arcs in the order of their cables
            if not np.array_equal(moved[order], key[by_ends]):
                raise ValueError(f"{turn.words} does not carry arcs to arcs")
            of_arcs.append(np.empty(len(order), np.int64))
            of_arcs[-1][order] = by_ends
            if not np.array_equal(_power(turn.image, turn.order), every):
                raise ValueError(f"{turn.words}, {turn.order} times, is not the unit")
            # both orders lead to the same nodes
            if any(not np.array_equal(turn.image[other], other[turn.image]) for other in images[:i]):
                raise ValueError(f"{turn.words} does not commute with others")
        # 2. Each rank's orbit is as large as the group can be at most, so that is its size.
        self.of_node, self.of_arc = _orbits(images, network.nodes), _orbits(of_arcs, len(key))
        # the size of each rank's orbit
        if (np.bincount(self.of_node)[self.of_node[network.ranks]] != self.order).any():
            raise ValueError(f"it does not carry each rank to {self.order:,} ranks")

    @cached_property
    def _arc(self) -> Ints:
        """The number of each row's arc; of a row that names none, 0: the rule ``adjacent`` says so."""
        arcs, rows = arcs_of(self.network), self.rows
        src, port = rows.src.astype(np.int64), rows.port.astype(np.int64)
        there = (port >= 0) & (port < self.network.ports)
        found = arcs.number(src, np.where(there, port, 0))
        return np.where(there & (found < len(arcs.tail)), found, 0)

    def arcs(self) -> Taken:
        """Return the orbit of each row's arc."""
        return self._taken(self.of_arc, self._arc)

    def of_arcs(self, arc: Ints) -> Ints:
        """Return the orbits of some arcs, by the numbers in ``arcs_of``."""
        return self.of_arc[arc]

    def nodes(self, node: NDArray[np.integer]) -> Taken:
        """Return the orbit of a node of each row."""
        return self._taken(self.of_node, node)

    def arcs_at(self, node: NDArray[np.integer]) -> Ints:
        """Return the orbit of each row's arc: only one arc of an orbit leads to, or from, a node that is not crowded."""
        return self.arcs().orbit

    def partners(self) -> Ints:
        """Return the orbits of the arcs of rows, and of the arcs back: they tell the partners of a node that is not crowded."""
        # an arc without one back has a number of its own
        return np.concatenate([self.arcs().orbit, np.where(self._back < 0, -1 - self._arc, self.of_arc[self._back])])

    @cached_property
    def _back(self) -> Ints:
        """The number of the arc back of each row's arc; -1 where there is none."""
        arcs, at = arcs_of(self.network), self._arc
        port = self.network.back(arcs.tail[at], arcs.port[at])
        return np.where(port < 0, -1, arcs.number(arcs.head[at], np.maximum(port, 0)))

    def links(self) -> Taken:
        """Return the orbit of each row's link; crowded, too, where an element turns the link round."""
        there, crowded = self.arcs()
        back = np.where(self._back < 0, there, self.of_arc[self._back])
        return Taken(np.minimum(there, back), crowded | ((there == back) & (self._back >= 0)))

    def _taken(self, of: Ints, which: NDArray[np.integer]) -> Taken:
        orbit = of[which]
        # fewer in the orbit than elements: some element keeps it
        return Taken(orbit, np.bincount(of)[orbit] != self.order)


def _power(image: Ints, times: int) -> Ints:
    found = np.arange(len(image))
    # by squares: as many steps as ``times`` has bits
    while times:
        if times & 1:
            found = image[found]
        image, times = image[image], times >> 1
    return found


def _orbits(images: list[Ints], count: int) -> Ints:
    """Return a number for the orbit of each of ``count`` things under permutations: int64, from 0."""
    first = np.arange(count)
    while True:
        lower = first
        for image in images:
            lower = np.minimum(lower, lower[image])
            # backwards along the permutation as well
            np.minimum.at(lower, image, lower.copy())
        lower = lower[lower]  # the first thing that is known of the first that is known
        if np.array_equal(lower, first):
            return np.unique(first, return_inverse=True)[1].reshape(-1)
        first = lower
