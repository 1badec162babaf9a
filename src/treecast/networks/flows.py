"""Over how many ways a network can be reached from a root, and node-disjoint paths of least total length.

The most ways that share no arc are as many as arc-disjoint spanning trees with that root (Edmonds 1973), by Menger's theorem
the fewest arcs that cut some node off; of ways that share no node the fewest nodes that do.

Node-disjoint paths of least length are a flow of x units of least cost through a network whose nodes are split and carry one
unit each, one way after the other along the cheapest change of those before (successive shortest paths: Busacker & Gowen 1960,
Suurballe 1974).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.against import Against
from treecast.errors import NetworkError
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints, Network, ints
from treecast.networks.kept import kept
from treecast.ragged import read_only


def least_lengths(network: Network, root: int, nodes: ArrayLike, copies: int) -> Ints:
    """Return the least total length of 1 … x node-disjoint paths from ``root`` to each of some nodes, in arcs: int64 (n, x).

    Entry [i, j] is that of j + 1 ways to ``nodes[i]``, -1 where there are not so many. Raises NetworkError for a number that
    names no node, and a way from a node to itself.

    >>> from treecast import network
    >>> star = network("star:4")
    >>> least_lengths(star, 0, star.neighbors(0), 3).tolist()
    [[1, 6, 11], [1, 6, 11], [1, 6, 11]]
    """
    from treecast.networks.kernels.disjoint_paths import least_lengths as fill_in

    goals = np.array([_end(network, root, v) for v in ints(nodes).tolist()], np.int64)
    lengths = np.zeros((len(goals), copies), np.int64)
    arcs, price = _split(network)
    fill_in(*arcs[:5], network.nodes + network.check_node(root), goals, price, lengths)
    return lengths


def disjoint_paths(network: Network, root: int, node: int, copies: int) -> list[list[int]]:
    """Return x node-disjoint paths from ``root`` to ``node`` whose total length is least, each as the ports that it takes.

    The shortest way comes first, of equally long ones that which leaves by the lower port. Raises NetworkError when there are
    not so many ways, for a number that names no node, and for a way from a node to itself.

    >>> from treecast import network
    >>> disjoint_paths(network("hypercube:3"), 0, 0b011, 3)
    [[0, 1], [1, 0], [2, 0, 1, 2]]
    """
    from treecast.networks.kernels.disjoint_paths import arcs_of_paths

    goal = _end(network, root, node)
    _, target, source, _, _, port = arcs_of(network)
    twice, price = _split(network)
    used, start = np.zeros(len(price), np.bool_), network.nodes + network.check_node(root)
    found = int(arcs_of_paths(*twice[:5], start, goal, price, used, copies))
    if found < copies:
        raise NetworkError(
            f"there are {found} node-disjoint paths from {network.label(root)} to {network.label(node)} on {network.spec}, "
            f"not {copies}"
        )
    # the arcs inside of nodes stand before all others
    arcs = np.flatnonzero(used[network.nodes :])
    after = dict(zip(source[arcs].tolist(), arcs.tolist(), strict=True))  # between the ends a node is on one way
    ways = list[list[int]]()
    for arc in arcs[source[arcs] == root].tolist():
        way = [int(port[arc])]
        while (at := int(target[arc])) != goal:
            arc = after[at]
            way.append(int(port[arc]))
        ways.append(way)
    return sorted(ways, key=lambda way: (len(way), way))


def split(arcs: Arcs) -> Arcs:
    """Return a graph in which each node v is two, v and v + N: arcs into v lead to the one, those out of it from the other.

    Arc v leads from v to v + N; arc a becomes arc N + a.

        arcs into v ──▶ v ── arc v ──▶ v + N ──▶ arcs out of v        arc v can be used once, and so can the node
    """
    nodes, count = len(arcs.first) - 1, len(arcs.head)
    every = np.arange(nodes)
    columns = (
        (every, nodes + arcs.first),
        (every + nodes, arcs.head),
        (every, arcs.tail + nodes),
        (arcs.into, count + 1 + every),
        (nodes + arcs.entering, every),
        (every, arcs.port),
    )
    types = (column.dtype for column in arcs)
    return Arcs(*(read_only(np.concatenate(each), kind) for each, kind in zip(columns, types, strict=True)))


def _split(network: Network) -> tuple[Arcs, Ints]:
    """Return the arcs of a network as ``split`` has them, and their lengths."""
    arcs = split(arcs_of(network))
    return arcs, (np.arange(len(arcs.head)) >= network.nodes).astype(np.int64)


def _end(network: Network, root: int, node: int) -> int:
    if network.check_node(node) == root:
        raise NetworkError(f"{network.label(node)} is where the paths begin: they need two nodes")
    return node


_MOST_NODES = 2**12  # whose connectivity is counted


class Fewest(NamedTuple):
    """The least number of ways to any node but the root, and a node to which no more lead."""

    ways: int
    node: int


def away(arcs: Arcs, nodes: ArrayLike, *, back: bool = False, avoided: int = -1) -> NDArray[np.int32]:
    """Return how many arcs each node is from the nearest of some nodes, or ``back`` to it, by ways round node ``avoided``.

    int32 (N,), -1 where no way leads.
    """
    from treecast.networks.kernels.flows import distances

    far = np.empty(len(arcs.first) - 1, np.int32)
    first, head = (arcs.into, read_only(arcs.tail[arcs.entering], np.int32)) if back else (arcs.first, arcs.head)
    distances(first, head, read_only(np.asarray(nodes), np.int32), avoided, far)
    return far


def fewest_apart(network: Network, root: int, against: Against) -> Fewest:
    """Return over how few ways some rank can be reached from ``root`` that share no part which may fail.

    The ways share no node but the ends, no link or no arc. Several arcs from one node to another are one link. Relays want
    nothing: ways lead past them, and need not lead to them.

    >>> from treecast.networks import network
    >>> [fewest_apart(network("tree:2,2"), 0, against).ways for against in ("nodes", "links", "arcs")]
    [1, 1, 1]
    """
    if against == "arcs" or network.nodes == 1:
        return fewest_ways(network, root, ranks=True)
    return fewest_ways(network, root, nodes=against == "nodes", single=True, ranks=True)


@kept(64)
def fewest_ways(
    network: Network, root: int, *, nodes: bool = False, single: bool = False, ranks: bool = False
) -> Fewest:
    """Return over how few ways some node can be reached from ``root``, and a node to which no more lead: of two nodes or more.

    The ways share no arc; with ``nodes`` no node but the ends, either. ``single``: of several arcs from one node to another only
    one counts. Then the ways can share no link either: two that go over a link both ways can exchange their rests, and need
    neither of its arcs. ``ranks``: only the ways to ranks count, not those to relays. Raises NetworkError when ``root`` is no
    node.

    >>> from treecast.networks import network
    >>> fewest_ways(network("mesh:4x4"), 0), fewest_ways(network("tree:2,2"), 0).ways
    (Fewest(ways=2, node=15), 1)
    """
    from treecast.networks.kernels.flows import fewest_ways as count

    arcs = arcs_of(network, single=single)
    counted = network.ranks if ranks else np.arange(network.nodes)
    far = network.distance(network.check_node(root), counted)
    # the nearest first, who is not reached last
    order = counted[np.argsort(np.where(far < 0, network.nodes, far), kind="stable")]
    others = counted[counted != root]
    if not len(others):
        return Fewest(1, root)
    # No more ways than arcs at either end. So a node that few arcs enter is the first to ask.
    leaving, entering = np.diff(arcs.first)[root], np.diff(arcs.into)[others]
    least = int(others[np.argmin(entering)])
    most = int(min(leaving, entering.min()))
    if most <= 1:  # nothing to count: some way leads everywhere, or nowhere
        return Fewest(1, least if entering.min() == 1 else int(order[-1]))
    # ways begin behind the arc inside of the root, which they need not share
    start = root + network.nodes if nodes else root
    found, where = count(*(split(arcs) if nodes else arcs)[:5], order[order != root], start, most)
    # as many ways as an end has arcs, so that end tells where
    if found == most:
        where = least if most < leaving else int(order[-1])
    return Fewest(int(found), int(where))


@kept(64)
def connectivity(network: Network) -> int:
    """Return over how many node-disjoint paths every rank reaches every other; if nodes are many, the least degree, a bound.

    Fewest nodes that cut the network leave out one of as many nodes and one more. That one is cut off from some node, or some
    node from it: then it is cut off with the arcs turned round.

    >>> from treecast.networks import network
    >>> connectivity(network("mesh:3x3")), connectivity(network("path:1"))
    (2, 1)
    """
    if network.rank_count == 1:
        return 1
    if network.seen_alike and network.nodes > _MOST_NODES:
        return network.degree
    arcs, ranks = arcs_of(network, single=True), network.ranks
    least = int(min(np.diff(arcs.first)[ranks].min(), np.diff(arcs.into)[ranks].min()))
    # Of N nodes with N - 2 arcs or more each way, two with no arc between have all others as neighbours.
    if least <= 1 or least >= network.nodes - 2 or network.nodes > _MOST_NODES:
        return max(least, 1)
    roots = ranks[: 1 if network.seen_alike else least + 1].tolist()
    both = (network, network.reversed())
    return min(least, *(fewest_apart(some, root, "nodes").ways for root in roots for some in both))


@kept(64)
def arc_connectivity(network: Network, against: Against = "links") -> int:
    """Return over how many ways that share no link, or no arc, every rank reaches every other.

    So many arcs lead out of each set of nodes that parts the ranks: one of the two sides of a cut has the first rank.

    >>> from treecast.networks import network
    >>> arc_connectivity(network("mesh:3x3")), arc_connectivity(network("path:1"))
    (2, 1)
    """
    if network.rank_count == 1:
        return 1
    return min(fewest_apart(some, int(network.ranks[0]), against).ways for some in (network, network.reversed()))


def least_cut(network: Network, root: int, node: int, against: Against = "nodes") -> list[str]:
    """Return fewest nodes, links or arcs without which no way leads from ``root`` to ``node``, as people write them.

    Where an arc leads from the one to the other, no nodes cut it: then its link stands behind the nodes that cut all other ways.

    >>> from treecast.networks import network
    >>> mesh = network("mesh:3x3")
    >>> least_cut(mesh, 0, 8), least_cut(mesh, 0, 1), least_cut(mesh, 0, 1, "arcs")
    (['1,2', '2,1'], ['1,0', '0,0-0,1'], ['0,0>0,1', '0,0>1,0'])
    """
    import networkx

    nx: Any = networkx
    arcs = arcs_of(network, single=against != "arcs")
    count = Counter(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    graph.add_edges_from((u, v, {"capacity": many}) for (u, v), many in count.items())
    if not nx.has_path(graph, root, node):
        return []
    label = network.label
    if against != "nodes":
        # the arcs out of the side of the root are the cut
        reached = nx.minimum_cut(graph, root, node)[1][0]
        sign = ">" if against == "arcs" else "-"
        return [f"{label(u)}{sign}{label(v)}" for u, v in sorted(count) if u in reached and v not in reached]
    direct = [f"{label(root)}-{label(node)}"] if (root, node) in count else []
    rest = nx.restricted_view(graph, [], [(root, node), (node, root)])
    found: Iterable[int] = nx.minimum_node_cut(rest, root, node) if nx.has_path(rest, root, node) else []
    return network.labels(sorted(found)) + direct
