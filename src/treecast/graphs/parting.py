"""Relays that whatever all ranks hear has to pass: those without which ranks are cut off from others, and some of the rest."""

import numpy as np
from numpy.typing import ArrayLike

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints, Network, ints
from treecast.networks.kept import kept

_MOST_NODES = 2**14  # of a network that is searched


@kept(64)
def relays_passed(network: Network) -> int:
    """Return a number of relays that every tree over all ranks has at least; 0 where there are more than 16,384 nodes.

    It has the p nodes that are ranks or part ranks. Arcs join these among themselves to c pieces, so p - c links of the tree at
    most lie between them. Each of its s other relays has d neighbors or fewer. So p + s - 1 <= p - c + s d.

    >>> from treecast.networks import network
    >>> relays_passed(network("fat-tree:2")), relays_passed(network("ring:5"))
    (5, 0)
    """
    if network.relays is None or network.nodes > _MOST_NODES or network.rank_count == 1:
        return 0
    kept, parting = ~network.relays, parting_relays(network)
    kept[parting] = True
    beside, pieces = _beside(network), 0
    left = set(np.flatnonzero(kept).tolist())
    while left:
        pieces += 1
        way = [left.pop()]
        while way:
            near = beside[way.pop()] & left
            left -= near
            way += near
    most = max((len(beside[w]) for w in np.flatnonzero(~kept).tolist()), default=0)
    return len(parting) + (-(-(pieces - 1) // (most - 1)) if most > 1 else 0)


def _beside(network: Network) -> dict[int, set[int]]:
    """Return the neighbors of each node, arcs taken both ways."""
    arcs = arcs_of(network, single=True)
    found = {v: set[int]() for v in range(network.nodes)}
    for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        found[u].add(v)
        found[v].add(u)
    return found


@kept(64)
def parting_relays(network: Network) -> Ints:
    """Return the relays that part ranks, arcs taken both ways: int64, ascending; none of networks of more than 16,384 nodes.

    A depth-first search numbers the nodes from a rank on. A relay parts ranks if from below one of its children, ranks among
    them, no arc leads back above it (Hopcroft & Tarjan 1973).

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "end")])
    >>> nx.set_node_attributes(wired, {"s": True, "t": True, "end": True}, "relay")
    >>> where = network(wired)
    >>> where.labels(parting_relays(where))
    ['s', 't']
    """
    if network.relays is None or network.nodes > _MOST_NODES or network.rank_count == 1:
        return np.zeros(0, np.int64)
    beside = _beside(network)
    root, ranks = int(network.ranks[0]), (~network.relays).tolist()  # whether a rank is among a node and those below
    number, parent = {root: 0}, {root: root}
    way = [(root, iter(beside[root]))]
    while way:
        u, left = way[-1]
        v = next((v for v in left if v not in number), -1)
        if v < 0:
            way.pop()
            continue
        number[v], parent[v] = len(number), u
        way.append((v, iter(beside[v])))
    # the first that each node or one below leads to
    above = {v: min(number[w] for w in beside[v]) for v in parent if v != root}
    found = set[int]()
    for v, u in reversed(list(parent.items())[1:]):  # those below come before
        if u == root:
            continue
        if network.relays[u] and ranks[v] and above[v] == number[u]:
            found.add(u)
        above[u], ranks[u] = min(above[u], above[v]), ranks[u] or ranks[v]
    return np.array(sorted(found), np.int64)


def far_and_back(network: Network, nodes: ArrayLike) -> tuple[Ints, Ints]:
    """Return those of some nodes that are joined to all ranks both ways, and of each the farthest way there and back, in arcs.

    >>> from treecast.networks import network
    >>> far_and_back(network("path:3"), range(3))
    (array([0, 1, 2]), array([4, 2, 4]))
    """
    every = ints(nodes)
    far = np.stack([some.distance(every[:, None], network.ranks) for some in (network, network.reversed())])
    joined = (far >= 0).all(axis=(0, 2))
    return every[joined], far.max(axis=2).sum(axis=0)[joined]
