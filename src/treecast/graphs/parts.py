"""Parts of a network that few arcs join: whatever ranks of all parts add up has to pass these arcs again and again."""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.arcs import arcs_of
from treecast.networks.core import Network
from treecast.networks.kept import kept

_MOST_ARCS = 2**16  # of a network that is searched


class Parts(NamedTuple):
    """A network in ``groups`` parts with ranks, between which ``arcs`` arcs lead; ``part``: int64 (N,), that of each node."""

    groups: int
    arcs: int
    part: NDArray[np.int64]


@kept(64)
def weakest_parts(network: Network) -> Parts | None:
    """Return parts with many of them for each arc between them; None of networks of more than 65,536 arcs or of one rank.

    At first each node is a part. Those two become one that most arcs join, again and again. The best on the way are taken: those
    of the least quotient of arcs by parts less one. There may be better ones (Cunningham 1985 has the best).

    Two pairs of nodes with four cables within and one between:

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> pairs = nx.Graph([("a", "b", {"capacity": 4}), ("c", "d", {"capacity": 4}), ("b", "c"), ("a", "d")])
    >>> weakest_parts(network(pairs))
    Parts(groups=2, arcs=4, part=array([0, 0, 1, 1]))
    """
    arcs = arcs_of(network)
    if network.rank_count == 1 or len(arcs.head) > _MOST_ARCS:
        return None
    joined = {v: dict[int, int]() for v in range(network.nodes)}
    for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        joined[u][v] = joined[v][u] = joined[u].get(v, 0) + 1
    has_rank = np.isin(np.arange(network.nodes), network.ranks).tolist()
    count, between, merged = network.rank_count, len(arcs.head), list[tuple[int, int]]()
    best, at = (network.nodes * between + 1, 1), 0  # arcs and parts less one
    heap = [(-many, u, v) for u, near in joined.items() for v, many in near.items() if u < v]
    heapify(heap)
    while heap and count > 1:
        if between * best[1] < best[0] * (count - 1):
            best, at = (between, count - 1), len(merged)
        many, u, v = heappop(heap)
        if joined[u].get(v) != -many:
            continue  # one of them has grown since, or is gone
        merged.append((u, v))
        between += many
        count -= has_rank[u] and has_rank[v]
        has_rank[u] = has_rank[u] or has_rank[v]
        del joined[u][v]
        for w, more in joined[v].items():
            if w != u:
                joined[u][w] = joined[w][u] = joined[u].get(w, 0) + more
                del joined[w][v]
                heappush(heap, (-joined[u][w], min(u, w), max(u, w)))
        joined[v] = {}
    part = np.arange(network.nodes)
    for u, v in reversed(merged[:at]):
        part[v] = part[u]
    return Parts(best[1] + 1, best[0], np.unique(part, return_inverse=True)[1])
