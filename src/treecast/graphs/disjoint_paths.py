"""Node-disjoint paths of least total length: x ways from one node to another that share no node but these two, and no arc.

They are a flow of x units of least cost through a network whose nodes are split and carry one unit each, one way after the
other along the cheapest change of those before (successive shortest paths: Busacker & Gowen 1960, Suurballe 1974).
"""

import numpy as np
from numpy.typing import ArrayLike

from treecast.errors import NetworkError
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.core import Ints, Network, ints
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
    from treecast.kernels.graphs.disjoint_paths import least_lengths as fill_in

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
    from treecast.kernels.graphs.disjoint_paths import arcs_of_paths

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
