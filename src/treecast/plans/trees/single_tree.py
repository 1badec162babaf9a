"""One breadth-first tree of any network: what the baselines go down that better plans are measured by."""

import numpy as np

from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.schedule.trees import TreeSet

_CELLS = 1 << 20  # of the table of neighbours that is looked at at once


def breadth_first_tree(network: Network, root: int) -> TreeSet:
    """Return a tree of shortest paths from ``root``, shape (1, N): each node below the first neighbour that reaches it."""
    parent = np.full((1, network.nodes), -1, np.int32)
    port = np.full((1, network.nodes), -1, np.int32)
    reached = np.zeros(network.nodes, bool)
    front = np.array([network.check_node(root)])
    reached[root] = True
    while len(front):
        beyond: list[Ints] = []
        block = max(1, _CELLS // max(1, network.ports))
        for low in range(0, len(front), block):
            part = front[low : low + block]
            there = network.neighbor(part[:, None], np.arange(network.ports)[None, :])
            at, by = np.nonzero((there >= 0) & ~reached[there])
            found, first = np.unique(there[at, by], return_index=True)
            parent[0, found], port[0, found] = part[at[first]], by[first]
            reached[found] = True
            beyond.append(found)
        front = np.sort(np.concatenate(beyond))
    return TreeSet(network, root, parent, port)
