"""Fabrics with dead cables: which cables a graph lacks, by the switches that have all of theirs.

Switches of one kind often lead to the same others: those above the leaves of a fabric, or in a pod. One that leads to all but few
of these lacks the cables to the rest.
"""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from treecast.networks.arcs import arcs_of

if TYPE_CHECKING:
    from treecast.networks.graph import Graph

_MOST_AT_ONE = 4  # cables that one switch lacks
_MOST = 32  # that all lack

_Kind = tuple[int, tuple[tuple[int, int], ...]]
"""How many cables a relay has to ranks, and to which relays it has how many, in the order of these."""


def lacking(network: "Graph") -> list[tuple[int, int]]:
    """Return the cables that relays lack beside others that lead to the same ones; none where that would be many.

    >>> import networkx as nx
    >>> from treecast import network
    >>> fabric = nx.Graph([(f"host{leaf}", f"leaf{leaf}") for leaf in range(4)])
    >>> fabric.add_edges_from((f"leaf{leaf}", f"spine{spine}") for leaf in range(4) for spine in range(3))
    >>> nx.set_node_attributes(fabric, {name: name[0] != "h" for name in fabric}, "relay")
    >>> fabric.remove_edge("leaf2", "spine0")
    >>> found = network(fabric)
    >>> [found.labels(ends) for ends in lacking(found)]
    [['leaf2', 'spine0']]
    """
    if network.relays is None or not network.both_ways or network.past_routes is not None:
        return []
    arcs, relay = arcs_of(network), network.relays
    to_ranks = np.bincount(arcs.tail[~relay[arcs.head]], minlength=network.nodes).tolist()
    cables = defaultdict[int, Counter[int]](Counter)
    above = relay[arcs.tail] & relay[arcs.head]
    for u, v in zip(arcs.tail[above].tolist(), arcs.head[above].tolist(), strict=True):
        cables[u][v] += 1
    kind: dict[int, _Kind] = {u: (to_ranks[u], tuple(sorted(to.items()))) for u, to in cables.items()}
    size = {u: to.total() for u, to in cables.items()}
    many, found = Counter(kind.values()), Counter[tuple[int, int]]()
    for u, to in cables.items():
        # relays beside it, below the same one, with few cables more
        fuller = {kind[v]: cables[v] for v in cables[next(iter(to))] if 0 < size[v] - size[u] <= _MOST_AT_ONE}
        # of these such as have all of its cables, and are no rarer
        fuller = {
            other: its
            for other, its in fuller.items()
            if other[0] == to_ranks[u] and many[other] >= many[kind[u]] and to <= its
        }
        if fuller:
            best = max(fuller, key=lambda other: (many[other], other))
            for v, count in (fuller[best] - to).items():
                found[min(u, v), max(u, v)] = count
    return sorted(found.elements()) if found.total() <= _MOST else []
