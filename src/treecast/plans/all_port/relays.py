"""Collectives on the complete network: a copy goes straight to its target over one arc, or by a relay over two.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
The x ways to a node have no relay in common, so any x - 1 nodes or links that fail leave one way. One copy goes straight to
its target. Broadcasts in more than one copy go over the trees of ``plans/trees/complete.py``.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from treecast.networks.complete import Complete
from treecast.networks.core import Ints
from treecast.plans.all_port.alltoall import schedule_hops
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every_port
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job

_RELAYS: dict[str, Any] = {
    "on": Complete,
    "under": ALL_PORT,
    "what": "to the target itself; more copies by way of relays",
    "rank": 10,
}


def _claims(job: Job[Complete]) -> Claims:
    others = job.network.nodes - 1
    return Claims(job.collective.messages * min(1, others), job.collective.messages * others)


@builder("direct", "broadcast", on=Complete, under=ALL_PORT, claims=_claims, what="to each target itself", rank=10)
def broadcast(job: Job[Complete]) -> Built:
    """All-port: one copy of everything from the root to all others: M steps, M (N - 1) transmissions; no relay, no delay."""
    network, collective = job.network, job.collective
    others = np.delete(np.arange(network.nodes), collective.root)
    rows = Rows.of(
        Payloads.of([[(0, collective.messages)]]), step=others * 0, steps=np.full(len(others), collective.messages),
        src=np.full(len(others), collective.root), dst=others, port=network.port_between(collective.root, others),
        tree=others * 0, payload=others * 0,
    )  # fmt: skip
    return Built(rows, _claims(job))


@builder("direct", "scatter", most_copies=every_port, **_RELAYS)
def scatter(job: Job[Complete]) -> Built:
    """All-port: x - 1 copies of each message to a relay each, one behind the other, and then one to its target itself.

    Mx steps, as many as the root needs to send them; M (2x - 1) (N - 1) transmissions.
    """
    network, messages, copies = job.network, job.collective.messages, job.copies
    others = np.arange(1, network.nodes)
    none, columns = np.zeros_like(others), list[tuple[Ints, ...]]()
    for way in range(1, copies):
        relay = (others - 1 + way) % len(others) + 1
        start, tree = (np.full(len(others), number) for number in ((way - 1) * messages, way))
        columns += [(start, none, relay, others, tree), (start + 1, relay, others, others, tree)]
    columns.append((none + (copies - 1) * messages, none, others, others, none))
    step, source, target, block, tree = (np.concatenate(column) for column in zip(*columns, strict=True))
    source, target, block = (network.translate(job.collective.root, u) for u in (source, target, block))
    return _assemble(network, messages, _Hops(step, source, target, block, tree), copies * messages, 1)


@builder("direct", "allgather", most_copies=every_port, **_RELAYS)
def allgather(job: Job[Complete]) -> Built:
    """All-port: one copy goes to all others. Of more, x relays get one each, and send to all others, one after the other.

    M steps, for x > 1 M (x + 1), which is M above the bound; Mx (N - 1) N transmissions. An orbit.
    """
    network, messages, copies = job.network, job.collective.messages, job.copies
    others = np.arange(1, network.nodes)
    if copies == 1:
        straight = others * 0, others * 0, others, others * 0, others * 0
        return _assemble(network, messages, _Hops(*straight), messages, network.nodes)
    relays = np.arange(1, copies + 1)
    columns = [(relays * 0, relays * 0, relays, relays - 1)]
    for relay in relays.tolist():
        below = others[others != relay]
        columns.append((below * 0 + relay * messages, below * 0 + relay, below, below * 0 + relay - 1))
    step, source, target, tree = (np.concatenate(column) for column in zip(*columns, strict=True))
    steps = messages * (copies + 1)
    return _assemble(network, messages, _Hops(step, source, target, source * 0, tree), steps, network.nodes)


@builder("direct", "alltoall", most_copies=every_port, **_RELAYS)
def alltoall(job: Job[Complete]) -> Built:
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
    step, steps = (
        schedule_hops(path, network.port_between(source, target), length, network.ports) if hops else (path, 0)
    )
    return _assemble(network, messages, _Hops(step, source, target, block, tree), steps, nodes)


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


class _Hops(NamedTuple):
    """What goes where: the block of each hop, over one arc, from ``step`` on; int64 arrays of one length."""

    step: Ints
    source: Ints
    target: Ints
    block: Ints
    tree: Ints


def _assemble(network: Complete, messages: int, hops: _Hops, steps: int, sources: int) -> Built:
    """Return the schedule in which all M messages of a block go over each arc, one step after the other."""
    every, count = np.arange(network.nodes) * messages, len(hops.step)
    rows = Rows.of(
        Payloads.of_ranges(every, every + messages),
        step=hops.step,
        steps=np.full(count, messages),
        src=hops.source,
        dst=hops.target,
        port=network.port_between(hops.source, hops.target),
        tree=hops.tree,
        payload=hops.block,
    )
    return Built(rows, Claims(steps if count else 0, count * messages * sources))
