"""Scatter down trees, farthest first.

The root sends each tree its shares one behind the other, those for the deepest nodes first. A share on its way never waits.
Source: Fragopoulou & Akl, section 4 (single node scattering); for x < n-1 copies see plans/ways/shares.py.
"""

import numpy as np

from treecast.collectives.traits import one_to_each
from treecast.networks import Network, Rotational
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, every_port
from treecast.plans.times.pipelines import rows_into
from treecast.plans.ways.shares import Shares, hops, shares
from treecast.plans.ways.trees import axes
from treecast.plans.ways.trees.disjoint import TREES, lacks_trees, trees_of, trees_of_job
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import Tree, TreeSet

_UNEVEN = 4  # the weight of a share more than in another tree, beside an arc more to go


@builder(
    "disjoint-trees",
    one_to_each,
    on=Rotational,
    most_copies=every_port,
    summary="down the k disjoint trees, farthest first",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: scatter over the disjoint trees of the network, each message over x = ``copies`` of them.

    M (N-1) steps and M k Σ depths transmissions for x = k, the number of trees.
    """
    trees = trees_of_job(job).disjoint_trees(job.network)
    dealt = shares(job.network, trees, job.collective.messages, job.copies)
    return _move_to_root(job, _farthest_first(trees, dealt, dealt.tree))


def _lacks_rule(network: Network) -> str:
    """Return why no rule gives disjoint trees of a network, or who has better use for them; empty where neither is so."""
    if network.ports_alike:
        return "needs a network whose ports do not look alike; on this one rotations deal shares"
    if network.grid is not None and not network.grid.wraps:
        return ""
    return lacks_trees(network)


def _few_copies(job: Job[Network]) -> str:
    return "" if job.copies > 1 else "is for several copies where ports differ: builder flow-over-time sends one"


def _most_by_rule(network: Network) -> int:
    return len(axes.axes_of(network)) if network.grid is not None and not network.grid.wraps else every_port(network)


@builder(
    "disjoint-trees",
    one_to_each,
    on=_lacks_rule,
    most_copies=_most_by_rule,
    fits=_few_copies,
    summary="down disjoint trees by rule, dealt such that all carry as much, farthest first",
)
def over_trees_by_rule(job: Job[Network]) -> Built:
    """All-port: scatter over disjoint trees, each message over x of them; on meshes over those of the axes.

    Each node takes trees that carry little so far and in which it is not deep. ⌈Mx(N-1)/k⌉ steps, the fewest there can be with k
    ports, and the steps that the depth of the last shares adds.
    """
    network, root = job.network, job.collective.root
    wraps = network.grid is None or network.grid.wraps
    trees = trees_of(network).disjoint_trees(network, root) if wraps else axes.axis_trees(network, root)
    depths, load, taken = trees.depths.astype(np.int64), np.zeros(len(trees), np.int64), list[Ints]()
    destination = np.argsort(-depths.min(axis=0), kind="stable")
    destination = destination[destination != root]
    for v in destination.tolist():
        best = np.argsort(depths[:, v] + _UNEVEN * (load - load.min()), kind="stable")[: job.copies]
        load[best] += 1
        taken.append(best)
    tree = np.concatenate([np.empty(0, np.int64), *taken])
    destination = np.repeat(destination, job.copies)
    return _farthest_first(trees, whole_blocks(trees, destination, tree, job.collective.messages), tree)


@builder("breadth-first-tree", one_to_each, summary="down one breadth-first tree, farthest first")
def over_breadth_first_tree(job: Job[Network]) -> Built:
    """All-port: scatter down one tree of shortest paths, over all arcs of the root at once: the baseline of any network."""
    return down_one_tree(breadth_first(job.network, job.collective.root), job.collective.messages)


def down_one_tree(tree: Tree, messages: int) -> Built:
    """Return the scatter of ``messages`` to each node down one spanning tree, over all arcs of the root at once."""
    ranks, trees = tree.network.ranks, TreeSet.of(tree)
    destination = ranks[ranks != tree.root]
    dealt = whole_blocks(trees, destination, np.zeros_like(destination), messages)
    return _farthest_first(trees, dealt, tree.branch[destination])


def whole_blocks(trees: TreeSet, destination: Ints, tree: Ints, messages: int) -> Shares:
    """Return shares of all messages of a node each."""
    every, depth = np.arange(trees.network.nodes), trees.depths[tree, destination].astype(np.int64)
    table, lengths = Payloads.of_ranges(every * messages, (every + 1) * messages), np.full_like(destination, messages)
    return Shares(destination, tree, depth, lengths, destination, np.zeros_like(tree), table)


def _farthest_first(trees: TreeSet, dealt: Shares, stream: Ints) -> Built:
    return one_by_one(trees, dealt, (dealt.destination, -dealt.depth, stream), stream)


def one_by_one(trees: TreeSet, dealt: Shares, keys: tuple[Ints, ...], stream: Ints) -> Built:
    """Send the shares of each ``stream``, over arcs of its own, one behind the other, sorted by ``keys``, the last first."""
    tree, depth, length = dealt.tree, dealt.depth, dealt.length
    order = np.lexsort(keys)
    before = starts(length[order])[:-1]
    new = np.concatenate(([True], np.diff(stream[order]) != 0)) if len(order) else np.empty(0, bool)
    start = np.empty_like(length)
    start[order] = before - np.maximum.accumulate(np.where(new, before, 0))
    entry, place, node = hops(trees, dealt.destination, tree)
    rows = rows_into(trees, dealt.payloads, tree[entry], node, start[entry] + place, payload=dealt.payload[entry])
    return Built(rows, Claims(int((start + length + depth - 1).max(initial=0)), int((length * depth).sum())))


def _move_to_root(job: Job[Rotational], built: Built) -> Built:
    """Return the scatter from node 0 as one from the root of the collective."""
    if job.collective.root == 0:
        return built
    moved = job.network.translate(job.collective.root, np.arange(job.network.nodes))
    rows, table, messages = built.rows, built.rows.payloads, job.collective.messages
    block, place = np.divmod(table.first, messages)
    first = moved[block] * messages + place
    columns = rows.columns() | {"src": moved[rows.src], "dst": moved[rows.dst]}
    return Built(Rows.of(Payloads(table.start, first, first + table.stop - table.first), **columns), built.claims)
