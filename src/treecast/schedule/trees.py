"""Trees in a network, as parent arrays: one tree from a root down, sets of spanning trees with one root, and what these share."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks import Network
from treecast.ragged import Ints, read_only, starts

if TYPE_CHECKING:
    import networkx as nx

Ports = NDArray[np.int8] | NDArray[np.int32]
"""Ports of the arcs of a tree; few bytes, since the trees of large networks are long arrays."""


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A tree in a network, from its root down, over arcs of the network. It need not reach every node.

    ``parent``: int32 (N,), the node above each node, and ``port``: integers (N,), the port by which the arc leaves that
    parent; -1 at the root and outside the tree. ``first_port``: the port at which the order of siblings begins; it goes on
    cyclically. ``served``: int32, the nodes of the tree in another order, each behind its parent: siblings are in the order in
    which they are served.

    >>> from treecast.networks import network
    >>> from treecast.plans.ways.trees.spanning import breadth_first
    >>> tree = breadth_first(network("mesh:2x3"), root=0)
    >>> tree
    Tree(mesh:2x3, root 0,0, 6 nodes)
    >>> tree.order.tolist(), tree.depth.tolist(), tree.height
    ([0, 3, 1, 4, 2, 5], [0, 1, 2, 1, 2, 3], 3)
    >>> tree.children(0), tree.way(5), tree.branch.tolist()
    ([3, 1], [0, 3, 4, 5], [0, 1, 1, 3, 3, 3])
    """

    network: Network
    root: int
    parent: NDArray[np.int32]
    port: Ports
    first_port: int = 0
    served: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if self.parent.shape != self.port.shape or self.parent.shape != (self.network.nodes,):
            raise ScheduleError(f"the parents and ports of a tree must be of shape ({self.network.nodes},)")
        self.parent.setflags(write=False)
        self.port.setflags(write=False)

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The nodes of the tree, each behind its parent: int32. Those that no way leads to from the root are left out.

        Nearest first, and siblings by port, cyclically from the first port, unless ``served`` says otherwise.
        """
        from treecast.schedule.kernels.streams import breadth_first

        if self.served is not None:
            return self.served
        child = np.flatnonzero(self.parent >= 0)
        above = self.parent[child]
        # the order of siblings begins at the first port, and goes on cyclically
        port_order = (self.port[child].astype(np.int64) - self.first_port) % max(self.network.ports, 1)
        siblings = np.lexsort((port_order, above))
        first = starts(np.bincount(above, minlength=self.network.nodes))
        target, port = (read_only(column[siblings], np.int32) for column in (child, port_order))
        parent, by = np.full((2, self.network.nodes), -1, np.int32)
        return breadth_first(read_only(first, np.int64), target, port, self.root, parent, by)

    @cached_property
    def depth(self) -> Ints:
        """The number of arcs from the root to each node: int64 (N,); 0 outside."""
        from treecast.schedule.kernels.streams import depths

        return depths(self.parent, self.order)

    @cached_property
    def branch(self) -> Ints:
        """The child of the root above each node, or the node itself: int64 (N,); the root at the root."""
        # children of the root, and the root, are their own tops
        top = np.where((self.parent < 0) | (self.parent == self.root), np.arange(self.network.nodes), self.parent)
        # each time round twice as far up
        while ((higher := top[top]) != top).any():
            top = higher
        return top

    @property
    def height(self) -> int:
        """The depth of the deepest node."""
        return int(self.depth.max(initial=0))

    @cached_property
    def port_up(self) -> Ints:
        """The port by which the arc leaves each node for its parent: int64 (N,), -1 where there is none."""
        return self._ports_up(self.network)

    @cached_property
    def port_towards_root(self) -> Ints:
        """The same in ``network.reversed()``, where the arcs of the tree lead up: data on its way up uses these."""
        return self._ports_up(self.network.reversed())

    def _ports_up(self, network: Network) -> Ints:
        up = np.full(network.nodes, -1, np.int64)
        below = self.order[1:].astype(np.int64)
        above = self.parent[below]
        # by the cable of the arc down, so that parallel arcs are not taken for each other
        up[below] = network.port_of_cable(below, above, self.network.cable(above, self.port[below]))
        return up

    @cached_property
    def child_lists(self) -> tuple[Ints, NDArray[np.int32]]:
        """All children by their parents: those of u at ``first[u] … first[u+1]-1``, in order; int64 (N + 1,), int32."""
        below = self.order[1:]
        above = self.parent[below]
        first = starts(np.bincount(above, minlength=self.network.nodes))
        return first, below[np.argsort(above, kind="stable")]

    @cached_property
    def places(self) -> Ints:
        """The place of each node in a walk that goes down the tree before it goes on: int64 (N,); siblings in order."""
        from treecast.schedule.kernels.trees import preorder

        return preorder(read_only(self.parent, np.int32), read_only(self.order, np.int32))[0]

    def preorder(self) -> NDArray[np.int32]:
        """Return the nodes of the tree, whole subtrees one after another: int32; siblings in order."""
        nodes = np.empty_like(self.order)
        nodes[self.places[self.order]] = self.order  # the inverse of places
        return nodes

    def children(self, node: int) -> list[int]:
        """Return the children of ``node``, in order."""
        first, child = self.child_lists
        return child[first[node] : first[node + 1]].tolist()

    def way(self, node: int) -> list[int]:
        """Return the nodes on the way from the root to ``node``, both included. Raises ScheduleError when no way leads there."""
        way = [node]
        while way[-1] != self.root:
            way.append(int(self.parent[way[-1]]))
            # a way of more nodes than there are goes round
            if way[-1] < 0 or len(way) > self.network.nodes:
                raise ScheduleError(f"the tree does not lead from the root to node {self.network.label(node)}")
        return way[::-1]

    def to_networkx(self) -> "nx.DiGraph[Any]":
        """Return the tree as a networkx DiGraph, whose nodes have a ``label`` and whose arcs have a ``port``.

        >>> import networkx as nx
        >>> from treecast import disjoint_trees
        >>> nx.is_arborescence(disjoint_trees("star:4")[0].to_networkx())
        True
        """
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph(name=repr(self))
        graph.add_nodes_from((u, {"label": self.network.label(u)}) for u in self.order.tolist())
        graph.add_edges_from((int(self.parent[v]), v, {"port": int(self.port[v])}) for v in self.order[1:].tolist())
        return graph

    def __len__(self) -> int:
        return len(self.order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        same = self.network == other.network and self.root == other.root
        mine, its = (self.parent, self.port, self.order), (other.parent, other.port, other.order)
        return same and all(np.array_equal(a, b) for a, b in zip(mine, its, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tree({self.network.spec[:60]}, root {self.network.label(self.root)}, {len(self)} nodes)"


@dataclass(frozen=True, eq=False, repr=False)
class TreeSet:
    """k trees of a network that lead to every rank, all with the same root: a sequence of trees that share their arrays.

    Parameters
    ----------
    network
        The network whose arcs the trees take.
    root
        The node at which they all begin.
    parent : int32 (k, N)
        The node that each node hears from in each tree, -1 at the root and for relays that pass nothing on.
    port : int8 or int32 (k, N)
        The port by which the arc leaves that parent, -1 at the root.
    first_port
        For each tree, the port at which the order of siblings begins; it goes on cyclically. Empty: port 0.

    Examples
    --------
    >>> from treecast import disjoint_trees
    >>> trees = disjoint_trees("star:4", root="1234")
    >>> trees
    TreeSet(star:4, root 1234, 3 trees)
    >>> trees.height, [tree.height for tree in trees], trees[1].children(0)
    (6, [6, 6, 6], [14])
    """

    network: Network
    root: int
    parent: NDArray[np.int32]
    port: Ports
    first_port: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.parent.shape != self.port.shape or self.parent.shape[1:] != (self.network.nodes,):
            raise ScheduleError(f"parents and ports must be of shape (trees, {self.network.nodes})")
        self.parent.setflags(write=False)
        self.port.setflags(write=False)

    @staticmethod
    def of(tree: Tree) -> "TreeSet":
        """Return the set of one tree."""
        return TreeSet(tree.network, tree.root, tree.parent[None], tree.port[None], (tree.first_port,))

    def __len__(self) -> int:
        return len(self.parent)

    def __getitem__(self, tree: int) -> Tree:
        """Return one tree."""
        return self._trees[tree]

    def __iter__(self) -> Iterator[Tree]:
        return iter(self._trees)

    @cached_property
    def _trees(self) -> list[Tree]:
        first = self.first_port or (0,) * len(self)
        arrays = zip(self.parent, self.port, first, strict=True)
        return [Tree(self.network, self.root, parent, port, turn) for parent, port, turn in arrays]

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """The depth of every node in every tree, in arcs from the root: int32 (k, N); of relays outside a tree -1.

        Raises ScheduleError when a tree does not lead to every rank.
        """
        from treecast.schedule.kernels.trees import depths

        depth = np.empty(self.parent.shape, np.int32)
        for tree, parent in enumerate(self.parent):
            outside = np.zeros(0, np.bool_) if self.network.relays is None else self.network.relays & (parent < 0)
            # the kernel follows every node to the root: relays outside hang there for as long as that takes
            whole = np.where(outside, self.root, parent) if outside.any() else parent
            off = depths(read_only(whole, np.int32), self.root, depth[tree])
            # a node of the tree may hear from a relay that is outside of it
            if outside.any() and outside[parent[parent >= 0]].any():
                off = int(np.flatnonzero((parent >= 0) & outside[parent])[0])
            if off >= 0:
                raise ScheduleError(f"tree {tree} does not lead from the root to node {self.network.label(off)}")
            if outside.any():
                depth[tree, outside] = -1
        depth.setflags(write=False)
        return depth

    @property
    def height(self) -> int:
        """The depth of the deepest node of all trees."""
        return int(self.depths.max(initial=0))

    def to_networkx(self) -> "nx.MultiDiGraph[Any]":
        """Return the trees as one networkx MultiDiGraph: the number of its tree is an arc's key, its ``port`` an attribute.

        >>> from treecast import disjoint_trees
        >>> graph = disjoint_trees("hypercube:3").to_networkx()
        >>> sorted(tree for _, _, tree in graph.in_edges(7, keys=True))
        [0, 1, 2]
        """
        import networkx as nx

        graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph(name=repr(self))
        graph.add_nodes_from((u, {"label": self.network.label(u)}) for u in range(self.network.nodes))
        for number, tree in enumerate(self):
            for v in tree.order[1:].tolist():
                graph.add_edge(int(tree.parent[v]), v, key=number, port=int(tree.port[v]))
        return graph

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSet):
            return NotImplemented
        same = self.network == other.network and self.root == other.root
        return same and np.array_equal(self.parent, other.parent) and np.array_equal(self.port, other.port)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        trees = "1 tree" if len(self) == 1 else f"{len(self)} trees"
        return f"TreeSet({self.network.spec[:60]}, root {self.network.label(self.root)}, {trees})"


def find_shared_arc(trees: TreeSet) -> tuple[int, int] | None:
    """Return (tree, node) where the arc into the node is in an earlier tree too; None where the trees are arc-disjoint.

    >>> from treecast import disjoint_trees
    >>> find_shared_arc(disjoint_trees("star:4")) is None
    True
    """
    tree, node = np.nonzero(trees.parent >= 0)
    arc = trees.network.arc(trees.parent[tree, node], trees.port[tree, node])
    again = np.delete(np.arange(len(arc)), np.unique(arc, return_index=True)[1])  # all but the first of each arc
    return (int(tree[again[0]]), int(node[again[0]])) if len(again) else None


def find_meeting_ways(trees: TreeSet) -> tuple[int, int, int] | None:
    """Return (v, tree, w): the way to rank v in a tree meets that of an earlier tree at w, before v; None where no ways meet.

    >>> from treecast import disjoint_trees
    >>> find_meeting_ways(disjoint_trees("star:4")) is None
    True
    """
    from treecast.schedule.kernels.trees import sharing

    parent, ends = read_only(trees.parent, np.int32), trees.network.ranks
    used = np.full(2 * trees.network.nodes, -1, np.int32)  # numbers of nodes, and N more for arcs from the root
    needs = nodes_needed(parent, trees.root)
    v, tree, w = sharing(parent, needs, np.arange(len(trees)), used, trees.root, ends, 0, len(ends))
    return None if v < 0 else (int(v), int(tree), int(parent[tree, w]))


def nodes_needed(parent: NDArray[np.int32], root: int) -> NDArray[np.int32]:
    """Return the node by which trees enter each node, int32 (k, N): its parent, or N more than itself where that is the root.

    Two ways that both are the arc from the root itself meet, too.
    """
    every = np.arange(parent.shape[1], 2 * parent.shape[1], dtype=np.int32)
    return read_only(np.where(parent == root, every, parent), np.int32)
