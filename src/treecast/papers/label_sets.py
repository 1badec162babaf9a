"""Label sets: by which x of k disjoint trees each node of an allgather receives, chosen node by node.

The *labels* of a node are the x trees by which it receives. They are *closed* when the parent of a node, in each tree that the
node has as a label, has that label too, or is the root. Then a node's parent has the chunks that the node is to receive, and
the ways to a node are its ways in x of the disjoint trees, so they share no other node: x - 1 faults leave one of them. Whole
trees are closed, and use some ports more than others. Labels that differ from node to node can use all ports alike: then
nothing is lost.

**By rotation.** Where the network has a rotation R and the trees are rotations of one another, a pair (node v, tree t) stands
for its *orbit*, the k pairs (R^i(v), t + i). Their arcs have k different ports, so a whole orbit goes in one step. A necklace of
s < k nodes has m = k/s trees in each of its s orbits. Of a necklace, ⌊x/m⌋ orbits go whole, and of one more orbit each node takes
x mod m of its m trees: such pairs are *ragged*. If nothing hangs below a ragged pair, ragged pairs come last, in any order, each
port by itself. Their ports can be chosen so that the loads of any two ports differ by at most 1: each node takes the same part of
each of its m ports, so fractions are even, and a flow with even fractions has whole numbers next to them. With F whole orbits and
r ragged chunks an allgather of M messages takes M F + ⌈r/k⌉ steps, and M F k + r = M x (N - 1): the lower bound.
"""

from collections.abc import Callable
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from treecast.networks import Rotational
from treecast.networks.core import Ints
from treecast.plans.built import NO_ROWS, Built, Job, joined
from treecast.plans.times.pipelines import columns_of, rows_into, streams
from treecast.plans.times.timetable import Packed
from treecast.plans.whole.all_port.allgather import assemble
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet

Ranges = list[list[tuple[int, int]]]
Whole = Callable[[Ranges, int], tuple[Rows, int]]


def least_steps(job: Job[Rotational]) -> Claims:
    """Return ⌈M x (N - 1) / k⌉ steps and M x N (N - 1) transmissions: both are lower bounds."""
    nodes, total = job.network.nodes, job.collective.messages * job.copies * (job.network.nodes - 1)
    return Claims(-(-total // max(job.network.ports, 1)), total * nodes)


def left_over(job: Job[Any]) -> int:
    """Return how many of the M messages do not go by whole trees: those whose copies do not fill all trees."""
    k = job.network.ports
    return job.collective.messages % (k // gcd(k, job.copies))


def by_sets(job: Job[Any], trees: TreeSet, whole: Whole, packed: Callable[[int], Packed]) -> Built:
    """Return the allgather in which messages whose copies fill all trees go by whole trees, and the others by label sets.

    ``trees``: the k disjoint trees of node 0. ``whole(carried, each)``: the rows by which each tree
    has ``each`` of its chunks, and their steps. ``packed(messages)``: the sends of so many messages by label sets.
    """
    network, messages, copies = job.network, job.collective.messages, job.copies
    rest = left_over(job)
    each = (messages - rest) * copies // len(trees)
    rows, steps = whole(streams(messages - rest, len(trees), copies), each) if each else (NO_ROWS, 0)
    if not rest:
        return assemble(job, [rows], steps)
    found, left = packed(rest), np.arange(messages - rest, messages)
    table = Payloads.of_ranges(left, left + 1)
    parts = [rows, rows_into(trees, table, found.tree, found.node, steps + found.step, payload=found.of)]
    return assemble(job, parts, steps + found.steps, len(found.step) - rest * copies * (network.nodes - 1))


class Preferences(NamedTuple):
    """Which trees the least node of each necklace prefers; a column for each necklace.

    ``node``, ``size``: int64 (necklaces,). ``order``: int64 (k, necklaces), of the s orbits of a necklace the trees 0 … s-1,
    best first; the entries below them do not count. ``port``, ``above`` and ``depth``: int64 (k, necklaces), by tree, where
    the node hangs in it.
    """

    node: Ints
    size: Ints
    order: Ints
    port: Ints
    above: Ints
    depth: Ints


def by_rotation(job: Job[Rotational], wanted: Preferences) -> Built:
    """Return the allgather in which each necklace takes the orbits that its least node prefers, as the module describes.

    Nothing may hang below a ragged pair: who states the preferences has to see to that.
    """
    network, messages, k = job.network, job.collective.messages, job.network.ports
    # x/m whole orbits of each necklace, and x mod m trees of one orbit more.
    whole, rest = np.divmod(job.copies, k // wanted.size)
    place, necklace = np.nonzero(np.arange(k)[:, None] < whole)
    tree = wanted.order[place, necklace]
    depth = wanted.depth[tree, necklace]
    # nodes nearer to the root first, as those below them pass on what they have
    first = np.lexsort((tree, necklace, depth))
    necklace, tree = necklace[first], tree[first]
    node, above, port = wanted.node[necklace], wanted.above[tree, necklace], wanted.port[tree, necklace]
    orbit = np.arange(len(node)) * messages
    parts = [
        np.stack([orbit, network.rotate(above, i), network.rotate(node, i), (port + i) % k, (tree + i) % k])
        for i in range(k)
    ]
    step, source, target, port, tree = np.concatenate([np.empty((5, 0), np.int64), *parts], axis=1)
    table = Payloads.of([[(0, messages)]])
    rows = Rows.of(table, step=step, src=source, dst=target, port=port, tree=tree, payload=0)
    return Built(joined([rows, _ragged(job, wanted, whole, rest)], [0, len(node) * messages]), least_steps(job))


def _ragged(job: Job[Rotational], wanted: Preferences, whole: Ints, rest: Ints) -> Rows:
    """Return the rows of all ragged pairs, from step 0 on.

    The M (x mod m) chunks that a node is to hear by m trees are dealt in turn, chunk by chunk, so that no tree has one twice.
    """
    network, messages, k = job.network, job.collective.messages, job.network.ports
    found: list[tuple[int, list[int], list[int], int]] = []  # node, its trees, their ports, and for how many chunks
    for column in np.flatnonzero(rest).tolist():
        size, tree = int(wanted.size[column]), int(wanted.order[whole[column], column])
        port = int(wanted.port[tree, column])
        for turn in range(size):
            turned = range(turn, turn + k, size)
            trees, ports = [(tree + i) % k for i in turned], [(port + i) % k for i in turned]
            found.append((int(network.rotate(wanted.node[column], turn)), trees, ports, messages * int(rest[column])))
    # What does not divide evenly is dealt so that no port has more than one chunk above another.
    more = deal_evenly([(ports, chunks % len(ports)) for _, _, ports, chunks in found], k)
    load, rows, table = [0] * k, list[tuple[int, ...]](), list[list[tuple[int, int]]]()
    for (node, trees, ports, chunks), extra in zip(found, more, strict=True):
        at = 0
        for tree, port in zip(trees, ports, strict=True):
            length = chunks // len(ports) + (port in extra)
            if length:
                rows.append((load[port], length, int(network.neighbor(node, port)), node, port, tree, len(table)))
                table.append(cyclic(at, length, messages))
                load[port] += length
                at += length
    return Rows.of(Payloads.of(table), **columns_of(rows))


def cyclic(first: int, length: int, messages: int) -> list[tuple[int, int]]:
    """Return the ranges of ``length`` chunks from ``first`` on, modulo M; at most M of them.

    >>> cyclic(5, 3, 7)
    [(5, 7), (0, 1)]
    """
    low = first % messages
    stop = low + length
    return [(low, stop)] if stop <= messages else [(low, messages), (0, stop - messages)]


def deal_evenly(groups: list[tuple[list[int], int]], ports: int) -> list[set[int]]:
    """Return which of its ports each group uses: as many as it says, such that the loads of all ports are even.

    Each group gives its ports, and how many of them it uses. Each takes those used least so far. While a port is used more often
    than the mean rounded up, a chain of exchanges that ends at a port used less puts that right; where fractions are even there
    is always one.
    """
    load, chosen = [0] * ports, list[set[int]]()
    for own, count in groups:
        chosen.append(set(sorted(own, key=lambda port: load[port])[:count]))
        for port in chosen[-1]:
            load[port] += 1
    # The mean, rounded up: no dealing can do with less.
    most = -(-sum(load) // max(ports, 1))
    while max(load, default=0) > most:
        chain = _find_chain(groups, chosen, load, most)
        if not chain:
            break
        for group, port, instead in chain:
            chosen[group] ^= {port, instead}
            load[port] -= 1
            load[instead] += 1
    return chosen


def _find_chain(
    groups: list[tuple[list[int], int]], chosen: list[set[int]], load: list[int], most: int
) -> list[tuple[int, int, int]]:
    """Return exchanges (group, port, port instead) that take one from the busiest port to one below ``most``, if there are."""
    busiest = load.index(max(load))
    chains: dict[int, list[tuple[int, int, int]]] = {busiest: []}
    # Breadth first: the shortest chain changes fewest groups.
    queue = [busiest]
    for port in queue:
        for group, (own, _) in enumerate(groups):
            for instead in own if port in chosen[group] else ():
                if instead not in chosen[group] and instead not in chains:
                    chains[instead] = [(group, port, instead), *chains[port]]
                    if load[instead] < most:
                        return chains[instead]
                    queue.append(instead)
    return []
