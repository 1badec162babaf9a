"""The arc-disjoint spanning trees of the complete network: each leads to its own relay, and from there to all other nodes.

Seen from the root (modulo N), the relay of tree j is node j + 1: the root's child, and the parent of all others. Arcs of two
trees lead from different nodes, or from the root to different nodes, so the N - 1 trees are arc-disjoint. The ways of two
trees to a node share no other node: their only inner nodes are their relays.
"""

import numpy as np

from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.ways.trees.disjoint import DisjointTrees


def _parents(network: Complete, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    relay = network.translate(root, tree + 1)
    above = np.where(nodes == relay, root, relay)
    return above, network.port_between(above, nodes)


DISJOINT_TREES = DisjointTrees(
    _parents, turned=True, family="complete", depth=lambda network: min(2, network.nodes - 1)
)
