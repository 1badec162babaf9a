"""The arc-disjoint spanning trees of the complete network: each leads to its own relay, and from there to all other nodes.

Seen from the root (modulo N), the relay of tree j is node j + 1: the root's child, and the parent of all others. Arcs of two
trees lead from different nodes, or from the root to different nodes, so the N - 1 trees are arc-disjoint. The ways of two
trees to a node share no other node: their only inner nodes are their relays.
"""

import numpy as np

from treecast.networks.complete import Complete
from treecast.plans.trees.disjoint import DisjointTrees
from treecast.plans.trees.hops import TreeHop, check_tree, children_by, depth_by
from treecast.schedule.trees import TreeSet


def exact_depth(nodes: int) -> int:
    """Return the depth of the trees in arcs: 2, and N - 1 for N up to 2."""
    return min(2, nodes - 1)


def disjoint_trees(network: Complete, root: int = 0) -> TreeSet:
    """Return the N - 1 arc-disjoint spanning trees at ``root`` as arrays of shape (N - 1, N)."""
    network.check_node(root)
    every, trees = np.arange(network.nodes), network.ports
    relay = network.translate(root, np.arange(trees) + 1)[:, None]
    parent = np.where(every == relay, root, relay).astype(np.int32)
    parent[:, root] = -1
    port = network.port_between(parent, every).astype(np.int32)
    port[:, root] = -1
    return TreeSet(network, root, parent, port, tuple(range(trees)))


def parent(network: Complete, node: int, tree: int, root: int = 0) -> TreeHop | None:
    """Return the parent of ``node`` in a tree, and the port from there; None at the root. It needs the label and nothing else."""
    relay = _relay(network, tree, root)
    if network.check_node(node) == root:
        return None
    above = root if node == relay else relay
    return above, int(network.port_between(above, node))


children, depth_of = children_by(parent), depth_by(parent)


def _relay(network: Complete, tree: int, root: int) -> int:
    return int(network.translate(network.check_node(root), check_tree(network, tree) + 1))


def _depth(network: Complete) -> int:
    return exact_depth(network.nodes)


DISJOINT_TREES = DisjointTrees(
    family="complete", disjoint_trees=disjoint_trees, depth=_depth, parent=parent, children=children, depth_of=depth_of
)
