"""Arc-disjoint spanning trees of any network: as many as ways lead to each node, packed level by level, then made shallower.

From a root from which k arc-disjoint paths lead to every node there are k arc-disjoint spanning trees (Edmonds, "Edge-disjoint
branchings", 1973). His condition says of each arc whether it may join a tree; flows decide it. So trees grow by levels, and
never get stuck. Then they exchange arcs, by simulated annealing, until no tree is deeper than a bound, or the moves are
used up. The random numbers begin with a seed, and budgets count moves, so the trees are the same on every machine.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import PlanError
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.kept import kept
from treecast.plans.search import WORK
from treecast.plans.ways.trees.spanning import breadth_first, pruned
from treecast.schedule.trees import TreeSet

_AT_ONCE, _LONG = 40, 2000  # moves of an attempt, for each node of each tree: of the first ones, and after
_SHORT_TRIES = 10  # first attempts
_TRIES = 4  # attempts to shorten trees before they are packed anew
_ALL_TRIES = 10000  # moves of all attempts, for each node of each tree
_MOVE, _CLIMB = 16, 2  # units of work for a move, and for each arc of depth


def number_of_seed(seed: int) -> Any:
    """Return the random number that inner loops begin with: uint64, not 0."""
    return np.uint64((2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64)  # odd times odd is odd, so never 0


@kept(16)
def packed_trees(network: Network, root: int, trees: int, seed: int = 1, searches: int = 1) -> TreeSet:
    """Return so many arc-disjoint spanning trees, not deep as a rule; one tree is one of shortest paths.

    They are at most ``fewest_ways(network, root).ways``: PlanError is raised for more. The same ``seed`` gives the same
    trees. ``searches`` share the moves that one may make on a large network.

    >>> from treecast.networks import network
    >>> packed_trees(network("debruijn:3,2"), 0, 2).height
    3
    """
    if trees == 1:
        return TreeSet.of(breadth_first(network, root))
    up = pack(network, root, trees, seed)
    return tree_set(network, root, _shortened(network, root, up, seed, searches))


def pack(
    network: Network, root: int, trees: int, seed: int, arcs: Arcs | None = None, *, start: int | None = None
) -> NDArray[np.int32]:
    """Return the arc by which each node hears in each tree, int32 (k, N), -1 at the root.

    ``arcs``: those that there are, between nodes that may be numbered in another way; ``start``: the root among these. Raises
    PlanError when there are not so many trees.
    """
    arcs, start = arcs or arcs_of(network), network.check_node(root) if start is None else start
    up, depth = np.full((2, trees, len(arcs.first) - 1), -1, np.int32)
    if not completed(arcs, start, up, depth, seed):
        raise PlanError(
            f"{network.spec} has no {trees} arc-disjoint spanning trees from {network.label(root)}: "
            "fewer paths lead to some node"
        )
    return up


def completed(arcs: Arcs, root: int, up: NDArray[np.int32], depth: NDArray[np.int32], seed: int) -> bool:
    """Let parts of trees grow, by levels, until they lead everywhere; return whether they do. ``depth``: of nodes in them."""
    from treecast.plans.kernels.edmonds import pack

    stuck = int(pack(*arcs[:5], root, number_of_seed(seed), up, depth))
    return stuck < 0 and not (np.delete(up, root, axis=1) < 0).any()


def exchanged(
    arcs: Arcs,
    up: NDArray[np.int32],
    target: int,
    moves: int,
    seed: int,
    *,
    needs: NDArray[np.int32] | None = None,
    counts: NDArray[np.bool_] | None = None,
) -> int:
    """Exchange arcs of trees until none is deeper than a target; return how many moves that took, -1 if more than so many.

    ``needs``: the resource that a way uses with each arc, which no two ways to a node may share. ``counts``: to which nodes
    ways count, if not to all.
    """
    from treecast.plans.kernels.exchanges import exchange

    shared = np.zeros(0, np.int32) if needs is None else needs
    every, state = np.ones(up.shape[1], np.bool_), number_of_seed(seed)
    ends = every if counts is None else counts
    return int(exchange(arcs.tail, arcs.into, arcs.entering, shared, ends, up, target, moves, state))


def _shortened(network: Network, root: int, up: NDArray[np.int32], seed: int, searches: int) -> NDArray[np.int32]:
    """Return trees as deep as a lower bound, or the shallowest that were found."""
    trees = len(up)
    arcs, least = arcs_of(network), least_depth(network, root, trees)
    height, turn, base = tree_set(network, root, up).height, 0, up
    left = min(_ALL_TRIES * up.size, WORK // max(_MOVE, _CLIMB * height) // searches)
    while height > least and left > 0:
        once = _AT_ONCE if turn < _SHORT_TRIES else _LONG
        target = height - 1 if turn else least  # most is gained by all nodes that are too deep at once
        tried, moves, turn = base.copy(), min(left, once * up.size), turn + 1
        used = exchanged(arcs, tried, target, moves, seed + turn)
        left -= moves if used < 0 else used + 1
        now = tree_set(network, root, tried).height
        # a success is where the next attempt begins; after some without any, trees are packed anew
        if now < height:
            up, base, height = tried, tried, now
        elif turn % _TRIES == 0:
            base = pack(network, root, trees, seed + turn)
    return up


def tree_set(network: Network, root: int, up: NDArray[np.int32], arcs: Arcs | None = None) -> TreeSet:
    """Return the trees of which ``up`` has the arc by which each node hears, by its number among ``arcs``."""
    arcs = arcs or arcs_of(network)
    parent, port = (np.append(of, -1)[up].astype(np.int32) for of in (arcs.tail, arcs.port))  # arc -1 is none
    trees = [pruned(network, *each) for each in zip(parent, port, strict=True)]
    return TreeSet(network, root, np.stack([above for above, _ in trees]), np.stack([by for _, by in trees]))
