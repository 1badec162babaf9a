"""Trees from every rank to all ranks, past relays, that carry as much as an allgather can: 1/U = k/s messages of each in a step.

The optimum k/s is known from cuts (lower_bounds/cuts.py). Arcs get s times their capacity. Then relays are split off: two arcs
through a relay become one past it, as often as no rank gets less (Mader 1982, Jackson 1988; Bang-Jensen, Frank & Jackson 1995).
Between the ranks that are left, k trees of each are packed (Edmonds 1973). At last arcs past relays become arcs through them
again. So there are k trees of each rank, and no arc is in more than s of them all. The construction is that of ForestColl (Zhao
et al. 2024).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.lower_bounds.cuts import optimum
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.plans.ways.trees.packed import number_of_seed
from treecast.plans.ways.trees.spanning import pruned
from treecast.schedule.trees import TreeSet

_MOST_SPLIT = 2**16  # how often two arcs become one
_CLASSES = 16  # of like trees, for each rank

Splits = NDArray[np.int64]


@kept(8)
def trees_split_off(network: Network, seed: int = 1) -> tuple[TreeSet, ...]:
    """Return k trees from each rank to all ranks such that no arc is in more than s, where k/s is the optimum in lowest
    terms.

    There are two ranks or more, each of which reaches all others; their trees are in the order of ``network.ranks``. Raises
    PlanError where a relay cannot be split off: more arcs lead to it than from it, or fewer.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.Graph([(rank, switch) for rank in range(4) for switch in "st"])
    >>> nx.set_node_attributes(wired, {"s": True, "t": True}, "relay")
    >>> [len(trees) for trees in trees_split_off(network(wired))], optimum(network(wired))
    ([2, 2, 2, 2], Fraction(2, 3))
    """
    rate = optimum(network)
    arcs = arcs_of(network)
    room = np.zeros((network.nodes, network.nodes), np.int64)
    np.add.at(room, (arcs.tail, arcs.head), rate.denominator)
    splits = _split(network, room, rate.numerator)
    up, many = _packed(network, room, rate.numerator, seed)
    found = _through_relays(network, splits, room, up, many)
    return _tree_sets(network, found, rate.numerator)


def _split(network: Network, room: Splits, each: int) -> Splits:
    """Split the relays off the flow from node to node; return from where past which relay to where how much goes then."""
    from treecast.kernels.plans.split_off import split_off

    relays = np.zeros(0, np.int64) if network.relays is None else np.flatnonzero(network.relays)
    log = np.zeros((_MOST_SPLIT, 4), np.int64)
    count, stuck = split_off(room, network.ranks.astype(np.int64), relays, each, log)
    if count < 0 or stuck >= 0:
        where = f"relay {network.label(int(stuck))}" if stuck >= 0 else "its relays"
        raise PlanError(f"cannot split off {where} of {network.spec}: as many arcs have to lead to it as from it")
    return log[:count]


def _packed(network: Network, room: Splits, each: int, seed: int) -> tuple[NDArray[np.int64], Ints]:
    """Return trees between the ranks: of each class the rank above each rank, int64 (classes, ranks), and how many it has."""
    from treecast.kernels.plans.branchings import pack_from_roots

    ranks = network.ranks
    free, count = room[np.ix_(ranks, ranks)].copy(), len(ranks)
    up, depth = np.full((2, _CLASSES * count, count), -1, np.int64)
    many = np.zeros(len(up), np.int64)
    many[:count] = each
    depth[np.arange(count), np.arange(count)] = 0
    classes = int(pack_from_roots(free, many, up, depth, count, number_of_seed(seed)))
    if classes < 0:
        raise PlanError(f"found no {each} trees of each rank of {network.spec}: try another --tree-seed")
    return up[:classes], many[:classes]


def _through_relays(
    network: Network, splits: Splits, room: Splits, up: NDArray[np.int64], many: Ints
) -> list[tuple[int, set[tuple[int, int]]]]:
    """Return the root of each tree, by its place among the ranks, and the pairs of nodes that it goes over.

    The pair split off last becomes two arcs again first, in as many trees as have no room otherwise; first in those that pass
    the relay anyway.
    """
    trees, users = list[tuple[int, set[tuple[int, int]]]](), dict[tuple[int, int], list[int]]()
    ranks = network.ranks.tolist()
    for above, count in zip(up.tolist(), many.tolist(), strict=True):
        pairs = {(ranks[u], ranks[v]) for v, u in enumerate(above) if u >= 0}
        for _ in range(count):
            for pair in pairs:
                users.setdefault(pair, []).append(len(trees))
            trees.append((above.index(-1), set(pairs)))
    left = dict[tuple[int, int], int]()
    for a, w, b, moved in splits[::-1].tolist():
        for pair, more in (((a, b), -moved), ((a, w), moved), ((w, b), moved)):
            left[pair] = left.get(pair, int(room[pair])) + more
        using = users.get((a, b), [])
        more = len(using) - left[a, b]
        if more <= 0:
            continue
        using.sort(key=lambda tree: any(v == w for _, v in trees[tree][1]), reverse=True)
        for tree in using[:more]:
            pairs = trees[tree][1]
            pairs.discard((a, b))
            for pair in ((a, w), (w, b)):
                if pair not in pairs:
                    pairs.add(pair)
                    users.setdefault(pair, []).append(tree)
        users[a, b] = using[more:]
    return trees


def _tree_sets(network: Network, found: list[tuple[int, set[tuple[int, int]]]], each: int) -> tuple[TreeSet, ...]:
    """Return the trees of each rank: of the pairs that a tree goes over, those of the shortest ways from its root."""
    nodes, ranks = network.nodes, network.ranks
    parent, port = np.full((2, len(ranks), each, nodes), -1, np.int32)
    arcs, used, place = arcs_of(network), dict[tuple[int, int], int](), [0] * len(ranks)
    between = dict[tuple[int, int], list[int]]()
    for u, v, by in zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.port.tolist(), strict=True):
        between.setdefault((u, v), []).append(by)
    for at, pairs in found:
        above = _shortest(int(ranks[at]), pairs, nodes)
        above = pruned(network, above, above.copy())[0]
        for v in np.flatnonzero(above >= 0).tolist():
            pair = (int(above[v]), v)
            number = used[pair] = used.get(pair, -1) + 1
            parent[at, place[at], v], port[at, place[at], v] = pair[0], between[pair][number % len(between[pair])]
        place[at] += 1
    sets: list[Any] = [TreeSet(network, root, parent[i], port[i]) for i, root in enumerate(ranks.tolist())]
    return tuple(sets)


def _shortest(root: int, pairs: set[tuple[int, int]], nodes: int) -> NDArray[np.int32]:
    """Return the node above each node in a tree of shortest ways over some arcs: int32 (N,), -1 where none leads."""
    after = dict[int, list[int]]()
    for u, v in sorted(pairs):
        after.setdefault(u, []).append(v)
    above, reached = np.full(nodes, -1, np.int32), [root]
    for u in reached:
        for v in after.get(u, []):
            if v != root and above[v] < 0:
                above[v] = u
                reached.append(v)
    return above
