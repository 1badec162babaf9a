"""Cayley graphs of the numbers modulo N: the complete network K_N, and circulants.

Source of these: Boesch & Tindell, "Circulants and their connectivities" (1984).
"""

from math import gcd, isqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.cayley import Cayley, Searched
from treecast.networks.core import Ints, ints
from treecast.networks.family import any_from, family

_MOST = 1 << 20  # nodes of a complete network
_MOST_AROUND, _MOST_STEPS = 1 << 24, 1 << 12  # nodes and steps of a circulant


@family(
    "complete",
    "N",
    example="complete:24",
    summary="every node joined to every other: one switch, or one memory",
    nodes="N",
    degree="N - 1",
    diameter="1",
    members=any_from(2),
)
class Complete(Cayley):
    """The complete network of N nodes, 1 ≤ N ≤ 2^20: port p leads p + 1 nodes on, modulo N (the Cayley graph of Z_N).

    >>> from treecast import network
    >>> network("complete:5").neighbors(3)
    [4, 0, 1, 2]
    """

    described: ClassVar[str] = "a complete network"
    every_pair_joined: ClassVar[bool] = True

    def __init__(self, nodes: int) -> None:
        if not 1 <= nodes <= _MOST:
            raise NetworkError(f"complete:{nodes} is no network: write complete:N with N from 1 to {_MOST}")
        super().__init__(f"complete:{nodes}", nodes, nodes - 1, min(1, nodes - 1))

    @property
    def gray(self) -> int | None:
        """0 where N is a power of 2."""
        return 0 if self.nodes.bit_count() == 1 else None

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` + ``port`` + 1 modulo N."""
        return (u + port + 1) % self.nodes

    def _port(self, u: Ints, v: Ints) -> Ints:
        return (v - u) % self.nodes - 1  # -1 where it is the same node

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return 1, and 0 from a node to itself."""
        return (ints(u) != ints(v)).astype(np.int64)

    def types(self) -> dict[int, int]:
        """Return node 1: any permutation of the nodes is a symmetry."""
        return {1: self.ports} if self.ports else {}


@family(
    "circulant",
    "N,S,…",
    example="circulant:16,1,5",
    summary="N nodes around a circle, each joined to those S steps on and back",
    nodes="N",
    degree="2 per S",
    members=lambda ranks: [f"{ranks},1,{isqrt(ranks)}"] if ranks > 8 else [],
)
class Circulant(Searched):
    """The circulant of N nodes, 2 ≤ N ≤ 2^24, and some steps: node u is joined to u + s and u - s modulo N for each step s.

    Steps are different whole numbers from 1 to N/2, without a divisor that they all share with N. A step has two ports, up and
    down, in the order in which the steps are given; the step N/2 has one. It is the Cayley graph of the numbers modulo N.

    >>> from treecast import network
    >>> where = network("circulant:12,1,5")
    >>> where.neighbors(3), where.diameter
    ([4, 2, 8, 10], 3)
    >>> where.port_name(3)
    '-5'
    """

    described: ClassVar[str] = "a circulant"

    def __init__(self, nodes: int, *steps: int) -> None:
        spelled = f"circulant:{','.join(map(str, (nodes, *steps)))}"
        wanted = "write circulant:N,S,… with different steps S from 1 to N/2, as in circulant:16,1,5"
        if not 2 <= nodes <= _MOST_AROUND or not 1 <= len(steps) <= _MOST_STEPS:
            raise NetworkError(f"{spelled} is no network: {wanted}, N at most {_MOST_AROUND:,}")
        if len(set(steps)) < len(steps) or not all(1 <= 2 * step <= nodes for step in steps):
            raise NetworkError(f"{spelled} is no network: {wanted}")
        shared = gcd(nodes, *steps)
        if shared > 1:
            raise NetworkError(f"{spelled} is not connected: {shared} divides its nodes and all its steps")
        self.steps = steps
        moves = [way * step for step in steps for way in (1, -1) if way > 0 or 2 * step != nodes]
        self._moves: Ints = np.array(moves, np.int64)  # by how much each port moves a node on
        super().__init__(spelled, nodes, len(moves))

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` moved on by the step of ``port``, modulo N."""
        return (u + self._moves[port]) % self.nodes

    def port_name(self, port: int) -> str:
        """Return the way and length of the step, as in +5. Raises NetworkError when there is no such port."""
        return f"{self._moves[self.check_port(port)]:+d}"
