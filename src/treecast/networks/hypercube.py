"""The hypercube Q_d: the words of d bits, joined where they differ in one."""

from collections.abc import Mapping
from math import comb
from random import Random
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.cayley import Rotational
from treecast.networks.core import Ints, ints
from treecast.networks.family import counted, family


@family(
    "hypercube",
    "D",
    example="hypercube:6",
    summary="2^D words of D bits, one flipped",
    nodes="2^D",
    degree="D",
    diameter="D",
    members=counted(lambda d: 2**d),
)
class Hypercube(Rotational):
    """The hypercube of dimension d, 0 ≤ d ≤ 40: 2^d nodes of degree d; port i flips bit i.

    >>> from treecast import network
    >>> cube = network("hypercube:3")
    >>> cube.labels(cube.neighbors(cube.node("0b101")))
    ['0b100', '0b111', '0b001']
    >>> cube.levels(0)
    (1, 3, 3, 1)
    """

    described: ClassVar[str] = "a hypercube"
    flips_bits: ClassVar[bool] = True

    def __init__(self, d: int) -> None:
        if not 0 <= d <= 40:
            raise NetworkError(f"hypercube:{d} is no network: write hypercube:D with D from 0 to 40")
        self.d = d
        super().__init__(f"hypercube:{d}", 1 << d, d, d)

    @property
    def gray(self) -> int:
        """0: labels are the nodes' numbers."""
        return 0

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` with bit ``port`` flipped."""
        return u ^ (np.int64(1) << port)

    def _port(self, u: Ints, v: Ints) -> Ints:
        """Return the one bit in which ``u`` and ``v`` differ, or -1."""
        difference = u ^ v
        # the place of the only 1: one less has as many 1s
        bit = np.bitwise_count(difference - 1).astype(np.int64)
        # a power of two has one 1
        return np.where((difference > 0) & (difference & (difference - 1) == 0), bit, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of bits in which ``u`` and ``v`` differ."""
        return np.bitwise_count(ints(u) ^ ints(v)).astype(np.int64)

    def levels(self, u: int) -> tuple[int, ...]:
        """Return how many nodes are 0, 1, 2 … arcs away from ``u``: h of d bits differ."""
        self.check_node(u)
        return tuple(comb(self.d, h) for h in range(self.d + 1))

    def shortest_starts(self) -> Mapping[tuple[int, int], int]:
        """Return how many nodes are h arcs from node 0, h of whose arcs begin a shortest path: {(h, h): nodes}."""
        return {(h, h): count for h, count in enumerate(self.levels(0))}

    def types(self) -> dict[int, int]:
        """Return 2^w - 1 for every weight w: a permutation of the dimensions carries it to all nodes with w bits."""
        return {(1 << w) - 1: comb(self.d, w) for w in range(1, self.d + 1)}

    def renaming(self, u: int, chance: Random | None = None) -> tuple[int, tuple[int, ...]]:
        """Return the node whose lowest bits are 1, as many as those of ``u``, and where each bit goes: any 1-bit to any."""
        self.check_node(u)
        ones, zeros = ([p for p in range(self.d) if u >> p & 1 == bit] for bit in (1, 0))
        if chance is not None:
            chance.shuffle(ones)
            chance.shuffle(zeros)
        return (1 << len(ones)) - 1, (*ones, *zeros)

    def _moved(self, u: Ints, h: Ints, way: int) -> Ints:
        return h ^ u

    def rotate(self, u: ArrayLike, times: int = 1) -> Ints:
        """Return ``u`` with bit i moved to bit i + ``times`` modulo d."""
        return rotate_bits(ints(u), times, self.d)

    def label(self, u: int) -> str:
        """Return the d bits behind ``0b``, dimension 0 last."""
        return f"0b{self.check_node(u):0{self.d}b}"

    def _parse_label(self, text: str) -> int | None:
        bits = text.removeprefix("0b")
        # d digits without 0b are a label as well: as a decimal number they would be too large, or begin with a 0
        if not bits or set(bits) - {"0", "1"} or (bits == text and len(bits) != self.d):
            return None
        return self.check_node(int(bits, 2))


def rotate_bits(u: Ints, times: int | Ints, d: int) -> Ints:
    """Return words of d bits with bit i moved to bit i + ``times`` modulo d; the arrays broadcast."""
    times = times % max(d, 1)
    return ((u << times) | (u >> (d - times))) & ((1 << d) - 1)
