"""Trees without relays that pass nothing on: those below which there is no rank."""

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Network


def pruned(
    network: Network, parent: NDArray[np.int32], port: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the parents and ports of a tree, int32 (N,) as ``Tree`` has them, without the relays below which there is no
    rank.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.path_graph(4)
    >>> wired.nodes[1]["relay"] = wired.nodes[3]["relay"] = True
    >>> parent, port = np.array([[-1, 0, 1, 2], [-1, 0, 1, 1]], np.int32)
    >>> pruned(network(wired), parent, port)[0].tolist()
    [-1, 0, 1, -1]
    """
    if network.relays is None:
        return parent, port
    relays, parent, port = network.relays, parent.copy(), port.copy()
    children = np.bincount(parent[parent >= 0], minlength=network.nodes)
    idle = np.flatnonzero(relays & (parent >= 0) & (children == 0))
    while len(idle):
        above = parent[idle]
        parent[idle] = port[idle] = -1
        np.subtract.at(children, above, 1)
        above = np.unique(above)
        idle = above[relays[above] & (parent[above] >= 0) & (children[above] == 0)]
    return parent, port
