"""What proofs of lower bounds count: distances between nodes, and disjoint ways."""

from collections import Counter
from functools import lru_cache
from math import comb, factorial

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Cayley, Graph, Hypercube, Mesh, Network, Star, Torus
from treecast.networks.core import Ints

LOOKED_AT = 256
"""In a network that looks different from its nodes, each of so many nodes is looked at; of more nodes, only node 0."""
_MOST_DISTANCES = 2**20  # that are computed one by one to tell how long several ways are
_MOST_COUNTED = 2**27  # nodes whose distances are counted one by one


@lru_cache(64)
def degrees(network: Network) -> Ints:
    """Return how many arcs leave each node."""
    return np.array([network.degree_at(v) for v in range(network.nodes)])


def looked_at(network: Network) -> range:
    """Return the nodes whose distances are counted: node 0 if the network looks alike from all nodes or has too many of them."""
    return range(1 if isinstance(network, Cayley) or network.nodes > LOOKED_AT else network.nodes)


def levels(network: Network, node: int) -> tuple[int, ...]:
    """Return how many nodes are 0, 1, 2 … arcs from ``node``. Raises PlanError when there are too many to count."""
    return _counted(network, 0 if isinstance(network, Cayley) else node)


@lru_cache(1024)
def _counted(network: Network, node: int) -> tuple[int, ...]:
    if isinstance(network, Star | Hypercube):
        found = Counter[int]()
        for (distance, _), count in _kinds(network).items():
            found[distance] += count
        return tuple(found[distance] for distance in range(network.diameter + 1))
    if isinstance(network, Mesh | Torus) and sum(network.sides) <= _MOST_COUNTED:
        counts = np.ones(1, np.int64)  # coordinates are independent, and their distances add up
        for here, side in zip(network.coordinates(node).tolist(), network.sides, strict=True):
            gap = np.abs(np.arange(side) - here)
            counts = np.convolve(
                counts, np.bincount(np.minimum(gap, side - gap) if isinstance(network, Torus) else gap)
            )
        return tuple(counts.tolist())
    if network.nodes > _MOST_COUNTED:
        raise PlanError(f"{network.spec} has too many nodes to count their distances")
    return tuple(np.bincount(network.distance(node, np.arange(network.nodes))).tolist())


@lru_cache(64)
def _kinds(network: Star | Hypercube) -> dict[tuple[int, int], int]:
    """Return how many nodes are at distance h with f of node 0's arcs leading nearer to them, as {(h, f): nodes}.

    Hypercube: h bits differ, and f = h. Star network, seen from the node, s symbols misplaced in c cycles: a swap leads
    nearer if it sends the first symbol home, or joins another cycle to that of the first position.
    """
    if isinstance(network, Hypercube):
        return {(h, h): comb(network.d, h) for h in range(network.d + 1)}
    n, found = network.n, Counter[tuple[int, int]]()
    cycles: list[list[int]] = [[0] * (n + 2) for _ in range(n + 1)]  # permutations of s in c cycles, none of one
    cycles[0][0] = 1
    for s in range(2, n + 1):
        for c in range(1, s // 2 + 1):
            cycles[s][c] = (s - 1) * (cycles[s - 1][c] + cycles[s - 2][c - 1])
    for s in range(n):
        for c in range(s // 2 + 1):
            found[s + c, s] += comb(n - 1, s) * cycles[s][c]
            for own in range(2, n - s + 1):  # symbol 1 in a cycle of that length, s and c those of the others
                ways = comb(n - 1, own - 1) * factorial(own - 1) * comb(n - own, s) * cycles[s][c]
                found[own + s + c + 1 - 2, s + 1] += ways
    return {kind: count for kind, count in found.items() if count}


@lru_cache(1024)
def ways(network: Network, node: int, copies: int) -> tuple[int, str]:
    """Return the least number of arcs of x disjoint ways from ``node`` to each other node, in total, and the formula in words.

    Disjoint ways begin with different arcs, and one that begins with the arc to w has at least 1 + distance(w, target)
    arcs. That is h over the f arcs that lead nearer, and on bipartite networks h + 2 over the others; on the hypercube
    there are such ways (Saad & Schultz 1988). Where this count would take too long, the bound is x times the distance.
    """
    if isinstance(network, Cayley) and node:
        return ways(network, 0, copies)
    distances = sum(distance * count for distance, count in enumerate(levels(network, node)))
    if copies == 1:
        return distances, "Σ distances"
    if isinstance(network, Star | Hypercube):
        more = sum(2 * max(0, copies - near) * count for (far, near), count in _kinds(network).items() if far)
        return copies * distances + more, "Σ lengths of x ways"
    first = network.neighbors(node)
    if len(first) * network.nodes > _MOST_DISTANCES:
        return copies * distances, "x Σ distances"
    others = np.delete(np.arange(network.nodes), node)
    lengths = np.sort([1 + network.distance(w, others) for w in first], axis=0)
    return int(lengths[:copies].sum()), "Σ lengths of x ways"


def ways_of_all(network: Network, copies: int) -> tuple[int, str]:
    """Return the same, in total for all nodes; where the distances of one node were counted, one arc for each way."""
    seen, nodes = looked_at(network), network.nodes
    if isinstance(network, Cayley):
        total, formula = ways(network, 0, copies)
        return nodes * total, f"N {formula}"
    if len(seen) < nodes:
        return copies * nodes * (nodes - 1), "x N (N - 1)"
    found = [ways(network, v, copies) for v in seen]
    return sum(total for total, _ in found), f"Σ over all nodes of {found[0][1]}"


@lru_cache(16)
def turned(network: Network) -> Network:
    """Return the network with its arcs turned round: itself, unless it is a graph with arcs that lead one way only."""
    if not isinstance(network, Graph):
        return network
    active, parts, port = np.arange(network.nodes), list[Ints](), 0
    while len(active):  # the ports of a node come without gaps
        there = network.neighbor(active, port)
        active, there, port = active[there >= 0], there[there >= 0], port + 1
        parts.append(np.stack([there, active], axis=1))
    arcs = np.concatenate(parts)
    if bool((network.port_between(arcs[:, 0], arcs[:, 1]) >= 0).all()):
        return network
    return Graph(network.spec, network.labels(np.arange(network.nodes)), arcs)
