"""Trees past relays from one rank, or from every rank, that carry as much as a broadcast or an allgather can.

From a rank k trees share no arc where k arc-disjoint paths lead to every other. Of an allgather the optimum 1/U = k/s messages of
each in a step is known from cuts (lower_bounds/cuts.py): arcs get s times their capacity. Then relays are split off: two arcs
through a relay become one past it, as often as no rank gets less (Mader 1982, Jackson 1988; Bang-Jensen, Frank & Jackson 1995).
Between the ranks that are left, k trees of each root are packed (Edmonds 1973). At last arcs past relays become arcs through them
again. So there are k trees of each root, and no arc is in more than s of them all. The construction is that of ForestColl (Zhao
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
_MOST_WORK = 2**31  # ranks, pairs of arcs through relays and nodes twice, multiplied

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
    return _trees(network, network.ranks, rate.numerator, rate.denominator, seed)


@kept(16)
def trees_past_relays(network: Network, root: int, trees: int, seed: int = 1) -> TreeSet:
    """Return so many trees from a rank to all ranks that share no arc; as many arc-disjoint paths lead to every rank.

    Raises PlanError as ``trees_split_off`` does.

    >>> import networkx as nx
    >>> from treecast.networks import network
    >>> wired = nx.Graph([(rank, switch) for rank in range(4) for switch in "st"])
    >>> nx.set_node_attributes(wired, {"s": True, "t": True}, "relay")
    >>> len(trees_past_relays(network(wired), 0, 2))
    2
    """
    return _trees(network, np.array([root], np.int64), trees, 1, seed)[0]


def takes_long(network: Network) -> str:
    """Return that it takes longer than seconds to split off the relays of a network, or an empty text."""
    relays = [] if network.relays is None else np.flatnonzero(network.relays).tolist()
    arcs = arcs_of(network)
    beside = [len(np.unique(arcs.head[arcs.first[w] : arcs.first[w + 1]])) for w in relays]
    if network.rank_count * sum(count**2 for count in beside) * network.nodes**2 > _MOST_WORK:
        return f"splits off relays for as long as that takes seconds, and those of {network.spec} take longer"
    return ""


def _trees(network: Network, roots: Ints, each: int, times: int, seed: int) -> tuple[TreeSet, ...]:
    """Return ``each`` trees of each root such that no arc is in more than ``times`` of all."""
    arcs, gives = arcs_of(network), np.zeros(network.nodes, np.int64)
    room = np.zeros((network.nodes, network.nodes), np.int64)
    np.add.at(room, (arcs.tail, arcs.head), times)
    gives[roots] = each
    splits = _split(network, room, gives)
    up, many = _packed(network, room, gives, seed)
    return _tree_sets(network, _through_relays(network, splits, room, up, many), roots.tolist(), each)


def _split(network: Network, room: Splits, gives: Ints) -> Splits:
    """Split the relays off the flow from node to node; return from where past which relay to where how much goes then."""
    from treecast.plans.kernels.split_off import split_off

    relays = np.zeros(0, np.int64) if network.relays is None else np.flatnonzero(network.relays)
    log = np.zeros((_MOST_SPLIT, 4), np.int64)
    count, stuck = split_off(room, network.ranks.astype(np.int64), relays, gives, log)
    if count < 0 or stuck >= 0:
        where = f"relay {network.label(int(stuck))}" if stuck >= 0 else "its relays"
        raise PlanError(f"cannot split off {where} of {network.spec}: as many arcs have to lead to it as from it")
    return log[:count]


def _packed(network: Network, room: Splits, gives: Ints, seed: int) -> tuple[NDArray[np.int64], Ints]:
    """Return trees between the ranks: of each class the rank above each rank, int64 (classes, ranks), and how many it has.

    ``gives``: how many trees each node is the root of.
    """
    from treecast.plans.kernels.branchings import pack_from_roots

    ranks = network.ranks
    free, count = room[np.ix_(ranks, ranks)].copy(), len(ranks)
    up, depth = np.full((2, _CLASSES * count, count), -1, np.int64)
    many = np.zeros(len(up), np.int64)
    roots = np.flatnonzero(gives[ranks])
    many[: len(roots)] = gives[ranks[roots]]
    depth[np.arange(len(roots)), roots] = 0
    classes = int(pack_from_roots(free, many, up, depth, len(roots), number_of_seed(seed)))
    if classes < 0:
        raise PlanError(f"found no {gives.max()} trees of each root on {network.spec}: try another --tree-seed")
    return up[:classes], many[:classes]


def _through_relays(
    network: Network, splits: Splits, room: Splits, up: NDArray[np.int64], many: Ints
) -> list[tuple[int, set[tuple[int, int]]]]:
    """Return the root of each tree, and the pairs of nodes that it goes over.

    The pair split off last becomes two arcs again first, in as many trees as have no room otherwise; first in those that pass
    the relay anyway.
    """
    # 1. Each tree of each class by itself, and who uses each pair.
    trees, users = list[tuple[int, set[tuple[int, int]]]](), dict[tuple[int, int], list[int]]()
    ranks = network.ranks.tolist()
    for above, count in zip(up.tolist(), many.tolist(), strict=True):
        pairs = {(ranks[u], ranks[v]) for v, u in enumerate(above) if u >= 0}
        for _ in range(count):
            for pair in pairs:
                users.setdefault(pair, []).append(len(trees))
            trees.append((ranks[above.index(-1)], set(pairs)))
    # 2. From the last split back: trees that go over the pair beyond its room go by the relay instead.
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


def _tree_sets(
    network: Network, found: list[tuple[int, set[tuple[int, int]]]], roots: list[int], each: int
) -> tuple[TreeSet, ...]:
    """Return the trees of each root: of the pairs that a tree goes over, those of the shortest ways from its root."""
    nodes = network.nodes
    parent, port = np.full((2, len(roots), each, nodes), -1, np.int32)
    arcs, used, place = arcs_of(network), dict[tuple[int, int], int](), [0] * len(roots)
    between = dict[tuple[int, int], list[int]]()
    for u, v, by in zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.port.tolist(), strict=True):
        between.setdefault((u, v), []).append(by)
    for root, pairs in found:
        at, above = roots.index(root), _shortest(root, pairs, nodes)
        above = pruned(network, above, above.copy())[0]
        for v in np.flatnonzero(above >= 0).tolist():
            pair = (int(above[v]), v)
            # parallel arcs in turn
            number = used[pair] = used.get(pair, -1) + 1
            parent[at, place[at], v], port[at, place[at], v] = pair[0], between[pair][number % len(between[pair])]
        place[at] += 1
    sets: list[Any] = [TreeSet(network, root, parent[i], port[i]) for i, root in enumerate(roots)]
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
