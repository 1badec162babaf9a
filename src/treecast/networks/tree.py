"""The complete tree as a network: all inner nodes have as many children, all leaves are as deep."""

import operator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError
from treecast.networks.core import Ints, Network
from treecast.networks.family import family
from treecast.networks.nodes import NodeName
from treecast.ragged import starts

_MOST_NODES = 2**40


@family(
    "tree",
    "ARITY,DEPTH",
    example="tree:3,2",
    summary="complete tree, root 0",
    nodes="(ARITY^(DEPTH+1) - 1)/(ARITY - 1)",
    degree="ARITY + 1",
    diameter="2 DEPTH",
)
@dataclass(frozen=True, eq=False, repr=False)
class Tree(Network):
    """The complete tree of the given arity and depth, numbered breadth-first from its root, 0; at most 2^40 nodes.

    Each node but the leaves has ``arity`` children, and ``depth`` arcs lead from the root to a leaf. Ports ``0 … arity-1`` lead
    to the children in order, port ``arity`` to the parent.

    >>> from treecast import network
    >>> tree = network("tree:2,2")
    >>> tree.neighbors(1), tree.port_name(2)
    ([3, 4, 0], 'parent')
    """

    described: ClassVar[str] = "a complete tree"

    arity: int
    depth: int

    def __post_init__(self) -> None:
        try:
            arity, depth = operator.index(self.arity), operator.index(self.depth)
        except TypeError:
            arity, depth = 0, 0
        if arity < 1 or depth < 0:
            raise NetworkError("a tree has an arity of at least 1 and a depth of at least 0, as in tree:3,2")
        object.__setattr__(self, "arity", arity)
        object.__setattr__(self, "depth", depth)
        # The depth is looked at first: the power could take for ever.
        deep = arity > 1 and depth > _MOST_NODES.bit_length()
        if deep or arity > _MOST_NODES or (nodes := _nodes(arity, depth)) > _MOST_NODES:
            raise NetworkError("a tree has at most 2^40 nodes, and an arity of at most 2^40")
        degree, far = (0, arity, arity + 1)[min(depth, 2)], depth if arity == 1 else 2 * depth
        known = {"degree": degree, "diameter": far, "arcs": 2 * (nodes - 1)}
        super().__init__(f"tree:{arity},{depth}", nodes, arity + 1, **known, both_ways=True)

    def _beyond(self, u: Ints, port: Ints) -> Ints:
        down = (u < self._inner) & (port < self.arity)
        child = np.where(down, u, 0) * self.arity + 1 + port  # elsewhere the product could overflow
        return np.where(down, child, np.where((u > 0) & (port == self.arity), self._parent(u), -1))

    def arc_lists(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
        """Return all arcs, by their source and port: see Network.arc_lists."""
        nodes, inner = np.arange(self.nodes), self._inner
        first = starts(np.where(nodes < inner, self.arity, 0) + (nodes > 0))
        node = np.repeat(nodes, np.diff(first))
        port = np.where(node < inner, np.arange(len(node)) - first[node], self.arity)
        target = np.where(port < self.arity, node * self.arity + 1 + port, self._parent(node))
        return first, target.astype(np.int32), port.astype(np.int32)

    def _port(self, u: Ints, v: Ints) -> Ints:
        down = (v > 0) & (self._parent(v) == u)
        up = (u > 0) & (self._parent(u) == v)
        return np.where(down, (v - 1) % self.arity, np.where(up, self.arity, -1))

    def distance(self, u: ArrayLike, v: ArrayLike) -> Ints:
        """Return the number of arcs on the path from ``u`` to ``v``: int64 (arrays that broadcast)."""
        low, high = np.minimum(u, v, dtype=np.int64), np.maximum(u, v, dtype=np.int64)
        if self.arity == 1:
            return np.asarray(high - low)
        total = np.zeros(low.shape, np.int64)
        # The larger of two numbers is never the other's ancestor: raising it leads to the lowest common one.
        for _ in range(self.diameter):
            apart = low != high
            total += apart
            high = np.where(apart, self._parent(high), high)
            low, high = np.minimum(low, high), np.maximum(low, high)
        return total

    def eccentricity(self, root: int) -> int:
        """Return the distance from ``root`` to the node farthest from it. Raises NetworkError."""
        root = self.check_node(root)
        if self.arity == 1:
            return max(root, self.depth - root)
        return int(self.distance(root, 0)) + self.depth

    def degree_at(self, u: NodeName) -> int:
        """Return the number of arcs that leave ``u``: to its children, and to its parent."""
        here = self.node(u)
        return (self.arity if here < self._inner else 0) + (here > 0)

    def port_name(self, port: int) -> str:
        """Return ``port`` as child 0, child 1 … or parent. Raises NetworkError when there is no such port."""
        self.check_port(port)
        return "parent" if port == self.arity else f"child {port}"

    @property
    def _inner(self) -> int:
        """The number of nodes that have children; they come first."""
        return (self.nodes - 1) // self.arity

    def _parent(self, u: Ints) -> Ints:
        return (np.maximum(u, 0) - 1) // self.arity


def _nodes(arity: int, depth: int) -> int:
    """Return the sum of arity^i for i = 0 … depth."""
    return depth + 1 if arity == 1 else (arity ** (depth + 1) - 1) // (arity - 1)
