"""HyperX networks: nodes at coordinates, and every row of nodes along an axis a complete graph.

Source: Ahn, Binkert, Davis, McLaren & Schreiber at the Conference on High Performance
Computing Networking, Storage and Analysis (2009); of equal sides they are the Hamming graphs.
"""

from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.cayley import Cayley
from treecast.networks.core import Ints
from treecast.networks.family import family, sides
from treecast.networks.grid import Coordinates

_MOST_NODES = 2**40
_MOST_PORTS = 1 << 16
_MOST_SIDES = 64


@family(
    "hyperx",
    "AxBx…",
    example="hyperx:4x4x4",
    summary="grid whose rows along every axis are complete graphs",
    nodes="A B …",
    degree="A - 1 + B - 1 + …",
    diameter="1 per side",
    members=sides(2, 3),
)
class HyperX(Coordinates, Cayley):
    """The HyperX of some sides: nodes are joined where they differ in one coordinate. Numbered with the last coordinate fastest.

    Port p of an axis, counted from its first, moves on by p + 1 along it, modulo its side: the Cayley graph of coordinate-wise
    addition modulo the sides. There are at most 64 axes, 2^40 nodes and 2^16 ports.

    >>> from treecast import network
    >>> where = network("hyperx:3x4")
    >>> where.labels(where.neighbors(where.node("0,0")))
    ['1,0', '2,0', '0,1', '0,2', '0,3']
    >>> int(where.distance(where.node("0,0"), where.node("2,3")))
    2
    """

    described: ClassVar[str] = "a HyperX"

    def __init__(self, *sides: int) -> None:
        spelled = f"hyperx:{'x'.join(map(str, sides))}"
        if not sides or min(sides) < 1:
            raise NetworkError(f"{spelled!r} is no network: write the sides, each at least 1, as in hyperx:4x4x4")
        if len(sides) > _MOST_SIDES or prod(sides) > _MOST_NODES or sum(sides) > _MOST_PORTS:
            raise NetworkError(f"{spelled} is out of reach: choose at most 64 sides, 2^40 nodes and 2^16 ports")
        self.sides = sides
        self._moves = [(axis, by) for axis, side in enumerate(sides) for by in range(1, side)]
        super().__init__(spelled, prod(sides), sum(sides) - len(sides), sum(side > 1 for side in sides))

    @property
    def gray(self) -> int | None:
        """0 where all sides are powers of 2."""
        return 0 if self.nodes.bit_count() == 1 else None

    def _port(self, u: Ints, v: Ints) -> Ints:
        """Return the port that leads from ``u`` to ``v``; -1 where they do not differ in one coordinate."""
        gaps = (self.coordinates(v) - self.coordinates(u)).T % self.sides  # axes last, as sides broadcast there
        first = np.cumsum([0, *(side - 1 for side in self.sides[:-1])])
        found = np.where(gaps > 0, first + gaps - 1, 0).sum(axis=-1).T
        return np.where(np.count_nonzero(gaps, axis=-1).T == 1, found, -1)  # one step apart: along one axis

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of coordinates in which ``u`` and ``v`` differ."""
        axes = zip(self.coordinates(u), self.coordinates(v), strict=True)
        return np.asarray(sum((here != there).astype(np.int64) for here, there in axes))

    def levels(self, u: int) -> tuple[int, ...]:
        """Return how many nodes differ from ``u`` in 0, 1, 2 … coordinates."""
        self.check_node(u)
        counts = [1]
        for side in self.sides:
            # a coordinate is the same, or one of side - 1 others: so polynomials multiply
            counts = [a + (side - 1) * b for a, b in zip([*counts, 0], [0, *counts], strict=True)]
        return tuple(counts[: self.diameter + 1])

    def port_name(self, port: int) -> str:
        """Return how far ``port`` leads and the axis, as in +2@0. Raises NetworkError when there is no such port."""
        axis, by = self._moves[self.check_port(port)]
        return f"+{by}@{axis}"
