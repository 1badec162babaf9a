"""Spanning trees after nodes or links have failed: the parts that still hang from the root stay, and the rest is packed again.

Parts of arc-disjoint trees that contain the root can be completed if, and only if, every set of nodes is entered by as many
free arcs as there are parts without a node in it (Edmonds, "Edge-disjoint branchings", 1973; the strong form). If fewer trees fit
than before, those that have lost most are given up. The others keep their parts, and flows show how to go on. Where
they cannot go on, the trees are packed anew.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.against import Against
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, new_arcs
from treecast.networks.core import Ints
from treecast.networks.flows import fewest_ways
from treecast.plans.ways.trees.independent import needs_of
from treecast.plans.ways.trees.packed import completed, exchanged, packed_trees, tree_set
from treecast.schedule.trees import TreeSet

_MOVES = 40  # of a search for shallower trees, for each node of each tree


class Repaired(NamedTuple):
    """Trees of the rest of a network, and how much of them is of the old trees.

    ``kept``: bool (k, N), whether a node hears in a tree over the same link as before; ``old``: int64 (k,), which tree each was
    before; ``anew``: whether nothing could be kept.
    """

    trees: TreeSet
    kept: NDArray[np.bool_]
    old: Ints
    anew: bool


def repaired_trees(trees: TreeSet, network: Network, most: int = 0) -> Repaired:
    """Return arc-disjoint spanning trees of the rest of a network, where nodes have their labels from before, from the same
    root.

    They are as many as before, or as there can be, and at most ``most``, unless it is 0.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> from treecast.plans.ways.trees.packed import packed_trees
    >>> ring = nx.circulant_graph(8, [1, 2])
    >>> trees = packed_trees(network(ring), 0, 4)
    >>> found = repaired_trees(trees, network(ring).without(links=["0-1"]))
    >>> len(trees), len(found.trees), found.anew
    (4, 3, False)
    """
    root = network.node(trees.network.label(trees.root))
    count = min(most or len(trees), fewest_ways(network, root).ways if network.nodes > 1 else 1)
    up, depth, old = _what_hangs(trees, network, root, count)
    kept = up >= 0
    if completed(arcs_of(network), root, up, depth, 1):
        return Repaired(tree_set(network, root, up), kept, old, False)
    return Repaired(packed_trees(network, root, count), np.zeros_like(kept), old, True)


def shortened(trees: TreeSet, seed: int) -> TreeSet:
    """Return shallower arc-disjoint trees, if exchanges of arcs find such in a number of moves; else the trees. Other seeds
    try others.
    """
    network, arcs, up = trees.network, arcs_of(trees.network), _arcs_up(trees)
    target = trees.height - 1
    if len(trees) < 2 or exchanged(arcs, up, target, _MOVES * up.size, seed) < 0:
        return trees
    return tree_set(network, trees.root, up)


def taken_apart(trees: TreeSet, against: Against) -> TreeSet | None:
    """Return trees whose ways to each node share no other node, or no link, by few exchanges of arcs; None if none are found.

    ``trees``: arc-disjoint ones of a network without parallel arcs.
    """
    network, arcs, up = trees.network, arcs_of(trees.network), _arcs_up(trees)
    if network.relays is not None:
        return None  # trees to all relays may be fewer than those that there are
    if against == "arcs" or len(trees) == 1:
        return trees
    if len(arcs_of(network, single=True).head) < len(arcs.head):
        return None
    needs = needs_of(arcs, trees.root, against)
    used = exchanged(arcs, up, trees.height + 1, 2 * _MOVES * up.size, 1, needs=needs)
    return tree_set(network, trees.root, up) if used >= 0 else None


def _arcs_up(trees: TreeSet) -> NDArray[np.int32]:
    """Return the arc by which each node hears in each tree, as ``arcs_of`` numbers them: int32 (k, N), -1 at the root."""
    found = arcs_of(trees.network).number(trees.parent, trees.port)
    return np.where(trees.parent < 0, -1, found).astype(np.int32)


def _what_hangs(
    trees: TreeSet, network: Network, root: int, count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
    """Return by which arc each node still hears in the trees that lost least, and how deep it is there; and which trees.

    int32 (count, N) both, -1 where no way leads from the root any more; the depth of the root is 0.
    """
    # 1. The arc by which each node heard, under its new number, if it is there.
    node = new_nodes(trees.network, network)
    arc, tail = new_arcs(trees.network, network, node), np.append(arcs_of(network).tail, -1)  # arc -1 is none
    left, was = np.flatnonzero(node >= 0), _arcs_up(trees)
    by, level = np.full((2, len(trees), network.nodes), -1, np.int64)
    by[:, node[left]] = np.where(was[:, left] >= 0, arc[was[:, left]], -1)
    level[:, node[left]] = trees.depths[:, left]
    # 2. Level by level: a node hangs if the one above does.
    above, hangs = tail[by], np.zeros((len(trees), network.nodes + 1), np.bool_)  # the last: nobody
    hangs[:, root] = True
    for depth in range(1, int(level.max()) + 1):
        tree, here = np.nonzero(level == depth)
        hangs[tree, here] = hangs[tree, above[tree, here]]
    # 3. Trees that lost least are kept.
    up, depth = (np.where(hangs[:, :-1], of, -1).astype(np.int32) for of in (by, level))
    old = np.sort(np.argsort((up < 0).sum(axis=1), kind="stable")[:count])
    return up[old], depth[old], old


def new_nodes(before: Network, network: Network) -> Ints:
    """Return the number that each node has now, or -1 where it is gone."""
    number = {label: v for v, label in enumerate(network.labels(np.arange(network.nodes)))}
    return np.array([number.get(label, -1) for label in before.labels(np.arange(before.nodes))], np.int64)
