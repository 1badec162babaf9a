"""Trees that are known node by node: from a rule that tells a node its parent follow its children, its depth and all trees."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from treecast.errors import NetworkError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.schedule.trees import TreeSet

TreeHop = tuple[int, int]
"""A node, and the port at which an arc leaves the parent of the two for the child."""


@dataclass(frozen=True)
class ParentRule:
    """A rule by which nodes know their parents from labels alone, in each of some trees of a network.

    ``parents(network, root, nodes, tree)``: the parents, and the ports from there, by trees (a column of numbers) and nodes; at
    the root they mean nothing. ``count(network)``: the number of trees. ``turned``: whether siblings are in the order of their
    ports from the tree's own on. ``filled(network, root)``, ``walked(network, node, tree, root)``: all trees, and the depth of a
    node, where there is a faster way.
    """

    parents: Callable[[Any, int, Ints, Ints], tuple[Ints, Ints]]
    count: Callable[[Network], int] = attrgetter("ports")
    turned: bool = False
    filled: Callable[..., TreeSet] | None = None
    walked: Callable[..., int] | None = None

    def trees(self, network: Network, root: int = 0) -> TreeSet:
        """Return all trees at ``root``, arrays of shape (trees, N)."""
        if self.filled is not None:
            return self.filled(network, root)
        network.check_node(root)
        count = self.count(network)
        parent, port = self.parents(network, root, np.arange(network.nodes), np.arange(count)[:, None])
        parent, port = parent.astype(np.int32), port.astype(np.int8) if network.ports < 128 else port.astype(np.int32)
        parent[:, root] = port[:, root] = -1  # the rule says nothing of it
        return TreeSet(network, root, parent, port, tuple(range(count)) if self.turned else ())

    def parent(self, network: Network, node: int, tree: int, root: int = 0) -> TreeHop | None:
        """Return the parent of ``node`` in a tree, and the port from there; None at the root."""
        check_tree(network, tree, self.count(network))
        if network.check_node(node) == network.check_node(root):
            return None
        above, port = self.parents(network, root, np.array([node]), np.array([[tree]]))
        return int(above[0, 0]), int(port[0, 0])

    def children(self, network: Network, node: int, tree: int, root: int = 0) -> list[TreeHop]:
        """Return the children of ``node`` in a tree, with the ports that lead to them."""
        check_tree(network, tree, self.count(network))
        port = (np.arange(network.ports) + tree * self.turned) % network.ports  # from the tree's own on
        near = np.asarray(network.neighbor(network.check_node(node), port))
        able = (near >= 0) & (near != network.check_node(root))
        near, port = near[able], port[able]
        above, by = self.parents(network, root, near, np.array([[tree]]))
        below = (above[0] == node) & (by[0] == port)  # parallel arcs have other ports
        return list(zip(near[below].tolist(), port[below].tolist(), strict=True))

    def depth_of(self, network: Network, node: int, tree: int, root: int = 0) -> int:
        """Return the number of arcs from the root to ``node`` in a tree, by walking up."""
        if self.walked is not None:
            return self.walked(network, node, tree, root)
        depth, above = 0, self.parent(network, node, tree, root)
        while above is not None:
            depth, above = depth + 1, self.parent(network, above[0], tree, root)
        return depth


def check_tree(network: Network, tree: int, count: int = 0) -> int:
    """Return the number of a tree. Raises NetworkError where there are fewer trees; by default one for each port."""
    count = count or network.ports
    if not 0 <= tree < count:
        raise NetworkError(f"tree {tree} is none of {network.spec}: its trees go from 0 to {count - 1}")
    return tree
