"""The calling paths of Chau & Fu: d node-disjoint paths to every node of the hypercube."""

from collections.abc import Sequence

import numpy as np

from treecast.networks import Network
from treecast.plans.order import check_order
from treecast.plans.ways.trees import hypercube as hypercube_trees
from treecast.schedule.trees import TreeSet


def calling_trees(cube: Network, order: Sequence[int] | None = None, root: int = 0) -> TreeSet:
    """Return the d trees of calling paths: in tree j the path to a node begins with the j-th dimension of the order.

    It goes on, cyclically, with the dimensions in which the node differs from the root, and comes back over the j-th if it must.
    Up to the end of the order its calls belong to the first phase, the rest to the second.
    These are the trees of Johnsson & Ho, with the dimensions in reverse. The d paths to a node are node-disjoint
    (Theorem 1 of Chau & Fu). int arrays of shape (d, 2^d).
    """
    dims = np.array(check_order(cube.ports, order)[::-1], np.int64)
    every = np.arange(cube.nodes)
    seen = (((every ^ root)[:, None] >> dims & 1) << np.arange(cube.ports)).sum(axis=1)
    trees = hypercube_trees.disjoint_trees(cube)
    port = dims[trees.port[::-1][:, seen].astype(np.int64)].astype(np.int8)
    parent = (every ^ (np.int64(1) << port.astype(np.int64))).astype(np.int32)
    port[:, root] = parent[:, root] = -1
    return TreeSet(cube, root, parent, port)
