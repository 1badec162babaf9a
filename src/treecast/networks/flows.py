"""Over how many ways a network can be reached from a root: ways that share no arc, or no node.

The first is the number of arc-disjoint spanning trees with that root (Edmonds 1973), by Menger's theorem the fewest arcs that cut
some node off; the second the fewest nodes that do.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints, Network

_MOST_NODES = 2**12  # whose connectivity is counted


class Arcs(NamedTuple):
    """All arcs, sorted by the node that they leave: arc a leads from ``tail[a]`` by ``port[a]`` to ``head[a]``.

    Those that leave u are ``first[u] … first[u+1]-1``; those that enter it ``entering[into[u]] … entering[into[u+1]-1]``.
    """

    first: Ints
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    into: Ints
    entering: NDArray[np.int32]
    port: NDArray[np.int32]


class Fewest(NamedTuple):
    """The least number of ways to any node but the root, and a node to which no more lead."""

    ways: int
    node: int


@lru_cache(8)
def arcs_of(network: Network) -> Arcs:
    """Return all arcs of a network, by their sources and by their targets."""
    from treecast.kernels.views import read_only

    first, head, port = network.arc_lists()
    tail = np.repeat(np.arange(network.nodes, dtype=np.int32), np.diff(first))
    entering = np.argsort(head, kind="stable").astype(np.int32)
    into = np.concatenate([[0], np.cumsum(np.bincount(head, minlength=network.nodes))])
    kinds = (np.int64, np.int32, np.int32, np.int64, np.int32, np.int32)
    columns = (first, head, tail, into, entering, port)
    return Arcs(*(read_only(column, kind) for column, kind in zip(columns, kinds, strict=True)))


@lru_cache(64)
def fewest_ways(network: Network, root: int, *, nodes: bool = False) -> Fewest:
    """Return over how few ways some node can be reached from ``root``: ways that share no arc, or no node.

    Parameters
    ----------
    network
        Where; of two nodes or more.
    root
        Where the ways begin.
    nodes
        Whether the ways to a node are to share no node but the ends, either; else they share no arc.

    Returns
    -------
    Fewest
        The number, and a node to which no more ways lead.

    Raises
    ------
    NetworkError
        When ``root`` is no node.

    Examples
    --------
    >>> from treecast.networks import network
    >>> fewest_ways(network("mesh:4x4"), 0), fewest_ways(network("tree:2,2"), 0).ways
    (Fewest(ways=2, node=15), 1)
    """
    from treecast.kernels.flows import fewest_ways as count

    arcs = arcs_of(network)
    far = network.distance(network.check_node(root), np.arange(network.nodes))
    order = np.argsort(np.where(far < 0, network.nodes, far), kind="stable")
    leaving, entering = np.diff(arcs.first)[root], np.delete(np.diff(arcs.into), root)
    least = int(np.argmin(entering))
    most = int(min(leaving, entering[least]))
    if most <= 1:  # nothing to count: some way leads everywhere, or nowhere
        return Fewest(1, least + (least >= root) if entering[least] == 1 else int(order[-1]))
    found, where = count(*arcs[:5], order, most, nodes)
    if found == most:
        where = least + (least >= root) if most < leaving else int(order[-1])
    return Fewest(int(found), int(where))


@lru_cache(64)
def connectivity(network: Network) -> int:
    """Return over how many node-disjoint ways every node reaches every other; if nodes are many, the least degree, a bound.

    Fewest nodes that cut the network leave out one of as many nodes and one more. That one is cut off from some node, or some
    node from it: then it is cut off with the arcs turned round.

    Examples
    --------
    >>> from treecast.networks import network
    >>> connectivity(network("mesh:3x3")), connectivity(network("path:1"))
    (2, 1)
    """
    if network.nodes == 1:
        return 1
    arcs = arcs_of(network)
    least = int(min(np.diff(arcs.first).min(), np.diff(arcs.into).min()))
    if least <= 1 or network.nodes > _MOST_NODES:
        return max(least, 1)
    roots = range(1 if network.seen_alike else min(network.nodes, least + 1))
    ways = [fewest_ways(some, root, nodes=True).ways for root in roots for some in (network, network.reversed())]
    return min(least, *ways)


def least_cut(network: Network, root: int, node: int) -> list[int]:
    """Return fewest nodes without which no way leads from ``root`` to ``node`` but the arc between them, if there is one.

    Examples
    --------
    >>> from treecast.networks import network
    >>> mesh = network("mesh:3x3")
    >>> mesh.labels(least_cut(mesh, 0, 8))
    ['1,2', '2,1']
    """
    import networkx

    nx: Any = networkx
    graph = nx.restricted_view(nx.DiGraph(network.to_networkx()), [], [(root, node), (node, root)])
    if not nx.has_path(graph, root, node):
        return []
    found = nx.minimum_node_cut(graph, root, node)
    return sorted(int(u) for u in found)
