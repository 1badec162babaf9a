"""The arcs over which trees are packed where there are relays, which trees need not lead to.

As many ways as there are trees lead to each rank, but fewer may lead to a relay. A relay that the ranks do not need is left out.
Another may hear over the same arc in several trees: then each arc into it stands there once for each tree. After that as many
arcs enter every set of nodes without the root as there are trees: a set with a rank has so many anyway. So the trees are
there (Edmonds 1973), and none share an arc that leads to a rank.
"""

from typing import NamedTuple

import numpy as np

from treecast.against import Against
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of, sorted_arcs
from treecast.networks.core import Ints
from treecast.networks.flows import split
from treecast.networks.kept import kept

_MOST_TRIED = 2**24  # relays that are left out one by one, times ranks, times arcs


class Subgraph(NamedTuple):
    """Some nodes of a network, and arcs between them: ``arc[a]`` is the number of arc a, ``node[v]`` the node v, of the whole.

    ``arcs`` are numbered from 0, and so are the nodes. Some may stand there several times.
    """

    arcs: Arcs
    arc: Ints
    node: Ints


@kept(64)
def part_for(network: Network, root: int, trees: int, against: Against) -> Subgraph:
    """Return the nodes and arcs over which so many trees lead from a root to every rank.

    There are at most ``fewest_apart(network, root, against).ways``. The arcs are those of ``arcs_of(network)``; against nodes
    and links, those with ``single``.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.Graph([(0, 1), (1, 2), (2, 0), (0, "hanging"), (1, "between"), (2, "between")])
    >>> nx.set_node_attributes(wired, {"hanging": True, "between": True}, "relay")
    >>> part_for(network(wired), 0, 2, "nodes").node.tolist()
    [0, 1, 2, 4]
    """
    arcs = arcs_of(network, single=against != "arcs")
    whole = Subgraph(arcs, np.arange(len(arcs.head)), np.arange(network.nodes))
    if network.relays is None or trees == 1:
        return whole
    part, apart = whole, against == "nodes"
    while True:
        lacking = _lacking(network, root, trees, part)
        kept = _needed(network, root, trees, part, lacking, apart=apart)
        if len(kept) == len(part.node):
            break
        part = _within(part, kept)
    if not len(lacking):
        return part
    times = np.where(np.isin(part.arcs.head, lacking), trees, 1)
    tail, head, port = (np.repeat(column, times) for column in (part.arcs.tail, part.arcs.head, part.arcs.port))
    return Subgraph(sorted_arcs(tail, head, port, len(part.node)), np.repeat(part.arc, times), part.node)


def _lacking(network: Network, root: int, trees: int, part: Subgraph) -> Ints:
    """Return the relays, as numbered in a part, to which fewer arc-disjoint paths lead than there are trees."""
    relays = np.zeros(0, np.int64) if network.relays is None else np.flatnonzero(network.relays[part.node])
    return np.array([w for w in relays.tolist() if _ways(part, root, np.array([w]), trees, False) < trees], np.int64)


def _ways(part: Subgraph, root: int, ends: Ints, most: int, apart: bool) -> int:
    """Return over how many ways each of some nodes of a part can be reached from a node of the network, at most ``most``."""
    from treecast.networks.kernels.flows import fewest_ways

    start = np.searchsorted(part.node, root) + (len(part.node) if apart else 0)
    arcs = split(part.arcs) if apart else part.arcs
    return int(fewest_ways(*arcs[:5], ends, start, most)[0])


def _needed(network: Network, root: int, trees: int, part: Subgraph, lacking: Ints, *, apart: bool) -> Ints:
    """Return the nodes of a part, by their numbers there, without those of some relays that no rank needs."""
    every = np.arange(len(part.node))

    def suffice(kept: Ints) -> bool:
        left = _within(part, kept)
        ends = np.searchsorted(left.node, network.ranks[network.ranks != root])
        return _ways(left, root, ends, trees, apart) >= trees

    if not len(lacking):
        return every
    kept = np.setdiff1d(every, lacking)
    if suffice(kept):
        return kept
    if len(lacking) * network.rank_count * len(part.arcs.head) > _MOST_TRIED:
        return every
    kept = every
    for relay in lacking.tolist():
        fewer = kept[kept != relay]
        kept = fewer if suffice(fewer) else kept
    return kept


def _within(part: Subgraph, kept: Ints) -> Subgraph:
    """Return the rest of a part, between some of its nodes, which are numbered anew."""
    number = np.full(len(part.node), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    inside = (number[part.arcs.tail] >= 0) & (number[part.arcs.head] >= 0)
    tail, head = number[part.arcs.tail[inside]], number[part.arcs.head[inside]]
    arcs = sorted_arcs(tail, head, part.arcs.port[inside], len(kept))
    return Subgraph(arcs, part.arc[inside], part.node[kept])
