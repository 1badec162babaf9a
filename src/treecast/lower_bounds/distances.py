"""What proofs of lower bounds count: distances between nodes, and disjoint ways."""

from functools import lru_cache

import numpy as np

from treecast.errors import NetworkError, PlanError
from treecast.networks import Network
from treecast.networks.core import Ints

LOOKED_AT = 256
"""In a network that looks different from its nodes, each of so many nodes is looked at; of more nodes, only node 0."""
_MOST_DISTANCES = 2**20  # that are computed one by one to tell how long several ways are


@lru_cache(64)
def degrees(network: Network) -> Ints:
    """Return how many arcs leave each node."""
    return np.array([network.degree_at(v) for v in range(network.nodes)])


def looked_at(network: Network) -> range:
    """Return the nodes whose distances are counted: node 0 if the network looks alike from all nodes or has too many of them."""
    return range(1) if network.nodes > LOOKED_AT else network.views


@lru_cache(1024)
def _levels(network: Network, node: int) -> tuple[int, ...]:
    try:
        return network.levels(node)
    except NetworkError as error:
        raise PlanError(str(error)) from error


def levels(network: Network, node: int) -> tuple[int, ...]:
    """Return how many nodes are 0, 1, 2 … arcs from ``node``. Raises PlanError when there are too many to count."""
    return _levels(network, 0 if network.seen_alike else node)


@lru_cache(1024)
def ways(network: Network, node: int, copies: int) -> tuple[int, str]:
    """Return the least number of arcs of x disjoint ways from ``node`` to each other node, in total, and the formula in words.

    Disjoint ways begin with different arcs, and one that begins with the arc to w has at least 1 + distance(w, target)
    arcs. That is h over the f arcs that lead nearer, and on bipartite networks h + 2 over the others; on the hypercube
    there are such ways (Saad & Schultz 1988). Where this count would take too long, the bound is x times the distance.
    """
    if network.seen_alike and node:
        return ways(network, 0, copies)
    distances = sum(distance * count for distance, count in enumerate(levels(network, node)))
    if copies == 1:
        return distances, "Σ distances"
    if starts := network.shortest_starts():
        more = sum(2 * max(0, copies - near) * count for (far, near), count in starts.items() if far)
        return copies * distances + more, "Σ lengths of x ways"
    first = network.neighbors(node)
    if len(first) * network.nodes > _MOST_DISTANCES:
        return copies * distances, "x Σ distances"
    others = np.delete(np.arange(network.nodes), node)
    lengths = np.sort([1 + network.distance(w, others) for w in first], axis=0)
    return int(lengths[:copies].sum()), "Σ lengths of x ways"


def ways_of_all(network: Network, copies: int) -> tuple[int, str]:
    """Return the same, in total for all nodes; where the distances of one node were counted, one arc for each way."""
    nodes = network.nodes
    if network.seen_alike:
        total, formula = ways(network, 0, copies)
        return nodes * total, f"N {formula}"
    if nodes > LOOKED_AT:
        return copies * nodes * (nodes - 1), "x N (N - 1)"
    found = [ways(network, v, copies) for v in range(nodes)]
    return sum(total for total, _ in found), f"Σ over all nodes of {found[0][1]}"
