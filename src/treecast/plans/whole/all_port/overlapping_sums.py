"""Allreduce and reduce-broadcast on any network: sums go up trees while finished ones go down others; few arcs are in many.

A reduce-scatter and behind it an allgather ask as much of each node in each half: a node with fewer arcs than others holds up
both. Here the halves overlap. The trees of both are chosen by price, all beside each other, so such a node passes on less, and
others more. Each tree is a stream, or carries its sums in turns (plans/times/timetable.py): then the first finished sums go out
while the last ones come in, from one root as from all.
"""

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.traits import sums_for_all
from treecast.lower_bounds import bounds, tightest
from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of, parallel
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder, looks_different
from treecast.plans.search import HOP, WORK
from treecast.plans.times.pipelines import streams
from treecast.plans.times.timetable import MOST_IN_TURNS, Timed, in_turns, listed
from treecast.plans.ways.trees.balanced import grown
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.schedule import Payloads

_MOST_ARCS = 2**19  # owners of sums, times arcs of a network
_MOST_TRIED = WORK // (8 * HOP)  # sends of all numbers of trees that are tried, of one shape
_TIMES, _TREES = (8, 4, 2, 1), (128, 64, 32, 16, 8, 4, 2)
_FULL = 6  # numbers of trees that fill all arcs
_SHAPES = ((1.0, 0), (1.0, 64), (1.0, 256), (0.75, 16))
"""The share of the trees that an arc can be in that it should be in, and the cost of depth."""


def _lacks_need(job: Job[Network]) -> str:
    network = job.network
    if job.collective.all_source and network.seen_alike:
        return looks_different(network)
    if len(_owners(job)) * network.arcs > _MOST_ARCS or network.rank_count > _MOST_TRIED // 2:
        return f"is for networks of up to {_MOST_ARCS:,} owners of sums times arcs, and {network.spec} has more"
    return ""


def _owners(job: Job[Network]) -> Ints:
    """Return the nodes at which sums end."""
    return job.network.ranks if job.collective.all_source else np.array([job.collective.root])


@builder(
    "priced-trees",
    sums_for_all,
    fits=_lacks_need,
    orbit=False,
    summary="sums go up trees while finished ones go down others; trees chosen by price such that arcs are used alike",
)
def over_overlapping_trees(job: Job[Network]) -> Built:
    """All-port: the sums of each owner come up trees to it and go down others, both at the same time as those of other owners.

    It is not proved how near the bound this is: each schedule shows it.
    """
    network, messages = job.network, job.collective.messages
    if network.rank_count == 1:
        return listed(Ways.of_trees(network, []), job.model, [np.zeros(0, np.int64)]).built()
    least = tightest(bounds(job.collective, network, 1, job.model), "steps").value
    owners, tried = _owners(job), list[tuple[int, NDArray[np.int32]]]()
    found = _listed(_ways(job, _grow(network, owners, 1, max(1.0, least / messages))), in_turn=False)
    for trees, (share, deeper) in _attempts(network, len(owners), messages):
        if found.steps == least:
            return found.built()
        taken = _grow(network, owners, trees, max(1.0, least * trees * share / messages), deeper)
        ways = _ways(job, taken)
        found = min(found, *(_listed(ways, in_turn=turn) for turn in (False, True)), key=_steps)
        busiest = int(np.bincount(taken[taken >= 0]).max()) * -(-messages // trees)
        tried.append((busiest, taken))
    left, sums = MOST_IN_TURNS, messages * len(owners)
    # filling and emptying trees takes some turns: of few trees the busiest arcs tell most
    tried.sort(key=lambda each: (each[0] * (1 + 2 * len(each[1]) / sums), len(each[1])))
    for busiest, taken in tried:
        if found.steps > max(least, busiest) and left > 0:
            ways = _ways(job, taken)
            found = min(found, in_turns(ways, ways.payload % len(taken)), key=_steps)
            left -= min(MOST_IN_TURNS, int(np.count_nonzero(taken >= 0)) * -(-sums // len(taken)))
    return found.built()


def _steps(timed: Timed) -> int:
    return timed.steps


def _attempts(network: Network, owners: int, messages: int) -> list[tuple[int, tuple[float, int]]]:
    """Return how many trees of each owner are worth trying, and their shapes: numbers that can fill all arcs, powers of two."""
    sends, arcs = 2 * owners * (network.rank_count - 1), network.arcs
    even = arcs // int(np.gcd(arcs, sends))
    full = sorted(range(2, min(messages, _TREES[0]) + 1), key=lambda k: (-(-sends * k // arcs) * -(-messages // k), k))
    counts = dict.fromkeys((1, messages, *full[:_FULL], *(times * even for times in _TIMES), *_TREES))
    found = list[tuple[int, tuple[float, int]]]()
    for shape in _SHAPES:
        left = _MOST_TRIED
        for count in counts:
            if count <= messages and (not found or count * sends <= left):
                found.append((count, shape))
                left -= count * sends
    return found


def _grow(network: Network, owners: Ints, trees: int, most: float, deeper: int = 0) -> NDArray[np.int32]:
    """Return the arc of each node in each tree, int32 (trees, 2, N): the one it hears over, the one it sends its sum over.

    ``most`` and ``deeper`` are as of ``balanced_trees``. Tree t belongs to owner t modulo their number. The arcs stand twice in
    the graph that is searched, the second time turned round.
    """
    arcs, nodes, roots = arcs_of(network), network.nodes, np.tile(owners, trees)
    first = np.concatenate([arcs.first, arcs.into[1:] + len(arcs.head)])
    head = np.concatenate([arcs.head, arcs.tail[arcs.entering] + nodes]).astype(np.int32)
    tail = np.concatenate([arcs.tail, arcs.head[arcs.entering] + nodes]).astype(np.int32)
    cable = np.concatenate([np.arange(len(arcs.head)), arcs.entering]).astype(np.int64)
    relay = np.zeros(nodes, np.bool_) if network.relays is None else network.relays
    both = np.stack([roots, roots + nodes], axis=1).ravel()
    up = grown((first, head, tail, cable), np.tile(relay, 2), both, most, deeper)
    found = np.where(up < 0, -1, cable[up]).astype(np.int32)
    return np.stack([found[::2, :nodes], found[1::2, nodes:]], axis=1)


def _ways(job: Job[Network], taken: NDArray[np.int32]) -> Ways:
    """Return the ways of sums over the arcs that nodes take in trees, and behind them of finished sums."""
    network, arcs, owners, (base, size) = job.network, arcs_of(job.network), _owners(job), _parts(job, len(taken))
    tree, down, node = np.nonzero(taken[:, ::-1] >= 0)  # first the arcs that go up
    arc = taken[:, ::-1][tree, down, node].astype(np.int64)
    number = np.full((len(taken), 2, network.nodes), -1)
    number[tree, down, node] = every = np.arange(len(arc))
    root = owners[tree % len(owners)]
    sums = down == 0
    # a sum waits for those of the nodes below; a finished one for its being heard, at the root for all that come in
    onward = number[tree[sums], 0, arcs.head[arc[sums]]]
    more = onward >= 0
    below = ~sums & (arcs.tail[arc] != root)
    before, after = pairs_of(np.where(sums & (arcs.head[arc] == root), tree, -1), np.where(sums | below, -2, tree))
    begin = np.append(base, base + job.collective.sums)
    return Ways(
        network,
        arc,
        tree + down * len(taken),
        Payloads.of_ranges(begin, begin + np.tile(size, 2)),
        tree // len(owners),
        tree // len(owners),
        np.concatenate([every[sums][more], number[tree[below], 1, arcs.tail[arc[below]]], before]),
        np.concatenate([onward[more], every[below], after]),
    )


def _listed(ways: Ways, *, in_turn: bool) -> Timed:
    """Return a list schedule: the sends go first that are farthest from the end; ``in_turn``: tree by tree."""
    return listed(ways, model("all-port"), [ways.turn * in_turn, -ways.heights], pools=parallel(ways.network))


def _parts(job: Job[Network], trees: int) -> tuple[Ints, Ints]:
    """Return the first sum of each tree, and how many it has."""
    owners, messages = _owners(job), job.collective.messages
    ranges = np.array([each[0] for each in streams(messages, trees // len(owners), 1)], np.int64)
    own = owners * messages if job.collective.all_source else owners * 0
    return (ranges[:, :1] + own).ravel(), np.repeat(ranges[:, 1] - ranges[:, 0], len(owners))
