"""Trees from one root or many to all ranks, past relays, such that no arc is in more of them than need be.

Relays need not be in a tree, and one that is sends each chunk on over several arcs. Where as many arcs lead to each relay as
from it, there are as many arc-disjoint trees from a root as ways lead to every rank (Bang-Jensen, Frank & Jackson 1995).
Prices find such trees in most cases; they prove nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.ragged import places, read_only
from treecast.schedule.trees import TreeSet

PASSES = 6  # how often each tree is grown, beside all others
_STEEP = 12.0  # doublings of the price of an arc between no load and the most it should carry


def balanced_trees(
    network: Network, roots: list[int], trees: int | Ints, most: float, deeper: int = 0
) -> list[TreeSet]:
    """Return so many trees from each of some roots to all ranks; few arcs more than need be are in more than ``most`` of
    them.

    ``trees``: a number, or one for each root. ``deeper``: the price of an arc more to a node; an arc that is as full as it
    should be costs 1024.

    >>> from treecast.networks import network
    >>> [len(trees) for trees in balanced_trees(network("mesh:3x3"), [0, 4], 2, 4)]
    [2, 2]
    """
    arcs, count = arcs_of(network), np.broadcast_to(np.asarray(trees, np.int64), len(roots))
    which, place = np.repeat(np.arange(len(roots)), count), places(count)
    order = np.lexsort((which, place))  # each root grows a tree, then each another one
    which = which[order]
    all_roots = np.array(roots, np.int64)[which]
    relay = np.zeros(network.nodes, np.bool_) if network.relays is None else network.relays
    up = grown((arcs.first, arcs.head, arcs.tail, np.arange(len(arcs.head))), relay, all_roots, most, deeper)
    parent = np.where(up < 0, -1, arcs.tail[up]).astype(np.int32)
    port = np.where(up < 0, -1, arcs.port[up]).astype(np.int32)
    return [TreeSet(network, root, parent[which == i], port[which == i]) for i, root in enumerate(roots)]


def grown(
    arcs: tuple[NDArray[Any], ...], relay: NDArray[np.bool_], roots: Ints, most: float, deeper: int = 0
) -> NDArray[np.int32]:
    """Return the arc by which each node hears in the tree from each of some roots, int32 (roots, N), -1 where it is not in
    it.

    ``arcs``: where the arcs of each node begin, their heads, their tails, and the cable that each takes. ``relay``, bool
    (N,): which nodes need not be reached. ``most``: in how many trees a cable should be at most. ``deeper``: as of
    ``balanced_trees``.
    """
    from treecast.plans.kernels.balancing import balance

    kinds = (np.int64, np.int32, np.int32, np.int64, np.bool_, np.int64, np.int64)
    columns = (*arcs, relay, roots, _prices(most))
    up = np.full((len(roots), len(relay)), -1, np.int32)
    balance(*(read_only(each, kind) for each, kind in zip(columns, kinds, strict=True)), PASSES, deeper, up)
    return up


def _prices(most: float) -> Ints:
    """Return the price of an arc by the trees that it is in, which should be ``most`` at most: int64."""
    load = np.arange(max(2, int(4 * most) + 2))
    # an arc that one tree more fills costs 1024; prices are between 32 and 2^30
    return np.maximum(32, 1024 * 2.0 ** np.minimum(20, _STEEP * (load + 1 - most) / most)).astype(np.int64)
