"""Alltoall (total exchange) on Cayley networks, as an orbit: every node does the translate of node 0's part, which is built
here.

No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

from dataclasses import replace

import numpy as np

from treecast.models import model
from treecast.networks import Cayley, Rotational
from treecast.networks.core import Ints
from treecast.plans.built import NO_ROWS, Built, Job
from treecast.plans.registry import builder, every_port
from treecast.plans.times.pipelines import rows_into
from treecast.plans.times.timetable import Timed, list_paths
from treecast.plans.ways.shares import hops, shares
from treecast.plans.ways.trees.disjoint import TREES, trees_of_job
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.priced_paths import paths_of_node_zero
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads

_SPARED = (0, 2, 4, 8, 16)  # necklaces that help to fill up the steps of the short ones
_MOST_WORK = 500_000  # sends tried, of all tries


@builder(
    "disjoint-trees",
    "alltoall",
    on=Rotational,
    most_copies=every_port,
    what="the k disjoint trees, necklace by necklace",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: node 0 serves one unfolded necklace after the other, the i-th node of each over tree i, all at once.

    M Σ depths steps for x = k, the number of trees. The copies that short necklaces leave over when x < k are packed behind.
    Source: Fragopoulou & Akl, section 4 (total exchange).
    """
    network, messages = job.network, job.collective.messages
    trees = trees_of_job(job).disjoint_trees(network)
    dealt = shares(network, trees, messages, job.copies)
    entry, place, node = hops(trees, dealt.destination, dealt.tree)
    orbits = dealt.orbit.max(initial=-1) + 1
    depth = np.zeros(orbits, np.int64)
    whole = dealt.orbit >= 0
    depth[dealt.orbit[whole]] = dealt.depth[whole]
    start = starts(depth * messages)
    step = start[dealt.orbit[entry]] + place * dealt.length[entry]
    steps = int(start[-1])

    left = np.flatnonzero(~whole[entry])
    if len(left):
        left = left[np.lexsort((place[left], entry[left]))]
        port = trees.port[dealt.tree[entry[left]], node[left]].astype(np.int64)
        began, more = list_paths(network, entry[left], port, dealt.length[entry[left]])
        step[left] = steps + began
        steps += more
    rows = rows_into(trees, dealt.payloads, dealt.tree[entry], node, step, payload=dealt.payload[entry])
    return Built(rows, Claims(steps, int((dealt.length * dealt.depth).sum()) * network.nodes))


@builder(
    "shortest-paths",
    "alltoall",
    on=Cayley,
    what="shortest paths, necklace by necklace or chosen by price",
)
def over_shortest_paths(job: Job[Cayley]) -> Built:
    """All-port: over shortest paths; aims at max(diameter, ⌈M Σ distances / degree⌉) steps, the lower bound. x = 1.

    Where the network has a rotation, whole necklaces go together and keep every port busy. The ways to the other nodes, and to a
    few whole necklaces that fill the gaps, are chosen by price, and timed by a list.
    """
    network, messages = job.network, job.collective.messages
    if network.nodes == 1:
        return Built(NO_ROWS, Claims(0, 0))
    distance, runs = network.distance(0, np.arange(network.nodes)), lengths_of_runs(messages, network.ports)
    total = messages * int(distance.sum())
    least, work, best = max(network.diameter, -(-total // network.ports)), 0, list[Timed]()
    near, single = _necklaces(network, distance)
    for spared in _SPARED:
        goal = np.concatenate([single, _rotations_of(network, near[:spared])])
        parts, done = [_together(network, near[spared:], distance, messages)], 0
        for layers, size in runs:
            timed = paths_of_node_zero(network, goal, layers)
            work += len(timed.ways)
            chunk = np.repeat(goal, layers) * messages + done + np.tile(np.arange(layers), len(goal)) * size
            ways = replace(timed.ways, payloads=Payloads.of_ranges(chunk, chunk + size))
            step, begun = timed.step, sum(part.steps for part in parts)
            parts.append(Timed(ways, timed.model, begun + step * size, timed.steps * size))
            done += layers * size
        if not best or sum(part.steps for part in parts) < sum(part.steps for part in best):
            best = parts
        if sum(part.steps for part in best) == least or spared >= len(near) or work > _MOST_WORK:
            break
    step, steps = np.concatenate([part.step for part in best]), sum(part.steps for part in best)
    built = Timed(Ways.joined([part.ways for part in best]), best[0].model, step, steps).built()
    return Built(built.rows, Claims(steps, total * network.nodes))


def lengths_of_runs(messages: int, ports: int) -> list[tuple[int, int]]:
    """Return (layers, size): first as many runs of chunks as there are ports, each ``size`` long; then single chunks."""
    each, rest = divmod(messages, ports)
    return [(layers, size) for layers, size in ((ports, each), (rest, 1)) if layers and size]


def _necklaces(network: Cayley, distance: Ints) -> tuple[Ints, Ints]:
    """Return one node of each necklace that has a node for every port, nearest first; and all other nodes but node 0."""
    if not network.ports_alike:
        return np.empty(0, np.int64), np.arange(1, network.nodes)
    first, size = network.necklaces()
    whole, short = first[size == network.ports], first[size < network.ports]
    return whole[np.argsort(distance[whole], kind="stable")], np.unique(_rotations_of(network, short))


def _rotations_of(network: Cayley, nodes: Ints) -> Ints:
    """Return all rotations of some nodes, where the network has any."""
    if not network.ports_alike:
        return nodes
    return np.concatenate([network.rotate(nodes, i) for i in range(network.ports)])


def _together(network: Cayley, nodes: Ints, distance: Ints, messages: int) -> Timed:
    """Return the ways to the necklaces of ``nodes``, which are served one behind the other, over all ports at once."""
    k, length = network.ports, distance[nodes]
    first, here = starts(length), np.zeros_like(nodes)
    arc = np.empty((k, first[-1]), np.int64)
    for hop in range(int(length.max(initial=0))):
        going = np.flatnonzero(length > hop)
        v, u = nodes[going], here[going]
        there = network.neighbor(u[:, None], np.arange(k))
        port = np.argmax(network.distance(there, v[:, None]) == (length[going] - hop - 1)[:, None], axis=1)
        here[going] = there[np.arange(len(going)), port]
        for turn in range(k if len(going) else 0):
            arc[turn, first[going] + hop] = network.arc(network.rotate(u, turn), (port + turn) % k)
    chunk = (
        np.concatenate([nodes[:0], *(network.rotate(nodes, turn) for turn in range(k if len(nodes) else 0))]) * messages
    )
    begin = starts(np.tile(length, k if len(nodes) else 0))
    ways = Ways.of_paths(network, begin, arc.ravel(), chunk=chunk, size=np.full_like(chunk, messages))
    each = np.arange(int(first[-1])) * messages
    return Timed(ways, model("all-port"), np.tile(each, k), len(each) * messages)
