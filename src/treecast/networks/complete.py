"""The complete network K_N: every node joined to every other, as behind one switch or in one memory."""

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.core import Cayley, Ints, ints

_MOST = 1 << 20


class Complete(Cayley):
    """The complete network of N nodes, 1 ≤ N ≤ 2^20: port p leads p + 1 nodes on, modulo N (the Cayley graph of Z_N)."""

    described = "a complete network"

    def __init__(self, nodes: int) -> None:
        if not 1 <= nodes <= _MOST:
            raise NetworkError(f"complete:{nodes} is no network: write complete:N with N from 1 to {_MOST}")
        self._nodes = nodes

    @property
    def spec(self) -> str:
        """``complete:N``."""
        return f"complete:{self._nodes}"

    @property
    def nodes(self) -> int:
        """The number of nodes N."""
        return self._nodes

    @property
    def ports(self) -> int:
        """N - 1."""
        return self._nodes - 1

    @property
    def diameter(self) -> int:
        """1, and 0 for a single node."""
        return min(1, self.ports)

    def neighbor(self, u: ArrayLike, port: ArrayLike) -> Ints:
        """Return ``u`` + ``port`` + 1 modulo N."""
        u, port = np.broadcast_arrays(ints(u), ints(port))
        there = (u >= 0) & (u < self.nodes) & (port >= 0) & (port < self.ports)
        return np.where(there, (u + port + 1) % self.nodes, -1)

    def port_between(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return how far ``v`` is behind ``u``, modulo N, less 1; -1 where it is the same node."""
        v = ints(v)
        return np.where((v >= 0) & (v < self.nodes), (v - ints(u)) % self.nodes - 1, -1)

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return 1, and 0 from a node to itself."""
        return (ints(u) != ints(v)).astype(np.int64)

    def translate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return ``h`` + ``u`` modulo N."""
        return (ints(h) + ints(u)) % self.nodes

    def untranslate(self, h: ArrayLike, u: ArrayLike) -> Ints:
        """Return ``u`` - ``h`` modulo N."""
        return (ints(u) - ints(h)) % self.nodes
