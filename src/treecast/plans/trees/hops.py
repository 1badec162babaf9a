"""Arcs of trees that are known node by node: from a rule that tells a node its parent follow its children and its depth."""

from collections.abc import Callable

from treecast.errors import NetworkError
from treecast.networks import Network

TreeHop = tuple[int, int]
"""A node, and the port at which an arc leaves the parent of the two for the child."""


def children_by(parent: Callable[..., TreeHop | None]) -> Callable[..., list[TreeHop]]:
    """Return what finds a node's children in a tree, by port: the neighbours whose parent it is. It needs labels alone."""

    def children(network: Network, node: int, tree: int, root: int = 0) -> list[TreeHop]:
        near = [(int(network.neighbor(node, port)), port) for port in range(network.ports)]
        return [(v, port) for v, port in near if v >= 0 and parent(network, v, tree, root) == (node, port)]

    return children


def depth_by(parent: Callable[..., TreeHop | None]) -> Callable[..., int]:
    """Return what counts the arcs from the root to a node in a tree, by walking up."""

    def depth_of(network: Network, node: int, tree: int, root: int = 0) -> int:
        depth, above = 0, parent(network, node, tree, root)
        while above is not None:
            depth, above = depth + 1, parent(network, above[0], tree, root)
        return depth

    return depth_of


def check_tree(network: Network, tree: int) -> int:
    """Return the number of a tree. Raises NetworkError where there are fewer trees, one for each port."""
    if not 0 <= tree < network.ports:
        raise NetworkError(f"tree {tree} is none of {network.spec}: its trees go from 0 to {network.ports - 1}")
    return tree
