"""Fault-tolerant broadcast and gossip on the hypercube, one dimension after the other.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in
a step; *shouting*: with all. A node does not send over a link what has gone over it before, in either direction (a *sparing*
schedule). This saves messages, and it is all that a node has to remember.
Source: Chau & Fu, "Fault-tolerant gossiping on hypercube multicomputers".
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treecast.networks import Hypercube, Network
from treecast.networks.core import Ints
from treecast.plans.built import Built
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import Option, builder, every_port
from treecast.plans.trees import hypercube as hypercube_trees
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet

FAULT_FREE = Option(
    name="fault-free", flag=True, what="Leave out the last step of the longest form, which serves only when something fails."
)  # fmt: skip


def _node(text: str, network: Network) -> int:
    return network.node(text)


INITIATOR = Option(
    name="initiator", what="The node that starts the others, instead of all starting at once.", read=_node,
    write=lambda node, network: network.label(node),
)  # fmt: skip
_CUBE: dict[str, Any] = {"on": Hypercube, "under": ("whispering", "shouting"), "most_copies": every_port}


@builder(
    "dimension-order", "broadcast", "allgather", sparing=True, options=(ORDER, FAULT_FREE), rank=10,
    what="Chau & Fu: one dimension after the other (whispering) or all at once (shouting), nothing said twice", **_CUBE,
)  # fmt: skip
def dimension_order(job: Job[Hypercube]) -> Built:
    """Combining: the broadcast or gossip of Chau & Fu under the model's ports."""
    return (whispering if job.model.ports == "one" else shouting)(job)


@builder(
    "fraigniaud", "broadcast", "allgather", options=(ORDER,), rank=20, baseline=True,
    what="Fraigniaud: arc-disjoint trees, one dimension after the other (whispering) or all at once (shouting)", **_CUBE,
)  # fmt: skip
def fraigniaud(job: Job[Hypercube]) -> Built:
    """Combining: Fraigniaud's scheme under the model's ports, the baseline."""
    return (fraigniaud_whispering if job.model.ports == "one" else fraigniaud_shouting)(job)


@builder(
    "four-phases", "allgather", sparing=True, orbit=False, baseline=True, rank=30, options=(ORDER, FAULT_FREE, INITIATOR),
    what="Chau & Fu: one node starts the others", **_CUBE,
)  # fmt: skip
def four_phases(job: Job[Hypercube]) -> Built:
    """Combining: gossip that one node starts: its broadcast tells the others, and then they all broadcast at once.

    Twice as many steps as gossip that all start at once, n (nd - n + 1) messages in all for k = d-1 when whispering.
    Not an orbit.
    """
    initiator = job.network.check_node(job.options.get("initiator", 0))
    return _start_by_initiator(whispering if job.model.ports == "one" else shouting, job, initiator)


def _claimed(job: Job[Hypercube]) -> int:
    """Return the copies that are claimed: without its last step the longest form survives one fault less."""
    return max(1, min(job.copies, job.network.ports - 1)) if job.options.get("fault_free") else job.copies


def whispering(job: Job[Hypercube]) -> Built:
    """Whispering: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + k + 1 steps.

    Steps 0 … d-1: every informed node sends along one dimension a step. Steps d … d+k: so does every node, again from the
    first dimension on. ``fault_free``: leave out the last step of the longest form, where without faults all is silent.
    nd - n + 1 messages for k = d-1, n-1 of them in the first phase.
    """
    cube, k, fault_free = job.network, job.copies - 1, job.options.get("fault_free")
    dims, every = check_order(cube.d, job.options.get("order")), np.arange(cube.nodes)
    parts: list[tuple[int, Ints, int]] = []
    informed = np.zeros(1, np.int64)
    for step, port in enumerate(dims):
        parts.append((step, informed, port))
        informed = np.concatenate([informed, informed ^ (1 << port)])
    units = min(k + 1, cube.d - 1) if fault_free else min(k + 1, cube.d)
    parts += [(cube.d + unit, every, port) for unit, port in enumerate(dims[:units])]
    return _assemble(job, parts, _count_messages(cube.d, units))


def _count_messages(d: int, units: int) -> int:
    """Return the messages of one broadcast: n - 1, and over each of the first ``units`` dimensions both ways of every link
    but those that the first phase has used: 2^i over the i-th dimension.
    """
    nodes = 1 << d
    return nodes - 1 + sum(nodes - 2 * (1 << unit) for unit in range(units))


def shouting(job: Job[Hypercube]) -> Built:
    """Shouting: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + 1 steps; d when ``fault_free``.

    An informed node sends along all dimensions behind the last one by which it differs from the root, and along the first
    k + 1: as soon as it is informed, whenever that is. nd/2 messages for k = d-1: fewer than the nd - n + 1 of the paper,
    whose nodes answer what they hear.
    """
    cube, d, k, fault_free = job.network, job.network.d, job.copies - 1, job.options.get("fault_free")
    dims = np.array(check_order(d, job.options.get("order")), np.int64)
    every = np.arange(cube.nodes)  # bit i: whether it differs from the root in the i-th dimension
    near, last = np.bitwise_count(every).astype(np.int64), np.zeros_like(every)
    for i in range(d):
        last[every >> i & 1 > 0] = i + 1
    node = (((every[:, None] >> np.arange(d)) & 1) << dims).sum(axis=1)
    parts: list[tuple[int, Ints, int]] = []
    for step in range(d if fault_free else d + 1):
        awake = (near <= step) & (
            (step - near) % 2 == 0
        )  # links join even and odd nodes: so news comes every other step
        parts += [(step, node[awake & ((i >= last) | (i <= k))], int(dims[i])) for i in range(d)]
    units = min(k + 1, d)
    return _assemble(job, parts, units * cube.nodes // 2 + cube.nodes - (1 << units))


def _start_by_initiator(build: Callable[[Job[Hypercube]], Built], job: Job[Hypercube], initiator: int) -> Built:
    cube, collective = job.network, job.collective
    rows, claims, *_ = build(job.doing("broadcast"))
    source = np.repeat(np.arange(cube.nodes), len(rows))
    again = np.tile(np.arange(len(rows)), cube.nodes)
    first = np.arange(cube.nodes) * collective.messages
    table = Payloads.of_ranges(first, first + collective.messages)
    moved = Rows.of(
        table, step=rows.step[again] + claims.steps * (source != initiator), steps=rows.steps[again],
        src=rows.src[again] ^ source, dst=rows.dst[again] ^ source, port=rows.port[again], tree=rows.tree[again],
        payload=source,
    )  # fmt: skip
    twice = claims.steps * (2 if cube.nodes > 1 else 1)
    return Built(moved, Claims(twice, claims.transmissions * cube.nodes), copies=_claimed(job))


def _assemble(job: Job[Hypercube], parts: list[tuple[int, Ints, int]], sends: int) -> Built:
    """Return the schedule in which the nodes of each part (step, nodes, port) send everything at once over that port."""
    cube, collective = job.network, job.collective
    parts = [part for part in parts if len(part[1])]
    none = np.empty(0, np.int64)
    src = np.concatenate([none, *(nodes ^ collective.root for _, nodes, _ in parts)])
    port = np.concatenate([none, *(np.full(len(nodes), p) for _, nodes, p in parts)])
    step = np.concatenate([none, *(np.full(len(nodes), s) for s, nodes, _ in parts)])
    table = Payloads.of([[(0, collective.messages)]] if len(src) else [])
    same = np.zeros_like(src)
    rows = Rows.of(
        table, step=step, steps=same + 1, src=src, dst=src ^ (np.int64(1) << port), port=port, tree=same - 1, payload=same
    )  # fmt: skip
    sources = cube.nodes if collective.all_source else 1
    claims = Claims(int(step.max(initial=-1)) + 1, sends * sources * collective.messages)
    return Built(rows, claims, copies=_claimed(job))


def fraigniaud_whispering(job: Job[Hypercube]) -> Built:
    """Whispering: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, a dimension a step.

    d + k + 1 steps, (k+1)(n-1) messages. Source: Fraigniaud, "Asymptotically optimal broadcasting and gossiping in faulty
    hypercube multicomputers" (1992), as Chau & Fu cite it.
    """
    cube, collective, order = job.network, job.collective, job.options.get("order")
    trees, place = calling_trees(cube, order, collective.root), np.argsort(check_order(cube.d, order))
    every = np.flatnonzero(np.arange(cube.nodes) != collective.root)
    steps: list[Ints] = []
    for tree in range(min(job.copies, cube.d)):
        at = place[trees.port[tree][every]]
        wrapped = (at < tree) | ((at == tree) & (trees.parent[tree][every] != collective.root))
        steps.append(at + cube.d * wrapped)
    return _down(trees, job, steps, cube.d + job.copies if cube.d > 1 else cube.d)


def fraigniaud_shouting(job: Job[Hypercube]) -> Built:
    """Shouting: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, all at once: d + 1 steps."""
    trees = calling_trees(job.network, job.options.get("order"), job.collective.root)
    every = np.flatnonzero(np.arange(job.network.nodes) != job.collective.root)
    depth = trees.depths[: job.copies, every].astype(np.int64)
    return _down(trees, job, list(depth - 1), int(depth.max(initial=0)))


def _down(trees: TreeSet, job: Job[Hypercube], steps: list[Ints], length: int) -> Built:
    """Return the schedule in which each arc of the first trees carries everything, at the step given for its lower end."""
    collective, copies = job.collective, job.copies
    every = np.flatnonzero(np.arange(trees.network.nodes) != trees.root)
    tree = np.repeat(np.arange(copies if len(every) else 0), len(every))
    dst = np.tile(every, copies) if len(tree) else tree
    one = np.ones_like(tree)
    rows = Rows.of(
        Payloads.of([[(0, collective.messages)]] if len(tree) else []), step=np.concatenate([tree[:0], *steps]), steps=one,
        src=trees.parent[tree, dst], dst=dst, port=trees.port[tree, dst], tree=tree, payload=one - 1,
    )  # fmt: skip
    sources = trees.network.nodes if collective.all_source else 1
    return Built(rows, Claims(length if len(tree) else 0, copies * len(every) * sources * collective.messages))


def calling_trees(cube: Network, order: Sequence[int] | None = None, root: int = 0) -> TreeSet:
    """Return the d trees of calling paths: in tree j the path to a node begins with the j-th dimension of the order.

    It goes on, cyclically, with the dimensions in which the node differs from the root, and comes back over the j-th if it must.
    Up to the end of the order its calls belong to the first phase, the rest to the second.
    These are the trees of Johnsson & Ho, with the dimensions in reverse. The d paths to a node are node-disjoint
    (Theorem 1 of Chau & Fu). int arrays of shape (d, 2^d).
    """
    dims = np.array(check_order(cube.ports, order)[::-1], np.int64)
    every = np.arange(cube.nodes)
    seen = (((every ^ root)[:, None] >> dims & 1) << np.arange(cube.ports)).sum(axis=1)
    trees = hypercube_trees.disjoint_trees(cube)
    port = dims[trees.port[::-1][:, seen].astype(np.int64)].astype(np.int8)
    parent = (every ^ (np.int64(1) << port.astype(np.int64))).astype(np.int32)
    port[:, root] = parent[:, root] = -1
    return TreeSet(cube, root, parent, port)
