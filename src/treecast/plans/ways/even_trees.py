"""Trees whose arcs load nodes and links evenly, under any machine: for periods, whose length is the greatest load.

Trees of shortest paths exchange arcs by simulated annealing. So nodes that would send most in several trees send in few of them.
Relays join trees, and leave them, as nodes come to hear by way of them or no longer do.

*Grown trees* grow arc by arc, each beside all others: the cheapest arc that leads out of a tree is its next one. It costs more,
the more sends take its resources, and the later its head hears; over one port a node tells its children one after the other.
Each tree grows anew a few times.

*Trees about every node*: where sums come up a tree and go down it again, a node sends as often as it has neighbours in the tree.
So the shallow trees about all nodes, hung up at the root, are even if they are translations of one another: N messages load each
node with 2 (N - 1) sends, which is the mean of any trees.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.plans.built import Job
from treecast.plans.search import WORK, affordable
from treecast.plans.ways.priced_trees import ClassShares, ways_of_trees
from treecast.plans.ways.trees.packed import tree_set
from treecast.plans.ways.trees.spanning import breadth_first, pruned
from treecast.plans.ways.ways import Ways
from treecast.schedule import Payloads
from treecast.takes import Takes, takes

CHANGES = 256
"""Changes that are tried, for each two nodes that arcs join, in each tree."""
_CHANGE = 2**6  # units of work for a change
_MOST_CHANGES = WORK // (4 * _CHANGE)
_FEW_TAKEN = 4  # links and ports that a send takes
_HEAT = 0.1
_FEW = 2**14  # hops of the trees of all roots
_TREES, _DEEPER = (8, 6, 5, 4, 3, 2, 1), (0.02, 0.1)  # of each root, and the cost of an arc more to a node
_SEEDS = (1, 2, 3)


def even_ways(job: Job[Network]) -> Iterator[tuple[Collective, Ways]]:
    """Yield the ways of even trees, of data that everybody wants in one copy, and the collective of a message for each tree."""
    some = [(trees, roots) for trees in _TREES if (roots := roots_of(job, trees))]
    width = _width(takes(job.model, job.network)) if some else 1
    every = affordable(
        product(_SEEDS, some, _DEEPER),
        lambda each: _CHANGE * width * _changes(job.network, width, len(each[1][1])),
    )
    for seed, (trees, roots), deeper in every:
        yield of_one_chunk(job, trees, even_trees(job.network, job.model, roots, deeper, seed))


def roots_of(job: Job[Network], trees: int) -> list[int]:
    """Return the roots of so many trees of each source of data that everybody wants in one copy; none of other data, or of more.

    Equal ones stand together.
    """
    collective, network = job.collective, job.network
    if job.copies > 1 or collective.personal or collective.traits.adds or collective.lengths or job.model.combining:
        return []
    roots = collective.ranks if collective.all_source else np.array([collective.root])
    few = trees <= collective.messages and trees * len(roots) * network.nodes <= _FEW
    return np.repeat(roots, trees).tolist() if few else []


def of_one_chunk(job: Job[Network], trees: int, ways: Ways) -> tuple[Collective, Ways]:
    """Return the collective of a message for each of so many trees of each source, and ways numbered as its chunks."""
    collective = job.collective
    block = collective.ranks[:, None] if collective.all_source else np.zeros((1, 1), np.int64)  # a relay has one, too
    chunk = (block * trees + np.arange(trees)).ravel()
    return job.of(trees).collective, replace(ways, payloads=Payloads.of_ranges(chunk, chunk + 1))


def even_trees(network: Network, machine: Model, roots: list[int], deeper: float, seed: int = 1) -> Ways:
    """Return the ways of one chunk down each of some trees, chunk i down the i-th; ``roots``: that of each, equal ones together.

    ``deeper``: the cost of an arc more to a node, beside 1 for a send more of a resource that has as many as the mean.
    ``seed``: of the random numbers. Each root reaches all nodes.

    >>> from treecast import network
    >>> from treecast.models import model
    >>> from treecast.takes import Takes, takes
    >>> grid = network("mesh:4x4")
    >>> found = even_trees(grid, model("one-port"), [0, 0], 0.1)
    >>> int(found.loads(takes(model("one-port"), grid)).max())
    3
    """
    return ways_over(network, roots, _even(network, machine, tuple(roots), deeper, seed))


def ways_over(network: Network, roots: list[int], up: NDArray[np.int32]) -> Ways:
    """Return the ways of one chunk down each of some trees, whose arcs into nodes are int32 (trees, N)."""
    top = np.array(roots, np.int64)
    parts = [
        (tree_set(network, root, up[top == root]), [[(i, i + 1)] for i in np.flatnonzero(top == root).tolist()])
        for root in dict.fromkeys(roots)
    ]
    return Ways.of_trees(network, parts)


@kept(64)  # a list schedule and periods ask for the same
def _even(network: Network, machine: Model, roots: tuple[int, ...], deeper: float, seed: int) -> NDArray[np.int32]:
    """Return the arcs by which nodes hear in trees of even loads: int32 (trees, N); -1 at roots and where none leads."""
    from treecast.plans.kernels.evening import even

    arcs, wanted, top = arcs_of(network), takes(machine, network), np.array(roots, np.int64)
    up = _alike(network, top) if network.relays is None else _past_other_relays(network, top, seed)
    load = np.bincount(wanted.resource[up[up >= 0]].ravel(), minlength=wanted.resources).astype(np.int64)
    count, chance = _changes(network, _width(wanted), len(top)), np.random.default_rng(seed)
    unit = 4 * max(1.0, float((load / wanted.room).mean())) ** 3
    # a change of cost d is taken with the chance exp(-d / heat): an exponential number above d says it
    cooling = _HEAT * unit * (1 - np.arange(count) / count) * chance.exponential(size=count)
    which, arc, turn = (chance.integers(many, size=count) for many in (len(top), len(arcs.head), len(arcs.head)))
    relay = np.zeros(network.nodes, np.bool_) if network.relays is None else network.relays.copy()
    children = np.zeros((len(top), network.nodes), np.int64)
    tree, below = np.nonzero(up >= 0)
    np.add.at(children, (tree, arcs.tail[up[tree, below]]), 1)
    ends = (column.astype(np.int64) for column in (arcs.tail, arcs.head, arcs.into, arcs.entering))
    changes = (which, arc, cooling.astype(np.int64), turn)
    even(changes, *ends, wanted.resource, wanted.room, top, relay, round(deeper * unit), up, children, load)
    return up


def _changes(network: Network, width: int, trees: int) -> int:
    """Return how many changes are tried in so many trees: to hear by another cable of the same link is none of a tree."""
    return min(CHANGES * len(arcs_of(network, single=True).head) * trees, _MOST_CHANGES // width)


def _width(wanted: Takes) -> int:
    """Return how many times as much a change has to look at as usual: routes take many links."""
    return max(1, wanted.resource.shape[1] // _FEW_TAKEN)


def _alike(network: Network, top: Ints) -> NDArray[np.int32]:
    """Return arcs of trees of shortest paths, the same one of each root: int32 (trees, N)."""
    arcs, up = arcs_of(network), np.full((len(top), network.nodes), -1, np.int32)
    for root in np.unique(top).tolist():
        tree = breadth_first(network, root)
        below = np.flatnonzero(tree.parent >= 0)
        up[np.ix_(top == root, below)] = arcs.number(tree.parent[below].astype(np.int64), tree.port[below])
    return up


def _past_other_relays(network: Network, top: Ints, seed: int) -> NDArray[np.int32]:
    """Return arcs of trees of shortest paths, each past relays of its own choice: int32 (trees, N)."""
    arcs, chance, every = arcs_of(network), np.random.default_rng(seed), np.arange(network.nodes)
    up = np.full((len(top), network.nodes), -1, np.int32)
    for own, root in zip(up, top.tolist(), strict=True):
        far, turn = network.distance(root, every), chance.permutation(network.nodes)
        near = np.flatnonzero((far[arcs.tail] >= 0) & (far[arcs.tail] + 1 == far[arcs.head]))
        # of several arcs into a node the last stays: it comes from the tail of the last turn
        near = near[np.argsort(turn[arcs.tail[near]], kind="stable")]
        own[arcs.head[near]] = near
        above, port = (np.append(of, -1)[own].astype(np.int32) for of in (arcs.tail, arcs.port))
        own[pruned(network, above, port)[0] < 0] = -1
    return up


# of each root, and the cost of a step later beside that of a send more
_MANY_TREES, _LATER = (1, 2, 4, 8), (0.125, 0.5)
_PASSES, _TIE = 4, 2.0**-10


def grown_ways(job: Job[Network]) -> Iterator[tuple[Collective, Ways]]:
    """Yield the ways of grown trees, of data that everybody wants in one copy, and the collective of a message for each tree."""
    for trees, later in product(_MANY_TREES, _LATER):
        if roots := roots_of(job, trees):
            yield of_one_chunk(job, trees, _grown(job, roots, later))


def ways_about_nodes(job: Job[Network]) -> Iterator[tuple[Collective, Ways]]:
    """Yield the ways of sums up and down a tree about each node, and the collective of a message for each; none of other data."""
    collective, network, every = job.collective, job.network, np.arange(job.network.nodes)
    summed = collective.results and not collective.all_source and network.both_ways and network.relays is None
    if not summed or network.nodes > collective.messages or network.nodes**2 > _FEW:
        return
    arcs, by = arcs_of(network), np.full((2, network.nodes, network.nodes), -1, np.int32)
    for node in range(network.nodes):
        above = breadth_first(network, 0 if network.seen_alike else node).parent.astype(np.int64)
        # one tree, translated, serves all nodes
        if network.seen_alike:
            moved = network.translate(node, every)
            above[moved] = np.where(above < 0, -1, network.translate(node, np.maximum(above, 0)))
        child, parent = -1, collective.root  # from the root to the node each hangs below the one before
        while parent >= 0:
            above[parent], parent, child = child, int(above[parent]), parent
        below = np.flatnonzero(above >= 0)
        # contributions go up the tree, results down it
        for side, (tail, head) in enumerate(((below, above[below]), (above[below], below))):
            by[side, node, below] = arcs.number(tail, network.port_between(tail, head))
    shares = ClassShares(every * 0, every, every * 0 + 1)
    small, out = job.of(network.nodes).collective, np.arange(2 * network.nodes) >= network.nodes
    yield small, ways_of_trees(small, network, shares, (np.tile(every, 2), out, by.reshape(-1, network.nodes)))


def _grown(job: Job[Network], roots: list[int], later: float) -> Ways:
    from treecast.plans.kernels.growing import grow

    network, wanted = job.network, takes(job.model, job.network)
    arcs, top = arcs_of(network), np.array(roots, np.int64)
    up = np.full((len(top), network.nodes), -1, np.int64)
    ties, load = _TIE * np.random.default_rng(1).random((len(top), network.arcs)), np.zeros(wanted.resources, np.int64)
    ends = (arcs.first.astype(np.int64), arcs.head.astype(np.int64))
    table = (wanted.resource, wanted.room, wanted.ports, wanted.gap, wanted.delay)
    grow(top, *ends, *table, later, _PASSES, ties, load, up)
    return ways_over(network, roots, up.astype(np.int32))
