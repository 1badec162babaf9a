"""Cayley networks, which look the same from every node, and those among them that also look the same over every port."""

from abc import abstractmethod
from functools import cached_property
from random import Random
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.networks.core import Ints, Network
from treecast.networks.nodes import NodeName


class Cayley(Network):
    """A network that looks the same from every node: the Cayley graph of a group, whose left action keeps ports.

    A schedule that is built at node 0 is built at every node by ``translate``.

    >>> from treecast import network
    >>> ring = network("ring:6")
    >>> ring.seen_alike
    True
    >>> ring.translate(2, ring.neighbors(0)).tolist() == ring.neighbors(2)
    True
    """

    described: ClassVar[str] = "a network that looks the same from every node: star, hypercube, torus, ring or complete"
    seen_alike: ClassVar[bool] = True

    def __init__(self, spec: str, nodes: int, ports: int, diameter: int = 0) -> None:
        super().__init__(spec, nodes, ports, diameter=diameter, arcs=nodes * ports)

    @cached_property
    def both_ways(self) -> bool:
        """Whether every arc has an arc back; all nodes are like node 0."""
        near = self.neighbor(0, np.arange(self.ports))
        return bool((self.port_between(near, 0) >= 0).all())

    def degree_at(self, u: NodeName) -> int:
        """Return the number of arcs that leave ``u``: one per port."""
        self.node(u)
        return self.ports


class Searched(Cayley):
    """A Cayley network without a formula for distances: those from node 0 are searched for, once.

    >>> from treecast import network
    >>> network("circulant:12,1,5").distance(1, [1, 2, 3, 4]).tolist()
    [0, 1, 2, 3]
    """

    @property
    def diameter(self) -> int:
        """The largest distance from node 0."""
        return int(self._far.max())

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the distance from node 0 to where the translation that carries ``u`` to node 0 carries ``v``."""
        return self._far[self.untranslate(u, v)].astype(np.int64)

    @cached_property
    def _far(self) -> NDArray[np.int32]:
        """The distance of every node from node 0."""
        far, front, level = np.full(self.nodes, -1, np.int32), np.zeros(1, np.int64), 0
        far[0] = 0
        while front.size:
            level, found = level + 1, list[Ints]()
            for port in range(self.ports):
                reached = self.neighbor(front, port)  # each node once: so is each that it leads to
                found.append(reached[far[reached] < 0])
                far[found[-1]] = level
            front = np.concatenate(found)
        return far


class Rotational(Cayley):
    """A Cayley network with a rotation: it keeps node 0 and all distances to it, and moves every port on by one, cyclically.

    So the sends from node 0 by one port are copied to every other port, and the copies share no arc.

    >>> from treecast import network
    >>> cube = network("hypercube:4")
    >>> cube.labels(cube.necklace(0b0011))
    ['0b0011', '0b0110', '0b1100', '0b1001']
    """

    described: ClassVar[str] = "a network with a rotation: star or hypercube"
    ports_alike: ClassVar[bool] = True

    @abstractmethod
    def renaming(self, u: int, chance: Random | None = None) -> tuple[int, tuple[int, ...]]:
        """Return the node of ``types`` that stands for ``u``, and a renaming of the ports that carries it to ``u``.

        A way from node 0 over ports p, q, … to that node becomes one to ``u`` over ports ``renaming[p], renaming[q], …``, and
        ways that are disjoint stay so. Usually several renamings do: ``chance`` draws one.
        """

    def necklace(self, u: int) -> list[int]:
        """Return the distinct rotations of ``u``, from ``u`` on; their number divides that of the ports."""
        return list(dict.fromkeys(self.unfolded_necklace(u)))

    def unfolded_necklace(self, u: int) -> list[int]:
        """Return ``u, R(u), R²(u), …``, one for each port, repeats kept."""
        self.check_node(u)
        return [int(self.rotate(u, times)) for times in range(self.ports)]

    def necklaces(self) -> tuple[Ints, Ints]:
        """Return the least node of every necklace but node 0's, ascending, and how many nodes each necklace has."""
        every = np.arange(self.nodes)
        least, size = every.copy(), np.full(self.nodes, self.ports)
        for times in range(self.ports - 1, 0, -1):
            rotated = self.rotate(every, times)
            least = np.minimum(least, rotated)
            size[rotated == every] = times  # the fewest turns come last, and stay
        first = np.flatnonzero(least == every)[1:]  # node 0 turns into itself
        return first, size[first]
