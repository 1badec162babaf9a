"""The complete network K_N: every node joined to every other, as behind one switch or in one memory."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.cayley import Cayley
from treecast.networks.core import Ints, ints
from treecast.networks.family import family
from treecast.networks.members import any_from

_MOST = 1 << 20


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

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        """Return ``u`` + ``port`` + 1 modulo N."""
        return (u + port + 1) % self.nodes

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return how far ``v`` is behind ``u``, modulo N, less 1; -1 where it is the same node."""
        v = ints(v)
        return np.where(self._is_node(v), (v - ints(u)) % self.nodes - 1, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return 1, and 0 from a node to itself."""
        return (ints(u) != ints(v)).astype(np.int64)

    def types(self) -> dict[int, int]:
        """Return node 1: any permutation of the nodes is a symmetry."""
        return {1: self.ports} if self.ports else {}
