"""Trees of any network to all ranks whose ways to each share no other node, or no link: one fault stops one way at most.

Packed trees share no arc. Then they exchange arcs, by simulated annealing, until no two ways to a node meet and no tree is deeper
than a target. Where links lead both ways two trees need no search (plans/ways/trees/numbered.py); it only makes them shallower.
That there are such trees wherever so many disjoint paths lead to every node is proved for up to four where every link leads both
ways (nodes: Itai & Rodeh 1988, Cheriyan & Maheshwari 1988, Zehavi & Itai 1989, Curran, Lee & Yu 2006; links: Gopalan &
Ramasubramanian 2011, Hoyer & Thomas 2018). Where arcs lead one way it is proved for two trees (Whitty 1987), and false for more
(Huck 1995). Relays want nothing: ways to them may meet, and trees need not lead to them (plans/ways/trees/past_relays.py).
"""

import numpy as np
from numpy.typing import NDArray

from treecast.against import Against
from treecast.lower_bounds.depths import least_depth
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of
from treecast.networks.kept import kept
from treecast.plans.search import WORK
from treecast.plans.ways.trees.numbered import two_trees
from treecast.plans.ways.trees.packed import exchanged, pack, packed_trees, tree_set
from treecast.plans.ways.trees.past_relays import Subgraph, part_for
from treecast.schedule.trees import TreeSet

_AT_ONCE = 100  # moves of an attempt, for each node of each tree
_SHORTENING = 200  # the same of all attempts after the first that finds trees
_WITH_A_RULE = 8  # times that, of all attempts where a rule gives some
_DEEP = 4  # attempts to find trees of any depth, where none were found
_MOST_MOVES = WORK // 2**9  # of a search


@kept(16)
def independent_trees(
    network: Network, root: int, trees: int, seed: int = 1, against: Against = "nodes", *, searches: int = 1
) -> TreeSet | None:
    """Return k = ``trees`` trees whose ways to each rank share no other node and no link; None where none were found.

    k is at most ``fewest_apart(network, root, against).ways``. ``against``: the ways share no ``"nodes"``, no ``"links"``
    alone, or no ``"arcs"`` alone, as packed trees do. An arc into a relay may be in several trees. The same ``seed`` gives
    the same trees. ``searches``: how many such searches share the work. Raises PlanError when there are not so many ways.

    >>> from treecast.networks import network
    >>> len(independent_trees(network("mesh:3x3"), 4, 2))
    2
    """
    if trees == 1 or (against == "arcs" and network.relays is None):  # then trees that share no arc are apart already
        return packed_trees(network, root, trees, seed, searches)
    # 1. The part of the network that such trees need, and what no two ways to a node may share.
    part, least = part_for(network, root, trees, against), least_depth(network, root, trees)
    arcs, at = part.arcs, int(np.searchsorted(part.node, root))
    needs = (
        needs_of(arcs, at, against)
        if against != "arcs"
        else np.unique(part.arc, return_inverse=True)[1].astype(np.int32)
    )
    counts = np.ones(len(part.node), np.bool_) if network.relays is None else ~network.relays[part.node]
    # 2. Trees by a rule, if there is one: the search has to beat them.
    ruled = _by_rule(network, root, trees, against)
    found, turn, more = ruled, 0, 1
    few = min(_MOST_MOVES, _SHORTENING * trees * network.nodes)
    budget = _MOST_MOVES // searches
    tried, most = 0, budget if ruled is None else min(budget, _WITH_A_RULE * few)

    def attempt(target: int, moves: int) -> tuple[int, NDArray[np.int32]]:
        """Return the moves after which trees were found, or -1, and the arcs of the trees."""
        up = pack(network, root, trees, seed + turn, arcs, start=at)
        return exchanged(arcs, up, target, moves, seed + turn, needs=needs, counts=counts), up

    # 3. Shorter trees, as long as there are moves: each try is a new packing.
    while tried < most and (found is None or found.height > least):
        # one arc shallower than the best so far
        target = least + more if found is None or found is ruled else found.height - 1
        moves = min(_AT_ONCE * trees * len(part.node) * (more if found is ruled else 1), most - tried)
        used, up = attempt(target, moves)
        tried, turn = tried + (moves if used < 0 else used + 1), turn + 1
        if used >= 0:
            found = _trees_of(network, root, up, part, against)
            most = min(most, tried + few)  # once there are trees, few further moves
        elif found is ruled:  # deeper trees are found more easily, and slowly
            more = min(2 * more, network.nodes)
    # 4. None yet: trees of any depth.
    last = turn + _DEEP
    while found is None and turn < last:  # however deep
        used, up = attempt(network.nodes, budget // _DEEP)
        found, turn = _trees_of(network, root, up, part, against) if used >= 0 else None, turn + 1
    # of equal heights those found
    return found if found is None or ruled is None else min(found, ruled, key=lambda each: each.height)


def _by_rule(network: Network, root: int, trees: int, against: Against) -> TreeSet | None:
    """Return as many trees as a rule gives without a search; None where there is none."""
    if trees != 2 or against == "arcs" or not network.both_ways:
        return None
    arcs = arcs_of(network, single=True)
    up = two_trees(arcs, root, against)
    reached = up[0, network.ranks[network.ranks != root]] >= 0
    return tree_set(network, root, up, arcs) if reached.all() else None


def _trees_of(network: Network, root: int, up: NDArray[np.int32], part: Subgraph, against: Against) -> TreeSet:
    """Return the trees of which ``up`` has the arcs of a part of the network; they lead to no node outside it."""
    found = np.full((len(up), network.nodes), -1, np.int32)
    found[:, part.node] = np.append(part.arc, -1)[up]
    return tree_set(network, root, found, arcs_of(network, single=against != "arcs"))


def needs_of(arcs: Arcs, root: int, against: Against) -> NDArray[np.int32]:
    """Return the resource that a way uses with each arc: the node that the arc leaves, -1 for the root, or its link."""
    if against == "nodes":
        return np.where(arcs.tail == root, -1, arcs.tail).astype(np.int32)
    nodes = len(arcs.first) - 1
    low, high = np.minimum(arcs.tail, arcs.head).astype(np.int64), np.maximum(arcs.tail, arcs.head)
    return np.unique(low * nodes + high, return_inverse=True)[1].astype(np.int32)
