"""Fault-tolerant broadcast and gossip on the hypercube, one dimension after the other.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in
a step; *shouting*: with all. A node does not send a chunk over a link that it has gone over before, in either direction (a
*sparing* schedule). This saves messages, and it is all that a node has to remember.
Source: Chau & Fu, "An Optimal (d-1)-Fault-Tolerant All-to-All Broadcasting Scheme for d-Dimensional Hypercubes".

With k faults to survive it takes as few steps as there can be: whispering d, d + k + 1 from k = 1 on; shouting d, and
d + 1 for k = d - 1 ≥ 1. The paper takes a step more for k = 0, and shouting for every k.

Its baseline is Fraigniaud, "Asymptotically optimal broadcasting and gossiping in faulty hypercube multicomputers" (1992), as
Chau & Fu cite it: down k + 1 arc-disjoint trees.
"""

from typing import Any

import numpy as np

from treecast.networks import Hypercube
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import Option, builder, every_port
from treecast.plans.ways.trees.hypercube import calling_trees
from treecast.schedule import Claims, Payloads, Rows

FAULT_FREE = Option(
    name="fault-free",
    flag=True,
    summary="Leave out the last step of the longest form, which serves only when something fails.",
)


CUBE: dict[str, Any] = {"on": Hypercube, "under": ("whispering", "shouting"), "most_copies": every_port}


@builder(
    "dimension-order",
    "broadcast",
    "allgather",
    sparing=True,
    options=(ORDER, FAULT_FREE),
    summary="Chau & Fu: one dimension after the other (whispering) or all at once (shouting), nothing sent twice",
    **CUBE,
)
def dimension_order(job: Job[Hypercube]) -> Built:
    """Combining: the broadcast or gossip of Chau & Fu under the model's ports."""
    return (whispering if job.model.room else shouting)(job)


def claimed(job: Job[Hypercube]) -> int:
    """Return the copies that are claimed: without its last step the longest form survives one fault less."""
    return max(1, min(job.copies, job.network.ports - 1)) if job.options.get("fault_free") else job.copies


def whispering(job: Job[Hypercube]) -> Built:
    """Whispering: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + k + 1 steps; in d steps for k = 0.

    Steps 0 … d-1: every informed node sends along one dimension a step. Steps d … d+k: so does every node, again from the
    first dimension on, if there are faults to survive. ``fault_free``: leave out the last step of the longest form, where
    without faults all is silent. nd - n + 1 messages for k = d-1, n-1 of them in the first phase.
    """
    cube, fault_free = job.network, job.options.get("fault_free")
    dims, every = check_order(cube.d, job.options.get("order")), np.arange(cube.nodes)
    parts: list[tuple[int, Ints, int]] = []
    informed = np.zeros(1, np.int64)
    # Doubling: whoever is informed tells its neighbour along the next dimension.
    for step, port in enumerate(dims):
        parts.append((step, informed, port))
        informed = np.concatenate([informed, informed ^ (1 << port)])
    units = min(repeated(job), cube.d - 1 if fault_free else cube.d)
    parts += [(cube.d + unit, every, port) for unit, port in enumerate(dims[:units])]
    return _claiming(job, _assemble(job, parts), count_messages(cube.d, units))


def repeated(job: Job[Hypercube]) -> int:
    """Return over how many dimensions, the first ones, nodes send a second time: k + 1, but none when k = 0 faults are to be
    survived.
    """
    return job.copies if job.copies > 1 else 0


def count_messages(d: int, units: int) -> int:
    """Return the messages of one broadcast: n - 1, and over each of the first ``units`` dimensions both ways of every link
    but those that the first phase has used: 2^i over the i-th dimension.
    """
    nodes = 1 << d
    return nodes - 1 + sum(nodes - 2 * (1 << unit) for unit in range(units))


def shouting(job: Job[Hypercube]) -> Built:
    """Shouting: broadcast or gossip that survives k = ``copies`` - 1 faults, in d steps; in d + 1 for k = d-1 ≥ 1.

    An informed node sends along all dimensions behind the last one by which it differs from the root, and along the first
    k + 1 if there are faults to survive (k ≥ 1): as soon as it is informed, whenever that is. ``fault_free``: in d steps for
    k = d-1, too. n - 1 messages for k = 0, nd/2 for k = d-1: fewer than the nd - n + 1 of the paper, whose nodes answer the
    messages they receive.

    Why d steps do for k ≤ d-2: way j = 0 … k to a node takes bit j, then the node's other bits in cyclic order, then j again
    if the node lacks it. These k + 1 ways share no node, and are as long as the node's weight w, or w + 2. Only for
    w = d-1, where the bit z ≤ k is missing, is one too long: the way that begins with bit k+1 ≤ d-1 takes its place.
    """
    d, units = job.network.d, min(repeated(job), job.network.d)
    longest = 1 < job.copies == d and not job.options.get("fault_free")
    rows = shouted(job, d + longest, units)
    return _claiming(job, rows, units * (1 << d) // 2 + (1 << d) - (1 << units))


def shouted(job: Job[Hypercube], steps: int, units: int) -> Rows:
    """Return the rows of so many steps of shouting: an informed node sends along all dimensions behind the last one by which
    it differs from the root, and along the first ``units``.
    """
    d = job.network.d
    dims = np.array(check_order(d, job.options.get("order")), np.int64)
    every = np.arange(1 << d)  # bit i: whether it differs from the root in the i-th dimension
    near, last = np.bitwise_count(every).astype(np.int64), last_of(every)
    # bit i becomes dimension dims[i]
    node = (((every[:, None] >> np.arange(d)) & 1) << dims).sum(axis=1)
    parts: list[tuple[int, Ints, int]] = []
    for step in range(steps):
        # links join even and odd nodes, so news comes every other step; without repetition it comes but once
        awake = (near <= step) & ((step - near) % 2 == 0) if units else near == step
        parts += [(step, node[awake & ((i >= last) | (i < units))], int(dims[i])) for i in range(d)]
    return _assemble(job, parts)


def last_of(nodes: Ints) -> Ints:
    """Return how many of the lowest bits of each number below 2^53 it takes to hold its highest 1: int64, 0 for 0."""
    return np.frexp(nodes)[1].astype(np.int64)


def _assemble(job: Job[Hypercube], parts: list[tuple[int, Ints, int]]) -> Rows:
    """Return the rows by which the nodes of each part (step, nodes, port) send everything at once over that port."""
    collective = job.collective
    parts = [part for part in parts if len(part[1])]
    none = np.empty(0, np.int64)
    src = np.concatenate([none, *(nodes ^ collective.root for _, nodes, _ in parts)])
    port = np.concatenate([none, *(np.full(len(nodes), p) for _, nodes, p in parts)])
    step = np.concatenate([none, *(np.full(len(nodes), s) for s, nodes, _ in parts)])
    table, dst = Payloads.of([[(0, collective.messages)]]), src ^ (np.int64(1) << port)
    return Rows.of(table, step=step, steps=1, src=src, dst=dst, port=port, payload=0)


def _claiming(job: Job[Hypercube], rows: Rows, sends: int) -> Built:
    """Return rows that claim so many sends for each source."""
    sources = job.network.nodes if job.collective.all_source else 1
    steps = int(rows.step.max(initial=-1)) + 1
    return Built(rows, Claims(steps, sends * sources * job.collective.messages), copies=claimed(job))


@builder(
    "fraigniaud",
    "broadcast",
    "allgather",
    options=(ORDER,),
    baseline=True,
    summary="Fraigniaud: arc-disjoint trees, one dimension after the other (whispering) or all at once (shouting)",
    **CUBE,
)
def fraigniaud(job: Job[Hypercube]) -> Built:
    """Combining: Fraigniaud's scheme under the model's ports, the baseline: down k + 1 = ``copies`` arc-disjoint trees.

    Each arc carries everything. Whispering a dimension a step, d + k + 1 steps, (k+1)(n-1) messages; shouting all at once, d + 1
    steps.
    """
    cube, collective, copies, order = job.network, job.collective, job.copies, job.options.get("order")
    trees = calling_trees(cube, order, collective.root)
    others = np.delete(np.arange(cube.nodes), collective.root)
    tree, dst = (ends.ravel() for ends in np.indices((copies if len(others) else 0, len(others))))
    dst = others[dst]
    src, port, depth = (column[tree, dst] for column in (trees.parent, trees.port, trees.depths.astype(np.int64)))
    step, steps = depth - 1, int(depth.max(initial=0))
    if job.model.room:
        place = np.argsort(check_order(cube.d, order))[port]
        # dimensions before the tree's own belong to the second phase, and its own when a way comes back
        step = place + cube.d * ((place < tree) | ((place == tree) & (src != collective.root)))
        steps = cube.d + copies if cube.d > 1 else cube.d
    table = Payloads.of([[(0, collective.messages)]])
    rows = Rows.of(table, step=step, steps=1, src=src, dst=dst, port=port, tree=tree, payload=0)
    sources = cube.nodes if collective.all_source else 1
    return Built(rows, Claims(steps, len(tree) * sources * collective.messages))
