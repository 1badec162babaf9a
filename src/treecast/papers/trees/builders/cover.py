"""Scatter and ideal gather over a *cover*: several trees with one root that share no link and together reach every node.

Communication model: bufferless, multi-port: a node sends one flit in a step over each of its links, and receives one; a flit
that arrives is sent on in the next step, and a message is never interrupted. Source: Bhatt, Pucci, Ranade & Rosenberg, who name
such covers of the mesh, the de Bruijn network and the hypercube; their figures are lost, and they do not say how they found
them. Here each link of the root begins a tree. The trees divide the nodes and then grow over free links. Each message is dealt
to the tree on which it arrives soonest. Then messages, and subtrees where that helps, move from the slowest tree to others.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecast.errors import ScheduleError
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.papers.trees.builders.one_tree import COLLECT, FIRST, build_streams, certified
from treecast.plans.built import Built, Job
from treecast.plans.lengths import lengths_of
from treecast.plans.registry import builder
from treecast.plans.search import WORK, best_of
from treecast.plans.ways.trees.spanning import balanced, best, breadth_first, streams_steps
from treecast.schedule.trees import Tree

_MOST_CELLS = 2**24  # trees x nodes: beyond, one tree has to do
_WORK = WORK // 2  # operations of a search for better dealings, in all
_TRIES = 12
_Int32 = NDArray[np.int32]
_Tables = tuple[_Int32, _Int32, _Int32, Ints]  # parent, by, depth, dealt


@dataclass(frozen=True, eq=False)
class Cover:
    """Trees of a network with one root that share no link, and together reach every node.

    ``dealt``: int64 (N,), which of the ``trees`` carries each node's message; 0 at the root. ``steps``: the steps it takes.
    Raises ScheduleError when trees are no cover, or a message is dealt to a tree without its node.
    """

    network: Network
    root: int
    trees: tuple[Tree, ...]
    dealt: Ints
    steps: int

    def __post_init__(self) -> None:
        # Checked whenever one is made: the search works on tables that it changes in place.
        check_cover(self.network, self.root, self.trees)
        others = self.network.ranks[self.network.ranks != self.root]
        for v in others[~_nodes_reached(self.trees)[self.dealt[others], others]][:1].tolist():
            raise ScheduleError(f"the message of node {self.network.label(v)} is dealt to a tree without that node")


def check_cover(network: Network, root: int, trees: tuple[Tree, ...]) -> None:
    """Raise ScheduleError when trees are no cover: wrong arcs or roots, a link in two trees, a node in none."""
    if not trees:
        raise ScheduleError("a cover has one tree at least")
    seen: list[Ints] = []
    for number, tree in enumerate(trees):
        below = tree.order[1:].astype(np.int64)
        above, order = tree.parent[below].astype(np.int64), tree.order
        # The place of each node in the order: a parent has to stand before its children, or there is a circle.
        place = np.full(network.nodes, network.nodes)
        place[order] = np.arange(len(order))
        inside = np.zeros(network.nodes, np.bool_)
        inside[order] = True
        if tree.root != root or int(order[0]) != root or int(tree.parent[root]) >= 0:
            raise ScheduleError(f"tree {number} does not begin at the root, node {network.label(root)}")
        if len(np.unique(order)) != len(order) or not np.array_equal(tree.parent >= 0, inside & (place > 0)):
            raise ScheduleError(f"tree {number} has a node twice, or one outside that is below another")
        wrong = (network.neighbor(above, tree.port[below]) != below) | (place[above] >= place[below])
        for v in below[wrong][:1].tolist():
            raise ScheduleError(f"tree {number} does not lead to node {network.label(v)} over an arc of {network.spec}")
        seen.append(np.minimum(above, below) * network.nodes + np.maximum(above, below))
    links, count = np.unique(np.concatenate(seen), return_counts=True)
    for link in links[count > 1][:1].tolist():
        pair = " and ".join(network.label(v) for v in divmod(link, network.nodes))
        raise ScheduleError(f"the link between {pair} is in two trees")
    for v in network.ranks[~_nodes_reached(trees)[:, network.ranks].any(axis=0)][:1].tolist():
        raise ScheduleError(f"no tree reaches node {network.label(v)}")


def cover(network: Network, root: int, flits: Ints, both_ways: bool = False) -> Cover:
    """Return a cover, and messages of lengths ``flits`` dealt over it: at most as many steps as down the best single tree.

    If several trees gain nothing, the cover is that one tree. ``both_ways``: only links with arcs both ways are used.
    """
    alone = best(network, root, flits, lambda tree: streams_steps(tree, flits, "all"), both_ways)
    least = streams_steps(alone, flits, "all")
    first = arcs_of(network, both_ways=both_ways).first
    degree, found = int(first[root + 1] - first[root]), None
    # With one arc at the root, or on a tree, there is one way to do it.
    choice = degree > 1 and int(first[-1]) > 2 * network.nodes - 2  # in a tree there is none
    choice = choice and not network.parallel_arcs and network.relays is None
    if choice and degree * network.nodes <= _MOST_CELLS:
        goal = least_steps(breadth_first(network, root, both_ways), flits, degree)
        found = _Search(network, root, flits, both_ways=both_ways, goal=goal, most=least).best_cover()
    if found is None or found.steps > least:
        return Cover(network, root, (alone,), np.zeros(network.nodes, np.int64), least)
    return found


def least_steps(near: Tree, flits: Ints, degree: int) -> int:
    """Return a bound of the steps: ``degree`` links carry so many flits a step; a message goes one way, in order."""
    if not int(flits.max()):
        return 0
    at = np.bincount(near.depth, flits).astype(np.int64)
    each = np.flatnonzero(at)
    # The flits for nodes at distance d or more leave over `degree` links, and the last of them has d - 1 steps to go.
    beyond = np.cumsum(at[::-1])[::-1][each]
    return int(max((-(-beyond // degree) + each - 1).max(), (flits + near.depth - 1)[flits > 0].max()))


@builder(
    "cover",
    "scatterv",
    under=("bufferless-multiport",),
    options=(FIRST,),
    summary="down several trees that share no arc, the farthest first in each",
)
@builder(
    "cover",
    "gatherv",
    under=("bufferless-multiport",),
    options=(FIRST,),
    baseline=True,
    summary="up several trees that share no arc, as if all knew when to begin",
)
def over_cover(job: Job[Network]) -> Built:
    """Bufferless, multi-port: scatter over a cover; in each of its trees the farthest destinations first.

    Or gather over a cover, the nearest received first: the ideal, as if all knew when to begin.
    """
    network = job.network if job.collective.direction == "from" else job.network.reversed()
    found = cover(network, job.collective.root, lengths_of(job.collective).flits)
    return build_streams(job, found.trees, found.dealt)


@builder(
    "certified-cover",
    "gatherv",
    under=("bufferless-multiport",),
    options=(COLLECT,),
    summary="up several trees that share no link, told when to begin by control flits on each",
)
def certified_cover(job: Job[Network]) -> Built:
    """Bufferless, multi-port: TRANSMISSION-CERTIFICATE on every tree of a cover at once, since no two share a link."""
    found = cover(job.network, job.collective.root, lengths_of(job.collective).flits, both_ways=True)
    return certified(job, found.trees, found.dealt)


class _Search:
    """The trees of a cover as tables, and the search for one that takes few steps."""

    def __init__(self, network: Network, root: int, flits: Ints, *, both_ways: bool, goal: int, most: int) -> None:
        self.network, self.root, self.flits, self.goal, self.both_ways = network, root, flits, goal, both_ways
        self.arcs, self.near = arcs_of(network, both_ways=both_ways), breadth_first(network, root, both_ways)
        first, source, other = self.arcs.first, self.arcs.tail.astype(np.int64), self.arcs.head
        # Both arcs of a link are one: trees of a cover share neither.
        keys = np.minimum(source, other) * network.nodes + np.maximum(source, other)
        self.link = np.unique(keys, return_inverse=True)[1].astype(np.int32)
        self.trees = int(first[root + 1] - first[root])
        # deeper than that no message is in time; a little more than the farthest node is enough to get round
        self.deepest = min(most, network.nodes - 1, 2 * self.near.height + 6) + 1
        self.left = np.array([_WORK], np.int64)  # operations; counted down by compiled code

    def best_cover(self) -> Cover:
        """Return the best cover that the search finds; it is always the same for the same network and lengths."""
        steps, tables = best_of(self._improved(), lambda each: (each[0],), self.goal)
        return self._cover(*tables, steps)

    def _improved(self) -> Iterator[tuple[int, _Tables]]:
        """Yield the best covers from several beginnings, as long as there is work left."""
        for begin in self._begins():
            yield self._improve(*begin)
            if self.left[0] <= _WORK // 64:
                return

    def _begins(self) -> Iterator[tuple[_Int32, _Int32, _Int32, NDArray[np.bool_], Ints]]:
        from treecast.papers.kernels.cover import in_turn

        for number in range(_TRIES):
            parent, by, depth = np.full((3, self.trees, self.network.nodes), -1, np.int32)
            used = np.zeros(int(self.link.max(initial=-1)) + 1, np.bool_)
            dealt = np.full(self.network.nodes, -1, np.int64)
            tables = parent, by, depth, used, dealt
            # One of the beginnings grows all trees at once, a node at a time; the others take branches of one tree.
            if number == 1:
                in_turn(*self.arcs[:2], self.link, self.root, self.flits, *tables)
                if (np.delete(dealt, self.root) < 0).any():
                    continue
            else:
                # each branch of a balanced tree of shortest paths is a tree, by the number of its arc from the root
                tree = balanced(self.network, self.root, self.flits, self.both_ways, self._longest_first(number))
                below = tree.order[1:].astype(np.int64)
                arc = self.arcs.number(tree.parent[below].astype(np.int64), tree.port[below])
                which = np.empty(self.network.nodes, np.int64)
                which[below] = arc - self.arcs.first[self.root]  # right at the neighbours of the root
                dealt[below] = at = which[tree.branch[below]]
                parent[at, below], by[at, below], depth[at, below] = tree.parent[below], arc, tree.depth[below]
                depth[:, self.root], used[self.link[arc]] = 0, True
            yield tables

    def _longest_first(self, seed: int) -> _Int32:
        """Return the nodes, nearest first, of a level those with the longest messages first, equal ones in any order."""
        order, at = self.near.order, self.trees + 1  # the root and its neighbours stay where they are
        noise = np.zeros(len(order))
        noise[at:] = np.random.RandomState(seed).random_sample(len(order) - at)
        return order[np.lexsort((-(self.flits[order] + noise), self.near.depth[order]))]

    def _improve(
        self, parent: _Int32, by: _Int32, depth: _Int32, used: NDArray[np.bool_], dealt: Ints
    ) -> tuple[int, _Tables]:
        """Return the steps and the tables of the best cover that is found from one beginning."""
        from treecast.papers.kernels.cover import extend, prune
        from treecast.papers.kernels.dealing import deal, hand_over, improve

        dealt[self.root] = 0
        known = (*self.arcs[:2], self.link, self.root)
        deepest = max(self.deepest, int(depth.max()))
        held = np.zeros((self.trees, deepest + 1), np.int64)
        others = np.delete(np.arange(self.network.nodes), self.root)
        far, flits = self.near.depth[others], self.flits[others]
        # Two orders of dealing: the farthest first, and the longest first. Which is better depends on the lengths.
        orders = [others[np.lexsort((-flits, -far))], others[np.lexsort((-far, -flits))]]
        turn = np.arange(self.trees)
        least, kept, stale = sys.maxsize, list[_Tables](), 0
        # A turn: grow the trees, deal the messages, and hand subtrees over. It ends at the bound, without gain, or
        # without work.
        while True:
            # 1. Grow.
            extend(*known, turn, deepest, np.argsort(depth, axis=1, kind="stable"), parent, by, depth, used)
            # 2. Deal: by both orders at first, and then from what is dealt already.
            options = [dealt] if kept else [dealt, *(np.zeros_like(dealt) for _ in orders)]
            results: list[tuple[int, Ints, Ints]] = []
            for number, option in enumerate(options):
                if number:
                    deal(orders[number - 1], self.flits, depth, held, option)
                self._hold(depth, held, option)
                steps = improve(self.flits, depth, held, option, self.goal, self.left)
                self.left -= self.trees * self.network.nodes + self.trees * deepest
                results.append((int(steps.max()), option, steps))
            # 3. Keep the best. A copy: the tables are changed in place.
            value, dealt, steps = min(results, key=lambda result: result[0])
            if value < least:
                least, kept, stale = value, [(parent.copy(), by.copy(), depth.copy(), dealt.copy())], 0
            else:
                stale += 1
            if least <= self.goal or stale > 2 or self.left[0] <= _WORK // 64:
                break
            # 4. Hand over.
            for pruned in (False, True):  # grown trees meet at more nodes, pruned ones leave more links free
                if pruned:
                    prune(self.link, self.root, dealt, parent, by, depth, used)
                self._hold(depth, held, dealt)
                hand_over(*known, self.flits, parent, by, depth, used, dealt, held, steps, self.goal, self.left)
            # The tree that is done soonest grows first in the next turn: it has most room.
            turn = np.argsort(steps, kind="stable")
        return least, kept[0]

    def _hold(self, depth: _Int32, held: Ints, dealt: Ints) -> None:
        held[:] = 0
        some = np.flatnonzero(self.flits)
        np.add.at(held, (dealt[some], depth[dealt[some], some]), self.flits[some])

    def _cover(self, parent: _Int32, by: _Int32, depth: _Int32, dealt: Ints, steps: int) -> Cover:
        port = np.where(by >= 0, self.arcs.port[by], -1).astype(np.int32)
        trees = [Tree(self.network, self.root, parent[t], port[t]) for t in range(self.trees)]
        return Cover(self.network, self.root, tuple(trees), dealt, steps)


def _nodes_reached(trees: tuple[Tree, ...]) -> NDArray[np.bool_]:
    return np.stack([(tree.parent >= 0) | (np.arange(len(tree.parent)) == tree.root) for tree in trees])
