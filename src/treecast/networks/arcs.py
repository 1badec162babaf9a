"""All arcs of a network in a row, by their sources and by their targets: the numbers by which plans and kernels call them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treecast.networks.core import Ints, Network, ints
from treecast.networks.kept import kept
from treecast.ragged import read_only


class Arcs(NamedTuple):
    """All arcs, sorted by the node that they leave: arc a leads from ``tail[a]`` by ``port[a]`` to ``head[a]``.

    Those that leave u are ``first[u] … first[u+1]-1``; those that enter it ``entering[into[u]] … entering[into[u+1]-1]``.
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
        names = self.tail.astype(np.int64) * ports + self.port
        return np.searchsorted(names, ints(tail) * ports + ints(port))


def next_hops(network: Network) -> tuple[Ints, Ints]:
    """Return the distance of every two nodes, and where u sends messages for v: int64 (N, N) each, -1 where no way leads on.

    It is the neighbor by the least of the ports that begin a shortest way.
    """
    every = np.arange(network.nodes)
    distance = network.distance(every[:, None], every[None, :])
    following = np.full(distance.shape, -1, np.int64)
    for port in reversed(range(network.ports)):
        there = network.neighbor(every, port)
        nearer = (there >= 0)[:, None] & (distance[there] == distance - 1)
        following = np.where(nearer, there[:, None], following)
    return distance, following


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
        kept = np.sort(np.unique(tail.astype(np.int64) * network.nodes + head, return_index=True)[1])
        head, port, tail = head[kept], port[kept], tail[kept]
    return sorted_arcs(tail, head, port, network.nodes)


def sorted_arcs(tail: NDArray[np.int32], head: NDArray[np.int32], port: NDArray[np.int32], nodes: int) -> Arcs:
    """Return arcs that are sorted by their tails, by their sources and by their targets."""

    first = np.searchsorted(tail, np.arange(nodes + 1))
    entering = np.argsort(head, kind="stable").astype(np.int32)
    into = np.concatenate([[0], np.cumsum(np.bincount(head, minlength=nodes))])
    kinds = (np.int64, np.int32, np.int32, np.int64, np.int32, np.int32)
    columns = (first, head, tail, into, entering, port)
    return Arcs(*(read_only(column, kind) for column, kind in zip(columns, kinds, strict=True)))
