"""The edge-disjoint spanning trees of the hypercube. Source: Johnsson & Ho, "Optimum Broadcasting and Personalized
Communication in Hypercubes" (1989).

Seen from the root (xor), tree j has the root's child over dimension j. The parent of a node whose bit j is 0 lies over
dimension j; that of any other node over the next bit that is 1, cyclically after j (j itself when it is the only one).
The d trees are arc-disjoint, the d ways to any node are node-disjoint, and tree j + 1 is the rotation of tree j.
"""

from itertools import takewhile

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints, ints
from treecast.networks.hypercube import rotate_bits
from treecast.plans.trees.disjoint import DisjointTrees
from treecast.plans.trees.hops import TreeHop, check_tree, depth_by
from treecast.schedule.trees import TreeSet


def exact_depth(d: int) -> int:
    """Return the depth of the edge-disjoint trees in arcs: d + 1, and 1 for d = 1."""
    return d + 1 if d > 1 else d


def disjoint_trees(cube: Network, root: int = 0) -> TreeSet:
    """Return the d edge-disjoint spanning trees of the hypercube at ``root`` as arrays of shape (d, 2^d)."""
    cube.check_node(root)
    every, trees = np.arange(cube.nodes), np.arange(cube.ports)
    port = parent_ports(cube, every ^ root, trees[:, None])
    parent = (every ^ (np.int64(1) << port)).astype(np.int32)
    port = port.astype(np.int8)
    parent[:, root] = port[:, root] = -1
    return TreeSet(cube, root, parent, port, tuple(range(cube.ports)))


def parent_ports(cube: Network, seen: Ints, tree: int | Ints) -> Ints:
    """Return the dimension over which the parent lies of the nodes ``seen`` from the root; the arrays broadcast."""
    behind = rotate_bits(seen, -(tree + 1), cube.ports)  # bit tree + 1 first, bit tree last
    place = np.bitwise_count((behind & -behind) - 1).astype(np.int64)
    return np.where(seen >> tree & 1, (place + tree + 1) % cube.ports, tree)


def parent(cube: Network, node: int, tree: int, root: int = 0) -> TreeHop | None:
    """Return the parent of ``node`` in a tree, and the port from there; None at the root. It needs the label and nothing else."""
    seen = cube.check_node(node) ^ cube.check_node(root)
    if seen == 0:
        return None
    port = int(parent_ports(cube, ints(seen), check_tree(cube, tree)))
    return node ^ (1 << port), port


def children(cube: Network, node: int, tree: int, root: int = 0) -> list[TreeHop]:
    """Return the children of ``node`` in a tree, by port, cyclically from the tree's own. It needs the label and nothing else.

    A node whose bit ``tree`` is 0 is a leaf, or the root. Below any other are the node without that bit, and those with one
    bit more in the gap behind it: up to the next 1-bit, cyclically.
    """
    seen, tree = cube.check_node(node) ^ cube.check_node(root), check_tree(cube, tree)
    ports = [] if seen else [tree]
    if seen >> tree & 1:
        behind = ((tree + turn) % cube.ports for turn in range(1, cube.ports))
        gap = takewhile(lambda port: not seen >> port & 1, behind)
        ports = [*([tree] if seen != 1 << tree else []), *gap]
    return [(node ^ (1 << port), port) for port in ports]


depth_of = depth_by(parent)


def _depth(cube: Network) -> int:
    return exact_depth(cube.ports)


DISJOINT_TREES = DisjointTrees(
    family="hypercube", disjoint_trees=disjoint_trees, depth=_depth, parent=parent, children=children, depth_of=depth_of
)
