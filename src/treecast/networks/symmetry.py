"""Symmetries: groups of automorphisms that carry the schedule of a few ranks to all.

A symmetry moves nodes, and arcs with them; ranks stay ranks. It is *free on ranks*: only its unit keeps a rank. So ranks fall
into orbits of as many as it has elements, and one of each represents it. Relays, and arcs between them, may have smaller
orbits: then several elements keep them, their *stabiliser*.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network, ints


class Symmetry(ABC):
    """A group of automorphisms of a network that is free on ranks. Its elements are ``0 … order-1``; 0 is the unit.

    >>> from treecast import network
    >>> tree = network("fat-tree:4").symmetry
    >>> tree.order, tree.representatives.tolist(), tree.words
    (16, [0], 'P+1, E+1 C+1, H+1 A+1')
    >>> ring = network("ring:5").symmetry
    >>> ring.order, ring.carry(2, [0, 4]).tolist()
    (5, [2, 1])
    """

    words: str
    """How a file calls it; empty for the translations of a Cayley network."""
    order: int
    """The number of its elements."""
    representatives: Ints
    """One rank of each orbit, the first: int64, ascending."""

    @abstractmethod
    def carry(self, element: ArrayLike, u: ArrayLike) -> Ints:
        """Return where elements carry nodes (integer arrays that broadcast)."""

    @abstractmethod
    def carry_port(self, element: ArrayLike, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the port at ``carry(element, u)`` of the arc to which the arc of ``port`` is carried (arrays that broadcast)."""

    @abstractmethod
    def orbit_of(self, u: Ints, port: Ints) -> Ints:
        """Return a number for the orbit of each arc, given by the node that it leaves and its port: int64."""

    @abstractmethod
    def onto(self, u: Ints, node: int) -> tuple[Ints, Ints]:
        """Return all elements that carry some of the nodes ``u`` to ``node``: the places in ``u``, and the elements, int64."""


class Translations(Symmetry):
    """The translations of a Cayley network: element h carries node 0 to h, and arcs keep their ports."""

    words = ""

    def __init__(self, network: Network) -> None:
        self._network, self.order, self.representatives = network, network.nodes, np.zeros(1, np.int64)

    def carry(self, element: ArrayLike, u: ArrayLike) -> Ints:
        """Return the translates of ``u``."""
        return self._network.translate(element, u)

    def carry_port(self, element: ArrayLike, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the ports as they are."""
        return np.broadcast_to(ints(port), np.broadcast_shapes(np.shape(element), np.shape(u), np.shape(port)))

    def orbit_of(self, u: Ints, port: Ints) -> Ints:
        """Return the ports."""
        return ints(port)

    def onto(self, u: Ints, node: int) -> tuple[Ints, Ints]:
        """Return the one translation for each: by ``node`` after that which carries the node to 0."""
        # u to 0 first, then 0 to the node
        return np.arange(len(u)), self._network.translate(node, self._network.untranslate(u, 0))


class Automorphism(NamedTuple):
    """An automorphism that is the unit after ``order`` times; ``image``: where it carries each node, int64 (N,)."""

    words: str
    order: int
    image: Ints


class AbelianSymmetry(Symmetry):
    """The group of some automorphisms that commute, each of which has its powers: element Σ d·(orders of those before) has
    the digits d, and turns by each of them so often.

    That they are such is not looked at here: the verifier proves it.
    """

    def __init__(self, network: Network, turns: Sequence[Automorphism]) -> None:
        self.turns, self._network = tuple(turns), network
        self.order = prod(turn.order for turn in turns)
        self.words = ", ".join(turn.words for turn in turns)

    @cached_property
    def representatives(self) -> Ints:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The least rank of each orbit."""
        ranks = self._network.ranks
        return ranks[self._first[ranks] == ranks]

    def carry(self, element: ArrayLike, u: ArrayLike) -> Ints:
        """Return the nodes turned by the digits of the elements."""
        element, found = np.broadcast_arrays(ints(element), ints(u))
        for turn, powers in zip(self.turns, self._powers, strict=True):
            element, times = np.divmod(element, turn.order)  # the digit of this turn, and the rest
            # a turn many times is made of turns 1, 2, 4 … times, by the bits of the number
            for bit, power in enumerate(powers):
                found = np.where(times >> bit & 1, power[found], found)
        return found

    def carry_port(self, element: ArrayLike, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return the port of the same cable between the nodes to which both ends are carried."""
        network = self._network
        ends = self.carry(element, u), self.carry(element, network.neighbor(u, port))
        return network.port_of_cable(*ends, network.cable(u, port))

    def orbit_of(self, u: Ints, port: Ints) -> Ints:
        """Return the place of each arc's orbit among all, in the order of their first arcs."""
        return self._arc_orbit[arcs_of(self._network).number(u, port)]

    def onto(self, u: Ints, node: int) -> tuple[Ints, Ints]:
        """Return the elements of a coset of the stabiliser of ``node`` for each node of its orbit."""
        first = int(self._first[node])  # each orbit by its least node
        every = np.arange(self.order)
        there = self.carry(every, first)
        # only nodes of the same orbit; and who keeps its first node
        at, stabiliser = np.flatnonzero(self._first[u] == first), every[there == first]
        reached = np.zeros(self._network.nodes, np.int64)
        # any element that carries the first node there will do: the others differ by the stabiliser
        reached[there] = every
        apart = self._less(np.full(len(at), reached[node]), reached[u[at]])
        return np.repeat(at, len(stabiliser)), self._less(
            apart[:, None], self._less(0 * stabiliser, stabiliser)
        ).ravel()

    def _less(self, element: Ints, other: Ints) -> Ints:
        """Return elements after the inverses of others."""
        place, found = 1, np.zeros(np.broadcast_shapes(element.shape, other.shape), np.int64)
        for turn in self.turns:
            # digit by digit, as the group is a product of its turns
            found += (element // place - other // place) % turn.order * place
            place *= turn.order
        return found

    @cached_property
    def _powers(self) -> list[list[Ints]]:
        """The images of each turn 1, 2, 4 … times."""
        return [_doubled(turn.image, turn.order) for turn in self.turns]

    @cached_property
    def _first(self) -> Ints:
        """The least node of each node's orbit."""
        return _least(np.arange(self._network.nodes), self._powers)

    @cached_property
    def _arc_orbit(self) -> Ints:
        arcs = arcs_of(self._network)
        ends = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
        order = np.lexsort(ends[::-1])  # arcs by their ends
        images = list[list[Ints]]()
        for turn in self.turns:
            image = np.empty(len(order), np.int64)
            image[np.lexsort([turn.image[end] for end in ends[::-1]])] = order  # cables keep their order
            inverse = np.empty_like(image)
            inverse[image] = np.arange(len(order))
            images.append(_doubled(inverse, turn.order))
        return np.unique(_least(np.arange(len(order)), images), return_inverse=True)[1].reshape(-1)


def _doubled(image: Ints, order: int) -> list[Ints]:
    found = [image]
    while 2 ** len(found) < order:  # powers up to half of the order, at least
        found.append(found[-1][found[-1]])
    return found


def _least(label: Ints, powers: Sequence[Sequence[Ints]]) -> Ints:
    """Return the least label in the orbit of each, under automorphisms that commute, by their powers 1, 2, 4 …"""
    for each in powers:
        # a label spreads 1, 2, 4 … turns far, so it has been everywhere after the last power
        for power in each:
            label = np.minimum(label, label[power])
    return label


Level = Mapping[str, int]
"""Nodes of one kind: their digits in order, the first the most significant, each with its radix."""


def turns_of(network: Network, levels: Sequence[Level], *turned: Sequence[str]) -> AbelianSymmetry:
    """Return the symmetry of a network whose nodes are those of some levels, one behind the other, numbered by their digits.

    Each of ``turned`` is the names of digits to which 1 is added at once, in all nodes that have them.

    >>> from treecast import network
    >>> turns_of(network("mesh:2x3"), [{"row": 2, "column": 3}], ["column"]).turns[0].image.tolist()
    [1, 2, 0, 4, 5, 3]
    """
    found = list[Automorphism]()
    for names in turned:
        image, before = list[Ints](), 0
        for level in levels:
            digits = np.indices(tuple(level.values())).reshape(len(level), -1)
            # 1 is added to the digits that turn
            moved = [(digit + (name in names)) % level[name] for name, digit in zip(level, digits, strict=True)]
            image.append(before + np.ravel_multi_index(moved, tuple(level.values())))
            before += prod(level.values())
        order = next(level[name] for name in names for level in levels if name in level)
        found.append(Automorphism(" ".join(f"{name}+1" for name in names), order, np.concatenate(image)))
    return AbelianSymmetry(network, found)
