"""How deep several trees of one root are at least, when they share no arc."""

import numpy as np

from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.flows import away
from treecast.networks.kept import kept

_FAR = 2**30
_MOST = 2**24  # arcs of the root times arcs of the network: of more only the eccentricity counts


@kept(64)
def least_depth(network: Network, root: int, trees: int) -> int:
    """Return a lower bound of the depth of k arc-disjoint spanning trees of a root, on a network of two nodes or more.

    The ways to a node begin with different arcs of the root, and end with different arcs of the node. Of the ways over an arc of
    the root none is shorter than the shortest that begins so and does not come back to the root. So of the k ways some is
    as long as the k-th shortest of these, and likewise of the arcs that they end with. With as many trees as the root
    has arcs, each arc begins one.

    >>> from treecast.networks import network
    >>> least_depth(network("torus:4x4x4"), 0, 6), least_depth(network("mesh:4x4"), 0, 2)
    (7, 6)
    """
    ecc = network.eccentricity(root)
    if trees == 1 or network.degree_at(root) * network.arcs > _MOST:
        return ecc
    arcs = arcs_of(network)
    starts = arcs.head[arcs.first[root] : arcs.first[root + 1]].tolist()
    shortest = np.empty((len(starts), len(arcs.head)), np.int64)  # from each arc of the root, over each last arc
    for way, start in zip(shortest, starts, strict=True):
        last = away(arcs, [start], avoided=root)[arcs.tail]
        # the arc of the root, the way, and the last arc
        way[:] = np.where((last < 0) | (arcs.head == start), _FAR, last + 2)
        way[(arcs.tail == root) & (arcs.head == start)] = 1
    others = network.ranks[(network.ranks != root) & (np.diff(arcs.into)[network.ranks] > 0)]
    ordered = np.append(shortest[:, arcs.entering], np.full((len(starts), 1), _FAR), axis=1)
    # reduceat takes begin, end, begin, end …: every second result lies between two nodes
    ends = np.stack([arcs.into[others], arcs.into[others + 1]], axis=1).reshape(-1)
    first = np.minimum.reduceat(ordered, ends, axis=1)[:, ::2] if len(others) else ordered
    farthest = np.sort(first, axis=0)[trees - 1]  # the k-th shortest
    found = [int(farthest[farthest < _FAR].max(initial=0))]
    least = ordered.min(axis=0)
    found += [int(np.sort(least[arcs.into[v] : arcs.into[v + 1]])[trees - 1]) for v in others.tolist()]
    return max([ecc, *(depth for depth in found if depth < _FAR)])
