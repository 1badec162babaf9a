"""Broadcast down one breadth-first tree of any network: the baseline that better plans are measured by.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
"""

import numpy as np

from treecast.collectives import Collective
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.broadcast import claims, rows_of_trees
from treecast.schedule import Claims, Rows
from treecast.trees import TreeSet

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


def broadcast(network: Network, collective: Collective, copies: int) -> Rows:
    """All-port: all M messages down one shortest-path tree: M + eccentricity of the root - 1 steps, M(N-1) transmissions."""
    return rows_of_trees(breadth_first_tree(network, collective.root), collective.messages, copies)


def broadcast_claims(network: Network, collective: Collective, copies: int) -> Claims:
    """All-port: the closed forms of ``broadcast``."""
    return claims(network, collective, 1, copies, network.eccentricity(collective.root))
