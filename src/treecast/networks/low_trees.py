"""Low spanning trees: shortest ways from the middle between two nodes that are far apart."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network


@dataclass(frozen=True, eq=False)
class LowTree:
    """A tree as it grows from its root. ``order``: its nodes as it comes to them. ``into``, ``level``, int64 (N,): the arc into
    each node, and how far it is from the root; -1 where it comes to none.
    """

    network: Network
    order: Ints
    into: Ints
    level: Ints

    @cached_property
    def parent(self) -> Ints:
        """The node above each, int64 (N,); -1 of the root, and of nodes to which the tree does not come."""
        return np.append(arcs_of(self.network).tail.astype(np.int64), -1)[self.into]

    @cached_property
    def place(self) -> Ints:
        """The place of each node on a walk around the tree, int64 (N,): a node's are before those of all below it."""
        parent, below, found = self.parent.tolist(), [1] * self.network.nodes, [0] * self.network.nodes
        order = self.order.tolist()
        for v in reversed(order[1:]):
            below[parent[v]] += below[v]
        after = found.copy()
        # a child comes behind its parent, and the children before it with all below them
        for v in order[1:]:
            after[parent[v]] += 1
            found[v] = after[v] = after[parent[v]]
            after[parent[v]] += below[v] - 1
        return np.array(found, np.int64)


def low_tree(network: Network, start: int, passed: NDArray[np.bool_] | None = None) -> LowTree:
    """Return a tree of all nodes to which ways lead from ``start``, past those of ``passed`` alone, bool (N,), if it is given.

    Ways back are to lead the same way.

    >>> from treecast import network
    >>> low_tree(network("path:5"), 0).level.tolist()
    [2, 1, 0, 1, 2]
    """
    goes_on = np.ones(network.nodes, np.bool_) if passed is None else passed
    arcs = arcs_of(network)
    head, first = arcs.head, arcs.first.tolist()

    def grown(root: int) -> LowTree:
        level, into, order = [-1] * network.nodes, [-1] * network.nodes, [root]
        level[root] = 0
        for u in order:
            if goes_on[u] or u == root:
                for a, v in enumerate(head[first[u] : first[u + 1]].tolist(), first[u]):
                    if level[v] < 0:
                        level[v], into[v] = level[u] + 1, a
                        order.append(v)
        return LowTree(network, *(np.array(column, np.int64) for column in (order, into, level)))

    found, root = grown(start), start
    for _ in range(2):
        # the last that a tree comes to is as far from its root as any
        inner = found.order[goes_on[found.order]]
        root = int(inner[-1]) if len(inner) else root
        found = grown(root)
    far = found.order[goes_on[found.order]][-1:].tolist() or [root]
    middle = far[0]
    for _ in range(int(found.level[middle]) // 2):  # half the way up from the far end
        middle = int(found.parent[middle])
    return grown(middle)
