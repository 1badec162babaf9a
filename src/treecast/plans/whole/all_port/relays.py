"""Collectives on the complete network: a copy goes straight to its target over one arc, or by a relay over two.

The x ways to a node have no relay in common, so any x - 1 nodes or links that fail leave one way. One copy goes straight to
its target. Broadcasts in more than one copy go over the trees of ``plans/ways/trees/complete.py``.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from treecast.collectives.traits import all_to_all, each_to_each, one_to_each
from treecast.networks.complete import Complete
from treecast.networks.core import Ints, ints
from treecast.plans.built import Built, Job, rows_of_blocks
from treecast.plans.registry import builder, every_port
from treecast.plans.times.timetable import list_paths
from treecast.schedule import Claims

_RELAYS: dict[str, Any] = {
    "on": Complete,
    "most_copies": every_port,
    "summary": "to the target itself; more copies by way of relays",
}


def _scatter(job: Job[Complete]) -> Built:
    """All-port: x - 1 copies of each message to a relay each, one behind the other, and then one to its target itself.

    Mx steps, as many as the root needs to send them; M (2x - 1) (N - 1) transmissions.
    """
    network, messages, copies = job.network, job.collective.messages, job.copies
    tree, source, target, block = by_relays(network.nodes, copies)
    step = np.where(tree > 0, tree - 1, copies - 1) * messages + (source > 0)
    source, target, block = (network.translate(job.collective.root, u) for u in (source, target, block))
    rows = rows_of_blocks(job, step, source, target, block, tree=tree)
    return Built(rows, Claims(copies * messages * min(1, network.nodes - 1), messages * len(step)))


def by_relays(nodes: int, copies: int) -> Ints:
    """Return the sends to each node 1 … N - 1 over x ways: way, source, target, and the node it is for; int64 (4, sends).

    Way 0 leads from node 0 straight to the target. The relay of way w is w nodes beyond the target, in a circle.
    """
    way, onward, place = (ints(index.ravel()) for index in np.indices((copies, 2, nodes - 1)))
    relay = (place + way) % max(nodes - 1, 1) + 1
    sends = np.stack([way, onward * relay, np.where(onward, place + 1, relay), place + 1])
    return sends[:, (way > 0) | (onward == 0)]


def _claims_of_allgather(job: Job[Complete]) -> Claims:
    copies, others = job.collective.messages * job.copies, job.network.nodes - 1
    return Claims(copies * min(1, others), copies * others * job.network.nodes)


@builder("direct", all_to_all, claims=_claims_of_allgather, **_RELAYS)
def allgather(job: Job[Complete]) -> Built:
    """All-port: every node sends to all others itself; of x copies, x - 1 come by relays. M x steps, the fewest there can be.

    Node 0 sends to all in step 0. In step s = 1 … x - 1 node s sends to all nodes behind it, and node s + 1 to the nodes 1 … s.
    The first go by the ports 0 … N - 2 - s, as seen from each source, the others by the ports behind these: no port is used
    twice. A node v is met once in each step, by node 0 and then by nodes that differ, none of them v: those below v in the steps
    before v, those above v from step v on. So the x ways share no node. M x (N - 1) N transmissions. An orbit.

    In tree t node t + 1 is the relay; in the last tree it is that of the nodes below x, and the others hear from node 0.
    """
    network, messages, copies = job.network, job.collective.messages, job.copies
    others = np.arange(1, network.nodes)
    columns = [(others * 0, others * 0, others, np.minimum(others, copies) - 1)]
    for step in range(1, copies):
        relay = np.where(others > step, step, step + 1)
        columns.append((others * 0 + step * messages, relay, others, relay - 1))
    step, source, target, tree = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Built(rows_of_blocks(job, step, source, target, source * 0, tree=tree), _claims_of_allgather(job))


@builder("direct", one_to_each, each_to_each, **_RELAYS)
def over_relays(job: Job[Complete]) -> Built:
    """All-port: M x steps of a scatter, as many as the root needs to send; near the bound of M (2x - 1) steps of an alltoall."""
    return _alltoall(job) if job.collective.all_source else _scatter(job)


def _alltoall(job: Job[Complete]) -> Built:
    """All-port: each message to its target itself, and by way of x - 1 relays, which are chosen so that all ports have as much.

    A greedy list schedule, near the bound of M (2x - 1) steps; M (2x - 1) (N - 1) N transmissions. An orbit.
    """
    network, messages, copies, nodes = job.network, job.collective.messages, job.copies, job.network.nodes
    relays = _choose_relays(nodes, copies - 1)
    hops: list[tuple[int, int, int, int, int]] = []  # path, source, target, block, tree
    for v in range(1, nodes):
        for way, relay in enumerate([0, *relays[v - 1]]):
            path = (v - 1) * copies + way
            ends = [0, relay, v] if relay else [0, v]
            hops += [(path, a, b, v, way) for a, b in pairwise(ends)]
    path, source, target, block, tree = np.array(hops, np.int64).reshape(-1, 5).T
    length = np.full(len(path), messages)
    step, steps = list_paths(network, path, network.port_between(source, target), length)
    rows = rows_of_blocks(job, step, source, target, block, tree=tree)
    return Built(rows, Claims(steps, messages * len(step) * nodes))


def _choose_relays(nodes: int, ways: int) -> list[list[int]]:
    """Return the relays of each node 1 … N-1 seen from node 0, such that the load on the ports is even."""
    load, found = np.zeros(nodes, np.int64), list[list[int]]()
    for v in range(1, nodes):
        found.append([])
        free = np.array([relay for relay in range(1, nodes) if relay != v], np.int64)
        for _ in range(ways):
            taken = np.maximum(load[free], load[(v - free) % nodes]) * 2 * nodes + load[free] + load[(v - free) % nodes]
            place = int(np.argmin(taken))
            relay = int(free[place])
            free = np.delete(free, place)
            load[relay] += 1
            load[(v - relay) % nodes] += 1
            found[-1].append(relay)
    return found
