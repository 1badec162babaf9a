"""Allgather (multinode broadcast) on Cayley networks, as an orbit: every node does the translate of node 0's part, which is
built here.

No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

from itertools import combinations, product
from math import comb

import numpy as np

from treecast.collectives.traits import all_to_all
from treecast.networks import Cayley, Rotational
from treecast.networks.core import Ints
from treecast.plans.built import NO_ROWS, Built, Job, joined, rows_over
from treecast.plans.registry import builder, every_port
from treecast.plans.search import best_of
from treecast.plans.times.pipelines import rows_into, streams
from treecast.plans.times.timetable import in_orbits, pack
from treecast.plans.ways.spreading import NEED, RARITY, exchanged
from treecast.plans.ways.trees.disjoint import TREES, trees_of_job
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet

_TRIES = 20
_MOST_SETS = 2000


@builder(
    "disjoint-trees",
    all_to_all,
    on=Rotational,
    most_copies=every_port,
    summary="the k disjoint trees, each walked depth first, all at once",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: each tree is walked depth first, all k trees at once; the copies left over are packed.

    Of the Mx copies each tree carries q = ⌊Mx/k⌋ over one arc after the other, q (N-1) steps in which every arc of the
    network is busy: the paper's multinode broadcast, with a step count in place of its acknowledgements. The Mx - qk
    copies left, one on each of some trees, come after: each port to a new node in each step when x = 1, else
    over those trees, arcs packed by a greedy list schedule.
    """
    network, messages, copies, k = job.network, job.collective.messages, job.copies, job.network.ports
    trees = trees_of_job(job).disjoint_trees(network)
    each, rest = divmod(messages * copies, max(k, 1))
    carried = streams(messages, k, copies) if copies > 1 or not rest else streams(messages - rest, k, 1)
    more = least_crowded(trees, rest) if rest and copies > 1 else []
    if more:  # these trees carry one message more than the others
        long, short = ([c for c in carried if (sum(b - a for a, b in c) > each) == extra] for extra in (True, False))
        carried = [long.pop() if tree in more else short.pop() for tree in range(k)]
    parts, steps = [walked(network, trees, carried, each)], each * (network.nodes - 1)
    if rest and copies == 1:  # each chunk that is left has a tree of its own
        rows, steps = _spread(network, rest, first=messages - rest, begun=steps, tree=k if each else 0)
        parts.append(rows)
    elif rest:
        packed = pack(trees, np.full((1, network.nodes), sum(1 << tree for tree in more)))
        table, place = Payloads.of([_take_part(carried[tree], each, each + 1) for tree in more]), np.zeros(k, np.int64)
        place[more] = np.arange(len(more))
        later = steps + packed.step
        parts.append(rows_into(trees, table, packed.tree, packed.node, later, payload=place[packed.tree]))
        steps += packed.steps
    return assemble(job, parts, steps)


def walked(network: Rotational, trees: TreeSet, carried: list[list[tuple[int, int]]], each: int) -> Rows:
    """Return the rows by which all trees at once are walked depth first.

    Over each arc go the first ``each`` chunks that its tree has to carry: no port is ever idle, or used twice in a step.
    """
    if not each or network.nodes == 1:
        return NO_ROWS
    node = np.stack(_walk(network, trees))
    tree, place = (index.ravel() for index in np.indices(node.shape))
    table = Payloads.of([_take_part(ranges, 0, each) for ranges in carried])
    return rows_into(trees, table, tree, node.ravel(), place * each, payload=tree)


@builder(
    "orbits",
    all_to_all,
    on=Cayley,
    summary="each step joins ports with new nodes",
)
def over_matchings(job: Job[Cayley]) -> Built:
    """All-port: each step joins ports with new nodes; x = 1, on any Cayley network.

    In most cases it takes max(diameter, ⌈M (N-1) / degree⌉) steps, the lower bound. This is not proved; each schedule shows it.
    """
    network, messages, k = job.network, job.collective.messages, max(job.network.ports, 1)
    each, rest = divmod(messages, k)
    parts, steps = list[Rows](), 0
    for layers, size, first in ((k, each, 0), (rest, 1, k * each)):
        if layers and size and network.nodes > 1:
            rows, steps = _spread(network, layers, first=first, size=size, begun=steps)
            parts.append(rows)
    return assemble(job, parts or [NO_ROWS], steps)


def assemble(job: Job[Cayley], parts: list[Rows], steps: int, more: int = 0) -> Built:
    """Return a schedule of rows in several parts; ``more``: the sends of node 0's chunks beyond Mx(N-1)."""
    nodes = job.network.nodes
    sends = (job.collective.messages * job.copies * (nodes - 1) + more) * nodes
    return Built(joined(parts), Claims(steps, sends))


def _take_part(ranges: list[tuple[int, int]], first: int, stop: int) -> list[tuple[int, int]]:
    """Return the part ``first … stop-1`` of a stream."""
    found: list[tuple[int, int]] = []
    for a, b in ranges:
        found.append((a + max(first, 0), min(b, a + stop)))
        first, stop = first - (b - a), stop - (b - a)
    return [(a, b) for a, b in found if a < b]


def _walk(network: Rotational, trees: TreeSet) -> list[Ints]:
    """Return the nodes of each tree but the root, in the order of a depth-first walk; children in the tree's order.

    The walks are rotations of one another, so only the first is walked.
    """
    nodes, ports = network.nodes, network.ports
    child = np.full((nodes, ports), -1, np.int32)
    target = np.flatnonzero(trees.parent[0] >= 0)
    child[trees.parent[0][target], (trees.port[0][target].astype(np.int64) - trees.first_port[0]) % ports] = target
    order, stack = list[int](), [trees.root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [v for v in child[node, ::-1].tolist() if v >= 0]
    walk = np.array(order[1:], np.int64)
    return [network.rotate(walk, times) for times in range(len(trees))]


def least_crowded(trees: TreeSet, count: int) -> list[int]:
    """Return the ``count`` trees whose arcs are spread most evenly over the ports, of those sets that are looked at."""
    k = len(trees)
    crowd = np.array([np.bincount(port[port >= 0], minlength=k) for port in trees.port])
    spaced = tuple(tree * k // count for tree in range(count))
    sets = combinations(range(k), count) if comb(k, count) <= _MOST_SETS else [spaced]
    return list(min(sets, key=lambda used: (int(crowd[list(used)].sum(axis=0).max()), used)))


def _spread(
    network: Cayley, layers: int, *, first: int, size: int = 1, begun: int = 0, tree: int | None = None
) -> tuple[Rows, int]:
    """Return rows by which runs of chunks of node 0 reach all nodes, one run per port and time, and the step behind the last.

    There are ``layers`` runs of ``size`` chunks, from chunk ``first`` on; ``tree``: the number of the tree of the first.
    """
    least = max(network.diameter, -(-layers * (network.nodes - 1) // network.ports))
    wants = np.ones((network.nodes, layers), np.bool_)
    has = wants & (np.arange(network.nodes) == 0)[:, None]
    tries = (
        exchanged(network, in_orbits(network), has, wants, seed=seed, order=order)
        for seed, order in product(range(1, _TRIES), (RARITY, NEED))
    )
    step, arc, layer = best_of(tries, lambda sent: (int(sent.step[-1]) + 1,), least)
    run = first + np.arange(layers) * size
    number, table = -1 if tree is None else layer + tree, Payloads.of_ranges(run, run + size)
    rows = rows_over(network, table, begun + step * size, arc, tree=number, payload=layer)
    return rows, begun + size * (int(step[-1]) + 1)
