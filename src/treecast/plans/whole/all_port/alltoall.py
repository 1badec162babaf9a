"""Alltoall (total exchange) on Cayley networks, as an orbit: every node does the translate of node 0's part, which is built
here.

No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

from dataclasses import replace

import numpy as np

from treecast.networks import Cayley, Rotational
from treecast.plans.built import NO_ROWS, Built, Job, joined
from treecast.plans.registry import builder, every_port
from treecast.plans.times.pipelines import rows_into
from treecast.plans.times.timetable import list_paths
from treecast.plans.ways.shares import hops, shares
from treecast.plans.ways.trees.disjoint import TREES, trees_of_job
from treecast.plans.whole.all_port.priced_paths import paths_of_node_zero
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads


@builder(
    "disjoint-trees",
    "alltoall",
    on=Rotational,
    most_copies=every_port,
    summary="the k disjoint trees, necklace by necklace",
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
    summary="shortest paths of node 0, chosen by price",
)
def over_shortest_paths(job: Job[Cayley]) -> Built:
    """All-port: over shortest paths; aims at max(diameter, ⌈M Σ distances / degree⌉) steps, the lower bound. x = 1."""
    network, messages, nodes = job.network, job.collective.messages, np.arange(1, job.network.nodes)
    parts, later, done, sent = [NO_ROWS], [0], 0, 0
    for layers, size in lengths_of_runs(messages, network.ports) if len(nodes) else ():
        timed = paths_of_node_zero(network, layers)
        chunk = np.repeat(nodes, layers) * messages + sent + np.tile(np.arange(layers), len(nodes)) * size
        ways = replace(timed.ways, payloads=Payloads.of_ranges(chunk, chunk + size))
        parts.append(timed._replace(ways=ways, step=timed.step * size).built().rows)
        later.append(done)
        done, sent = done + timed.steps * size, sent + layers * size
    sends = messages * int(network.distance(0, nodes).sum()) * network.nodes
    return Built(joined(parts, later), Claims(done, sends))


def lengths_of_runs(messages: int, ports: int) -> list[tuple[int, int]]:
    """Return (layers, size): first as many runs of chunks as there are ports, each ``size`` long; then single chunks."""
    each, rest = divmod(messages, ports)
    return [(layers, size) for layers, size in ((ports, each), (rest, 1)) if layers and size]
