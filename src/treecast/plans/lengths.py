"""The lengths of messages that differ, and nodes, as people give them."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from treecast.collectives import Collective, Kind, Lengths
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.reading.links import label_of

_MOST_NODES = 2**15  # of which each pair has a length: a matrix of 8 GiB


class Streams(NamedTuple):
    """Some chunks of each node, ``counts``, each of which stands for a stream of ``size``; ``before`` went before. int64 (N,)."""

    counts: Ints
    size: int
    before: Ints


def in_streams(flits: Ints, most: int) -> Iterator[Streams]:
    """Yield the flits of each node, int64 (N,), as streams: as short ones as ``most`` of them allow, and then the rest.

    ``most`` is the number of streams at once, of all nodes together; a stream of each node is always allowed.

    >>> for streams in in_streams(np.array([9, 2, 0]), 4):
    ...     print(streams.counts, streams.size, streams.before)
    [2 0 0] 4 [0 0 0]
    [1 2 0] 1 [8 0 0]
    """
    left = flits
    while left.any():
        size = 1
        # a stream is as short as the number of streams allows
        while int((left // size).sum()) > most and 2 * size <= int(left.max()):
            size *= 2
        yield Streams(left // size, size, flits - left)
        left = left % size


def lengths_of(collective: Collective) -> Lengths:
    """Return the lengths of a collective that has them. Raises PlanError for other collectives."""
    if collective.lengths is None:
        raise PlanError(f"{collective.kind} has no lengths")
    return collective.lengths


def lengths_by_block(network: Network, kind: Kind, root: int, given: Any) -> Lengths:
    """Return the lengths of a kind of collective as people give them: for each node, or for each pair of nodes."""
    if kind.blocks == "pair":
        return lengths_by_pair(network, given)
    return lengths_by_node(network, None if kind.all_source else root, given)


def lengths_by_node(network: Network, root: int | None, given: Any) -> Lengths:
    """Return the lengths of messages that differ: one number of flits for all ranks, one for each rank or each node, or a
    mapping from nodes or labels.

    The root's own message has no flits; None: there is no root. Raises PlanError when a node has no length, or one that is no
    length.
    """
    relays = network.relays
    if hasattr(given, "items"):
        flits = _of_mapping(network, root, given)
    else:
        flits = np.array(given)
        if flits.ndim == 0 and relays is None:
            flits = np.repeat(flits, network.nodes)
        elif relays is not None and flits.shape in ((), (network.rank_count,)):  # relays have no message
            of_ranks, flits = flits, np.zeros(network.nodes, flits.dtype)
            flits[network.ranks] = of_ranks
    if flits.shape != (network.nodes,):
        raise PlanError(f"{network.spec} has {network.nodes:,} nodes, and needs as many lengths, not {flits.size:,}")
    # what is wrong stays wrong, and is refused at the end
    if root is not None and flits.dtype.kind in "iu" and flits.min() >= 0:
        flits[root] = 0
    if relays is not None and flits.dtype.kind in "iu":
        for node in np.flatnonzero(relays & (flits > 0))[:1].tolist():
            name = network.label(node)
            raise PlanError(f"{name} is a relay, which takes no part: its length is 0, not {flits[node]}")
    return Lengths.of(flits)


def lengths_by_pair(network: Network, given: Any) -> Lengths:
    """Return the lengths of the messages of each node for each: one number of flits for all pairs of ranks, or a matrix.

    It has a row for each sender, a column for each receiver, both of all nodes or both of the ranks alone. Raises PlanError
    when there are not as many lengths, or one that is no length.

    >>> from treecast.networks import network
    >>> lengths_by_pair(network("complete:2"), [[0, 3], [2, 0]]).flits
    array([0, 3, 2, 0])
    """
    flits, nodes, ranks = np.array(given), network.nodes, network.rank_count
    if nodes > _MOST_NODES:
        raise PlanError(
            f"{network.spec} has {nodes:,} nodes, and a length for each pair is for {_MOST_NODES:,} nodes at most"
        )
    if flits.size in (1, ranks**2) and flits.dtype.kind in "iu":
        of_ranks = flits.reshape(-1 if flits.size > 1 else 1, ranks if flits.size > 1 else 1)
        flits = np.zeros((nodes, nodes), np.int64)
        flits[np.ix_(network.ranks, network.ranks)] = of_ranks
    if flits.size != nodes**2:
        raise PlanError(
            f"{network.spec} has {nodes:,} nodes, and needs a length for each pair of them, {nodes:,} rows of {nodes:,}, "
            f"not {' x '.join(map(str, flits.shape)) or flits.size}"
        )
    return Lengths.of(flits)


def node_of(network: Network, value: Any, role: str) -> int:
    """Return the node that a number or label names. Raises PlanError and NetworkError for a value that names none.

    A graph may have whole numbers for names: one that is the name of a node and the number of another is refused.
    """
    if isinstance(value, tuple):  # as networkx names the nodes of grids
        value = label_of(cast("object", value))
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__index__")):
        raise PlanError(f"{role} must be a node or its label, not {value!r}")
    if not network.named_nodes or isinstance(value, str):
        return network.node(value)
    named = network.node(str(value))
    if named != value and 0 <= value < network.nodes:
        raise PlanError(
            f"{value} is the name of one node of {network.spec} and the number of another: write {str(value)!r} for "
            f"the name, or {network.label(value)!r} for the name of the other"
        )
    return named


def _of_mapping(network: Network, root: int | None, given: Any) -> Ints:
    flits = np.full(network.nodes, -1, np.int64)
    for name, length in given.items():
        if not hasattr(length, "__index__") or int(length) < 0:
            raise PlanError(f"{length!r} is no length of a message: write a whole number of flits, from 0")
        node = node_of(network, name, "a node")
        if flits[node] >= 0:
            raise PlanError(f"node {network.label(node)} has two lengths: give one")
        flits[node] = length
    if root is not None:
        flits[root] = 0
    if network.relays is not None:
        flits[network.relays & (flits < 0)] = 0
    if int(flits.min()) < 0:
        lacking = network.label(int(np.argmin(flits)))
        raise PlanError(f"node {lacking} has no length: each node needs one, 0 if its message is null")
    return flits
