"""Spanning trees of any network at a root, for what goes down or up one tree."""

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.trees import RootedTree

TREES = ("breadth-first",)
"""The trees there are."""


def spanning_tree(network: Network, root: int, kind: str, flits: Ints, ports: str) -> RootedTree:
    """Return a spanning tree by its name. Raises PlanError when there is none of that name."""
    if kind != "breadth-first":
        raise PlanError(f"{kind!r} is no spanning tree: write one of {', '.join(TREES)}")
    return breadth_first(network, root)


def breadth_first(network: Network, root: int) -> RootedTree:
    """Return a tree of shortest paths: each node below the first neighbour that reaches it."""
    from treecast.kernels.streams import breadth_first as search

    parent, port = np.full((2, network.nodes), -1, np.int32)
    order = search(*network.arc_lists(), network.check_node(root), parent, port)
    return RootedTree(network, root, parent, port, order)
