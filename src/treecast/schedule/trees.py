"""Sets of spanning trees with one root, as parent arrays, and what makes such sets useful: being disjoint."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks import Network


@dataclass(frozen=True, eq=False)
class TreeSet:
    """k spanning trees of a network, all with the same root.

    ``parent``: int32 (k, N), the node that each node hears from, -1 at the root.
    ``port``: int8 or int32 (k, N), the port by which the arc leaves that parent, -1 at the root.
    ``first_port``: for each tree, the port at which the order of children begins; it goes on cyclically.
    """

    network: Network
    root: int
    parent: NDArray[np.int32]
    port: NDArray[np.int8] | NDArray[np.int32]
    first_port: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.parent.shape != self.port.shape or self.parent.shape[1:] != (self.network.nodes,):
            raise ScheduleError(f"parents and ports must be of shape (trees, {self.network.nodes})")
        self.parent.setflags(write=False)
        self.port.setflags(write=False)

    def __len__(self) -> int:
        return len(self.parent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSet):
            return NotImplemented
        same = self.network == other.network and self.root == other.root
        return same and np.array_equal(self.parent, other.parent) and np.array_equal(self.port, other.port)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """The depth of every node in every tree, in arcs from the root: int32 (k, N).

        Raises ScheduleError when a tree does not span the network.
        """
        from treecast.kernels.trees import depths

        depth = np.empty(self.parent.shape, np.int32)
        for tree, parent in enumerate(self.parent):
            off = depths(parent, self.root, depth[tree])
            if off >= 0:
                raise ScheduleError(f"tree {tree} does not lead from the root to node {self.network.label(off)}")
        depth.setflags(write=False)
        return depth

    @property
    def depth(self) -> int:
        """The greatest depth of all, in arcs."""
        return int(self.depths.max())

    def children(self, tree: int, node: int) -> list[int]:
        """Return the children of ``node`` in ``tree``, in order: by port, cyclically from the tree's first port."""
        found = np.flatnonzero(self.parent[tree] == node)
        first = self.first_port[tree] if self.first_port else 0
        return found[np.argsort((self.port[tree][found].astype(int) - first) % self.network.ports)].tolist()

    def way(self, tree: int, node: int) -> list[int]:
        """Return the nodes on the way in ``tree`` from the root to ``node``, both included."""
        way = [node]
        while way[-1] != self.root:
            way.append(int(self.parent[tree, way[-1]]))
            if way[-1] < 0 or len(way) > self.network.nodes:
                raise ScheduleError(f"tree {tree} does not lead from the root to node {self.network.label(node)}")
        return way[::-1]


@dataclass(frozen=True, eq=False)
class RootedTree:
    """A tree in a network that need not reach every node.

    ``parent``, ``port``: int32 (N,), the node above each node and the port by which the arc leaves it; -1 at the root and
    outside. ``order``: int32, the nodes of the tree, each behind its parent, siblings in the order in which they are served.
    """

    network: Network
    root: int
    parent: NDArray[np.int32]
    port: NDArray[np.int32]
    order: NDArray[np.int32]

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """The number of arcs from the root to each node: int64 (N,); 0 outside."""
        from treecast.kernels.streams import depths

        return depths(self.parent, self.order)

    @cached_property
    def branch(self) -> NDArray[np.int64]:
        """The child of the root above each node, or the node itself: int64 (N,); the root at the root."""
        from treecast.kernels.streams import branches

        return branches(self.parent, self.order)

    @property
    def height(self) -> int:
        """The depth of the deepest node."""
        return int(self.depth.max(initial=0))

    @cached_property
    def port_up(self) -> NDArray[np.int64]:
        """The port by which the arc leaves each node for its parent: int64 (N,), -1 where there is none."""
        up = np.full(self.network.nodes, -1, np.int64)
        below = self.order[1:].astype(np.int64)
        up[below] = self.network.port_between(below, self.parent[below])
        return up


def shared_arc(trees: TreeSet) -> tuple[int, int] | None:
    """Return (tree, node) such that the arc into the node is in an earlier tree too, or None: the trees are arc-disjoint."""
    from treecast.kernels.trees import shared_arc as find

    tree, node = find(trees.parent, trees.port, trees.network.ports, trees.root)
    return None if tree < 0 else (int(tree), int(node))


def meeting_ways(trees: TreeSet) -> tuple[int, int, int] | None:
    """Return (v, tree, w) such that the way to v in the tree meets the way to v of an earlier tree at node w, or None.

    None proves that the ways from the root to any node are node-disjoint.
    """
    from treecast.kernels.trees import meeting

    found = meeting(trees.parent, np.arange(len(trees)), trees.root, 0, trees.network.nodes)
    return None if found[0] < 0 else (int(found[0]), int(found[1]), int(found[2]))
