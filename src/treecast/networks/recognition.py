"""Graphs that are a known network under other names: a cube, torus or ring that comes as a file is planned on as such.

Candidates have as many nodes, the same degree and as many nodes at each distance. A bounded search looks for a map to one of
them. The map is the certificate: it is checked arc by arc, by other means than those that found it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb, factorial, gcd

import numpy as np

from treecast.networks.arcs import arcs_of
from treecast.networks.complete import Circulant, Complete
from treecast.networks.core import Ints, Network
from treecast.networks.family import products
from treecast.networks.graph import Graph
from treecast.networks.grid import Mesh, Torus
from treecast.networks.hypercube import Hypercube
from treecast.networks.hyperx import HyperX
from treecast.networks.kept import kept
from treecast.networks.star import Star

_MOST_NODES = 1 << 20
_MOST_COMPARED = 4096  # nodes of networks of which several are held against one another
_MOST_CIRCULANTS = 2_000  # sets of steps that are looked at
_PER_ARC, _AT_LEAST = 8, 20_000  # images that are tried for each arc before a search is given up
_AT_ONCE = 1 << 20  # ways of two arcs that are looked at together
_SAMPLES = 4  # nodes that have to see as many nodes at each distance


@dataclass(frozen=True, eq=False)
class Likeness:
    """The network ``given``, the member ``known`` of a family that it is, and which node is which, both int64 (N,).

    ``to`` has the node of ``known`` that each node of ``given`` is, ``back`` the node of ``given`` that each of ``known`` is.
    """

    given: Network
    known: Network
    to: Ints
    back: Ints

    def __repr__(self) -> str:
        return f"<Likeness: {self.given.spec} is {self.known.spec}>"


def recognise(network: Network) -> Likeness | None:
    """Return which known network a graph is, or None when it is none, or none was found within little time.

    Of several families the first is taken: complete, hypercube, ring, star, torus, HyperX, circulant, path, mesh. The map is
    checked arc by arc. Any network that is not given arc by arc is known as it is.

    >>> import networkx as nx
    >>> from treecast import network
    >>> recognise(network(nx.circulant_graph(16, [3, 5])))
    <Likeness: graph:16 is circulant:16,1,7>
    >>> recognise(network(nx.petersen_graph())) is None
    True
    """
    if not isinstance(network, Graph) or not 2 <= network.nodes <= _MOST_NODES:
        return None
    if (
        network.past_routes is not None
        or network.parallel_arcs
        or network.relays is not None
        or not (network.connected and network.both_ways)
    ):
        return None
    found = _find(network)
    return None if found is None else Likeness(network, *found)


def same_graphs(networks: Sequence[Network]) -> dict[str, str]:
    """Return, by their spellings, the networks that are the same graph as one before them, as far as little time tells.

    >>> from treecast import network
    >>> same_graphs([network(spec) for spec in ("torus:4x4", "hypercube:4", "hyperx:4x4")])
    {'hypercube:4': 'torus:4x4'}
    """
    found, first = dict[str, str](), dict[str, str]()
    sizes = Counter((where.nodes, where.arcs, where.degree) for where in networks)
    for where in networks:
        if sizes[where.nodes, where.arcs, where.degree] < 2 or where.nodes > _MOST_COMPARED:
            continue
        every = arcs_of(where)
        ends = np.stack([every.tail, every.head], axis=1)
        known = recognise(Graph(where.spec, where.labels(range(where.nodes)), ends, where.relays))
        before = first.setdefault(known.known.spec, where.spec) if known is not None else where.spec
        found |= {where.spec: before} if before != where.spec else {}
    return found


@kept(16)
def _find(network: Graph) -> tuple[Network, Ints, Ints] | None:
    """Return the known network, and the maps to it and back. Graphs that differ in names alone have the same."""
    first, _, _ = network.arc_lists()
    degrees = np.diff(first)
    # node 0 of each candidate has the fewest arcs, so it is held against such a node
    start = int(np.argmin(degrees))
    levels = network.levels(start)
    if degrees.min() == degrees.max():
        samples = np.linspace(0, network.nodes - 1, _SAMPLES, dtype=np.int64)[1:].tolist()
        if any(network.levels(u) != levels for u in samples) or not _look_alike(network):
            return None
        known = _regular(network.nodes, network.degree, levels)
    else:
        known = _meshes(network.nodes, network.degree)
    # levels cost little, and rule out nearly all that are not it
    for some in known:
        found = _map(network, some, start) if some.levels(0) == levels else None
        if found is not None and is_likeness(network, some, found):
            return some, found, np.argsort(found)  # the inverse of a map one to one
    return None


def is_likeness(given: Network, known: Network, to: Ints) -> bool:
    """Return whether a map of nodes, int64 (N,), carries the arcs of a network to all arcs of another, one to one.

    >>> from treecast.networks import network
    >>> ring, torus = network("ring:4"), network("torus:2x2")
    >>> is_likeness(ring, torus, np.array([0, 1, 3, 2])), is_likeness(ring, torus, np.arange(4))
    (True, False)
    """
    if given.nodes != known.nodes or not np.array_equal(np.sort(to), np.arange(known.nodes)):
        return False

    def arcs(network: Network, names: Ints) -> Ints:
        first, head, _ = network.arc_lists()
        # an arc as one number: sorted, the two lists are equal where the sets of arcs are
        tail = np.repeat(np.arange(network.nodes), np.diff(first))
        return np.sort(names[tail] * network.nodes + names[head])

    return np.array_equal(arcs(given, to), arcs(known, np.arange(known.nodes)))


def _look_alike(network: Network) -> bool:
    """Return whether all nodes of a regular network are alike two arcs around: a link that is wrong anywhere shows there."""
    first, head, _ = network.arc_lists()
    nodes, degree = network.nodes, network.degree
    model = np.empty(0, np.int64)
    for low in range(0, nodes, step := max(1, _AT_ONCE // degree**2)):
        near = head[first[low] : first[min(low + step, nodes)]].reshape(-1, degree)
        two = np.sort(head.reshape(-1, degree)[near].reshape(len(near), -1), axis=1)
        begins = np.ones(two.shape, np.bool_)
        begins[:, 1:] = two[:, 1:] != two[:, :-1]  # the first of equal ends, which are sorted
        length = np.diff(np.append(np.flatnonzero(begins), two.size))  # ways of two arcs to the same node
        seen = np.bincount(np.nonzero(begins)[0] * (degree + 1) + length, minlength=len(near) * (degree + 1))
        table = seen.reshape(len(near), degree + 1)
        model = table[0] if low == 0 else model
        if (table != model).any():
            return False
    return True


def _map(given: Graph, known: Network, start: int) -> Ints | None:
    """Return the node of ``known`` for each node of ``given``, its node 0 for ``start``; None when none is found."""
    from treecast.networks.kernels.recognition import match_nodes, order_nodes

    if given.arcs != known.arcs:
        return None
    n, every = known.nodes, np.arange(known.nodes)
    order, near, need, image = (np.zeros(n, np.int32) for _ in range(4))
    first, head, _ = known.arc_lists()
    theirs, heads, _ = given.arc_lists()
    order_nodes(first, head, order, near, need)
    level, level_g = (far.astype(np.int32) for far in (known.distance(0, every), given.distance(start, every)))
    search = (order, near, need, first, head, level, theirs, heads, level_g)
    if match_nodes(*search, start, _PER_ARC * len(head) + _AT_LEAST, image) != 1:
        return None
    to = np.empty(n, np.int64)
    to[image] = every
    return to


def _regular(nodes: int, degree: int, levels: tuple[int, ...]) -> Iterator[Network]:
    """Yield members of families that look the same from every node, with so many nodes and such a degree, the best first."""
    if degree == nodes - 1:
        yield Complete(nodes)
        return
    if nodes == 2**degree:
        yield Hypercube(degree)
    if degree == 2:
        yield Torus((nodes,), "ring")
        return
    if nodes == factorial(degree + 1):
        yield Star(degree + 1)
    shapes = sorted(products(nodes, 2), key=len)
    for sides in shapes:
        # two sides of 2 are one of 4, and with no others it is a hypercube
        if sum(min(side - 1, 2) for side in sides) == degree and sides.count(2) < 2 and set(sides) - {2, 4}:
            yield Torus(sides)
    for sides in shapes:
        if sum(sides) - len(sides) == degree:
            yield HyperX(*sides)
    for steps in _steps(nodes, degree, levels):
        yield Circulant(nodes, *steps)


def _meshes(nodes: int, degree: int) -> Iterator[Network]:
    """Yield the paths and meshes that have so many nodes and such a degree."""
    for sides in sorted(products(nodes, 2), key=len):
        if sum(min(side - 1, 2) for side in sides) == degree:
            yield Mesh(sides, "path" if len(sides) == 1 else "mesh")


def _steps(nodes: int, degree: int, levels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield sets of steps with which a circulant may have such figures; where sets are many, only those that hold 1."""
    # an odd degree takes the step half the way round, which is its own way back
    half = (nodes // 2,) if degree % 2 else ()
    if degree % 2 and nodes % 2:
        return
    others = range(1, (nodes + 1) // 2)
    size = degree // 2
    if comb(len(others), size) <= _MOST_CIRCULANTS:
        sets = combinations(others, size)
    else:
        sets = ((1, *rest) for rest in islice(combinations(others[1:], size - 1), _MOST_CIRCULANTS))
    for steps in sets:
        if gcd(nodes, *steps, *half) > 1:  # not connected
            continue
        moves = np.array([0, *(way * step for step in (*steps, *half) for way in (1, -1))])
        if np.unique((moves[:, None] + moves) % nodes).size == sum(levels[:3]):  # nodes up to two arcs away
            yield (*steps, *half)
