"""The edge-disjoint spanning trees of the hypercube. Source: Johnsson & Ho, "Optimum Broadcasting and Personalized
Communication in Hypercubes" (1989).

Seen from the root (xor), tree j has the root's child over dimension j. The parent of a node whose bit j is 0 lies over
dimension j; that of any other node over the next bit that is 1, cyclically after j (j itself when it is the only one).
The d trees are arc-disjoint, the d ways to any node are node-disjoint, and tree j + 1 is the rotation of tree j.
"""

from collections.abc import Sequence

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.hypercube import rotate_bits
from treecast.plans.order import check_order
from treecast.plans.ways.trees.disjoint import DisjointTrees
from treecast.plans.ways.trees.hops import ParentRule
from treecast.schedule.trees import TreeSet


def exact_depth(d: int) -> int:
    """Return the depth of the edge-disjoint trees in arcs: d + 1, and 1 for d = 1."""
    return d + 1 if d > 1 else d


def parent_ports(cube: Network, seen: Ints, tree: int | Ints) -> Ints:
    """Return the dimension over which the parent lies of the nodes ``seen`` from the root; the arrays broadcast."""
    behind = rotate_bits(seen, -(tree + 1), cube.ports)  # bit tree + 1 first, bit tree last
    # how many 0s stand below the lowest 1
    place = np.bitwise_count((behind & -behind) - 1).astype(np.int64)
    return np.where(seen >> tree & 1, (place + tree + 1) % cube.ports, tree)


def _parents(cube: Network, root: int, nodes: Ints, tree: Ints) -> tuple[Ints, Ints]:
    port = parent_ports(cube, nodes ^ root, tree)
    return nodes ^ (np.int64(1) << port), port


RULE = ParentRule(_parents, turned=True)
disjoint_trees, parent, children, depth_of = RULE.trees, RULE.parent, RULE.children, RULE.depth_of


def calling_trees(cube: Network, order: Sequence[int] | None = None, root: int = 0) -> TreeSet:
    """Return the d trees of calling paths: in tree j the path to a node begins with the j-th dimension of the order.

    It goes on, cyclically, with the dimensions in which the node differs from the root, and comes back over the j-th if it must.
    Up to the end of the order its calls belong to the first phase, the rest to the second.
    These are the trees of Johnsson & Ho, with the dimensions in reverse. The d paths to a node are node-disjoint
    (Theorem 1 of Chau & Fu). int arrays of shape (d, 2^d).
    """
    dims = np.array(check_order(cube.ports, order)[::-1], np.int64)
    every = np.arange(cube.nodes)
    # bit i: the dimension that is used i-th from the end
    seen = (((every ^ root)[:, None] >> dims & 1) << np.arange(cube.ports)).sum(axis=1)
    trees = disjoint_trees(cube)
    port = dims[trees.port[::-1][:, seen].astype(np.int64)].astype(np.int8)
    parent = (every ^ (np.int64(1) << port.astype(np.int64))).astype(np.int32)
    port[:, root] = parent[:, root] = -1
    return TreeSet(cube, root, parent, port)


DISJOINT_TREES = DisjointTrees(_parents, turned=True, family="hypercube", depth=lambda cube: exact_depth(cube.ports))
