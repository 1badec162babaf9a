"""The arcs of a network: in a row, by the numbers by which plans and kernels call them, and by the names that people write.

Those are ``A-B`` for both ways of a link, and ``A>B`` for one way.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.errors import NetworkError
from treecast.networks.core import Ints, Network, ints
from treecast.networks.kept import kept
from treecast.ragged import read_only


class Arcs(NamedTuple):
    """All arcs, sorted by the node that they leave: arc a leads from ``tail[a]`` by ``port[a]`` to ``head[a]``.

    Those that leave u are ``first[u] … first[u+1]-1``; those that enter it ``entering[into[u]] … entering[into[u+1]-1]``.

    A network of three nodes with the arcs 0>1, 0>2, 1>2 and 2>0:

        arc        0  1  2  3              u, v    0  1  2  end
        tail       0  0  1  2              first   0  2  3  4        leaving 0: arcs 0 and 1
        head       1  2  2  0              into    0  1  2  4
        entering   3  0  1  2                                        entering 2: arcs 1 and 2
    """

    first: Ints
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    into: Ints
    entering: NDArray[np.int32]
    port: NDArray[np.int32]

    def number(self, tail: ArrayLike, port: ArrayLike) -> Ints:
        """Return the numbers of the arcs that leave some nodes by some ports."""
        ports = int(self.port.max(initial=0)) + 1
        # arcs are sorted by tail and port, so one number for both finds them by bisection
        names = self.tail.astype(np.int64) * ports + self.port
        return np.searchsorted(names, ints(tail) * ports + ints(port))

    @property
    def turned(self) -> "tuple[Arcs, Ints]":
        """The arcs turned round, sorted anew, and the number that each has here: int64 (arcs,)."""
        number = self.entering.astype(np.int64)
        place = np.empty_like(self.entering)
        place[number] = np.arange(len(number), dtype=place.dtype)
        turned = (column[number] for column in (self.tail, self.head, self.port))
        head, tail, port, place = (read_only(column, column.dtype) for column in (*turned, place))
        return Arcs(self.into, head, tail, self.first, place, port), number


def next_hops(network: Network) -> tuple[Ints, Ints]:
    """Return the distance of every two nodes, and where u sends messages for v: int64 (N, N) each, -1 where no way leads on.

    It is the neighbor by the least of the ports that begin a shortest way.
    """
    every, distance = np.arange(network.nodes), far_apart(network)
    following = np.full(distance.shape, -1, np.int64)
    # the least port last, so that it overwrites the others
    for port in reversed(range(network.ports)):
        there = network.neighbor(every, port)
        nearer = (there >= 0)[:, None] & (distance[there] == distance - 1)
        following = np.where(nearer, there[:, None], following)
    return distance, following


@kept(1)
def far_apart(network: Network) -> Ints:
    """Return the distance of every two nodes, -1 where no way leads: int64 (N, N)."""
    every = np.arange(network.nodes)
    found = network.distance(every[:, None], every).astype(np.int64)
    found.setflags(write=False)
    return found


@kept(16)
def arcs_of(network: Network, *, single: bool = False, both_ways: bool = False) -> Arcs:
    """Return all arcs of a network, by their sources and by their targets.

    ``single``: one of those from one node to another; ``both_ways``: those with an arc back.
    """
    first, head, port = network.arc_lists()
    tail = np.repeat(np.arange(network.nodes, dtype=np.int32), np.diff(first))
    if both_ways and not network.both_ways:
        kept = network.back(tail, port) >= 0
        head, port, tail = head[kept], port[kept], tail[kept]
    if single and network.parallel_arcs:
        # the first of parallel arcs, in the order of all
        kept = np.sort(np.unique(tail.astype(np.int64) * network.nodes + head, return_index=True)[1])
        head, port, tail = head[kept], port[kept], tail[kept]
    return sorted_arcs(tail, head, port, network.nodes)


def parallel(network: Network) -> Ints:
    """Return a number for each arc, the same for those from one node to another: int64 (arcs,)."""
    arcs = arcs_of(network)
    return np.unique(arcs.tail.astype(np.int64) * network.nodes + arcs.head, return_inverse=True)[1].astype(np.int64)


def cables_of(network: Network) -> Ints:
    """Return of each arc how many lead from the same node to the same other one: int64 (arcs,)."""
    link = parallel(network)
    return np.bincount(link)[link]


def sorted_arcs(tail: NDArray[np.int32], head: NDArray[np.int32], port: NDArray[np.int32], nodes: int) -> Arcs:
    """Return arcs that are sorted by their tails, by their sources and by their targets."""
    first = np.searchsorted(tail, np.arange(nodes + 1))
    entering = np.argsort(head, kind="stable").astype(np.int32)  # stable: entering arcs by their tails
    into = np.concatenate([[0], np.cumsum(np.bincount(head, minlength=nodes))])
    kinds = (np.int64, np.int32, np.int32, np.int64, np.int32, np.int32)
    columns = (first, head, tail, into, entering, port)
    return Arcs(*(read_only(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def arcs_over(
    arcs: Iterable[tuple[int, int]], before: Network, after: Network
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the ends of arcs on another network, by their ends here: nodes are the same if they have the same labels.

    Arcs without a node that has such a label are left out.

    >>> from treecast.networks import network
    >>> ring = network("ring:4")
    >>> arcs_over([(0, 1), (2, 3)], ring, ring.without(nodes=[0]))
    {(2, 3): (1, 2)}
    """
    ends = list(arcs)
    numbers = {label: node for node, label in enumerate(after.labels())} if ends else {}
    place = {node: numbers.get(before.label(node), -1) for node in {node for arc in ends for node in arc}}
    return {(u, v): (place[u], place[v]) for u, v in ends if place[u] >= 0 and place[v] >= 0}


def new_arcs(before: Network, network: Network, node: Ints | None = None) -> Ints:
    """Return the number that each arc has now, or -1: of several between two nodes the last ones are gone.

    ``node``: the number that each node has now, or -1; left out, nodes are as before.
    """
    node = np.arange(before.nodes) if node is None else node
    was, now = arcs_of(before), arcs_of(network)
    many = before.ports + 1  # more than there are parallel arcs

    def named(tail: Ints, head: Ints) -> Ints:
        """Return numbers that tell arcs apart: by their ends, and how many there are before them."""
        pair = tail * network.nodes + head
        if not before.parallel_arcs:
            return pair
        # the place among arcs with the same ends: where it stands in order, less where these begin
        order = np.argsort(pair, kind="stable")
        first = np.searchsorted(pair[order], pair)
        place = np.empty_like(pair)
        place[order] = np.arange(len(pair))
        return pair * many + place - first

    lives = np.flatnonzero((node[was.tail] >= 0) & (node[was.head] >= 0))
    # both by names in the new network's numbers
    then = named(node[was.tail[lives]], node[was.head[lives]])
    today = named(now.tail.astype(np.int64), now.head.astype(np.int64))
    order = np.argsort(today, kind="stable")  # sorted already, as a rule
    at = np.minimum(np.searchsorted(today[order], then), len(today) - 1)
    found = np.full(len(was.tail), -1, np.int64)
    found[lives] = np.where(today[order[at]] == then, order[at], -1) if len(today) else -1
    return found


def arcs_called(network: Network, name: str) -> list[tuple[int, int]]:
    """Return the arcs that a link's name means, one at least, by source and port; either sign may also be part of a label.

    A name is ``A-B``, ``A>B``, or ``A-B#0`` for the first of parallel links between two nodes. Raises NetworkError when it means
    no link.

    >>> from treecast.networks import network
    >>> arcs_called(network("mesh:2x2"), "0,0-0,1")
    [(0, 2), (1, 3)]
    """
    for left, sign, right, cable in _ways_to_read(name):
        try:
            u, v = network.node(left), network.node(right)
        except NetworkError:
            continue
        ways = [(u, v), (v, u)][: 1 + (sign == "-")]
        arcs = [[(a, port) for port in ports_to(network, a, b)] for a, b in ways]
        if not any(arcs):
            near = ", ".join(network.label(w) for w in dict.fromkeys(network.neighbors(u)))
            raise NetworkError(
                f"{name!r} is no link of {network.spec}: {network.label(u)} is joined to {near or 'no node'}"
            )
        if cable is None:
            return [arc for way in arcs for arc in way]
        # a cable may be there one way only
        chosen = [way[cable] for way in arcs if cable < len(way)]
        if not chosen:
            most = max(map(len, arcs)) - 1
            raise NetworkError(f"{name!r} is no cable of {network.spec}: those are numbered from 0 to {most}")
        return chosen
    near = network.neighbors(0) or [0]
    raise NetworkError(
        f"{name!r} names no link: write A-B (both ways) or A>B (one way), A and B nodes of {network.spec}, "
        f"as in {network.label(0)}-{network.label(near[0])}"
    )


def _ways_to_read(name: str) -> Iterator[tuple[str, str, str, int | None]]:
    """Yield how a text can be read as two nodes with a sign between them, and perhaps a cable."""
    for sign in ">-":
        for at in (at for at, character in enumerate(name) if character == sign):  # every place where the sign stands
            left, right = name[:at], name[at + 1 :]
            yield left, sign, right, None
            node, mark, cable = right.rpartition("#")
            if mark and cable.isascii() and cable.isdigit() and len(cable) < 10:  # digits of any length are no cable
                yield left, sign, node, int(cable)


def ports_to(network: Network, u: int, v: int) -> list[int]:
    """Return the ports of all arcs from node ``u`` to node ``v``; parallel arcs in the order of their cables."""
    first = int(network.port_between(u, v))
    if first < 0 or not network.parallel_arcs:
        return [first] * (first >= 0)
    return np.flatnonzero(network.neighbor(u, np.arange(network.ports)) == v).tolist()
