"""Fault-tolerant broadcast and gossip on the hypercube, one dimension after the other.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: a node exchanges with one neighbour in
a step; *shouting*: with all. A node says nothing over a link that has gone over it before, either way (a *sparing*
schedule): that is how messages are saved, and all that a node has to know of the past.
Source: Chau & Fu, "Fault-tolerant gossiping on hypercube multicomputers".
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from treecast.collectives import Collective
from treecast.networks import Hypercube
from treecast.networks.core import Ints
from treecast.plans.built import Built
from treecast.plans.order import checked_order
from treecast.plans.trees import hypercube as hypercube_trees
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet


def whispering(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None, fault_free: bool = False
) -> Built:
    """Whispering: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + k + 1 steps.

    Steps 0 … d-1: every informed node sends along one dimension a step. Steps d … d+k: so does every node, again from the
    first dimension on. ``fault_free``: leave out the last step of the longest form, where without faults all is silent.
    nd - n + 1 messages for k = d-1, n-1 of them in the first phase.
    """
    dims, k = checked_order(cube.d, order), copies - 1
    every = np.arange(cube.nodes)
    parts: list[tuple[int, Ints, int]] = []
    informed = np.zeros(1, np.int64)
    for step, port in enumerate(dims):
        parts.append((step, informed, port))
        informed = np.concatenate([informed, informed ^ (1 << port)])
    units = min(k + 1, cube.d - 1) if fault_free else min(k + 1, cube.d)
    parts += [(cube.d + unit, every, port) for unit, port in enumerate(dims[:units])]
    return _built(cube, collective, parts, _whispered(cube.d, units))


def _whispered(d: int, units: int) -> int:
    """Return the messages of one broadcast: n - 1, and over each of the first ``units`` dimensions both ways of every link
    but those that the first phase has used: 2^i over the i-th dimension.
    """
    nodes = 1 << d
    return nodes - 1 + sum(nodes - 2 * (1 << unit) for unit in range(units))


def shouting(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None, fault_free: bool = False
) -> Built:
    """Shouting: broadcast or gossip that survives k = ``copies`` - 1 faults, in d + 1 steps; d when ``fault_free``.

    An informed node sends along all dimensions behind the last one by which it differs from the root, and along the first
    k + 1: as soon as it is informed, whenever that is. nd/2 messages for k = d-1: fewer than the nd - n + 1 of the paper,
    whose nodes answer what they hear.
    """
    d, k = cube.d, copies - 1
    dims = np.array(checked_order(cube.d, order), np.int64)
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
    return _built(cube, collective, parts, units * cube.nodes // 2 + cube.nodes - (1 << units))


def four_phases(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None, fault_free: bool = False,
    initiator: int = 0,
) -> Built:  # fmt: skip
    """Whispering: gossip that one node starts: its broadcast tells the others, and then they all broadcast at once.

    Twice as many steps as gossip that all start at once, n (nd - n + 1) messages in all for k = d-1. Not an orbit.
    """
    return _started(whispering, cube, collective, copies, order, fault_free, initiator)


def four_phases_shouting(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None, fault_free: bool = False,
    initiator: int = 0,
) -> Built:  # fmt: skip
    """Shouting: gossip that one node starts: its broadcast tells the others, and then they all broadcast at once.

    2d + 2 steps, 2d when ``fault_free``. Not an orbit.
    """
    return _started(shouting, cube, collective, copies, order, fault_free, initiator)


def _started(
    build: Callable[..., Built], cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None,
    fault_free: bool, initiator: int,
) -> Built:  # fmt: skip
    cube.check_node(initiator)
    rows, claims, _ = build(cube, replace(collective, kind="broadcast", root=0), copies, order, fault_free)
    source = np.repeat(np.arange(cube.nodes), len(rows))
    again = np.tile(np.arange(len(rows)), cube.nodes)
    first = np.arange(cube.nodes) * collective.messages
    table = Payloads(np.arange(cube.nodes + 1), first, first + collective.messages)
    moved = Rows.of(
        table, step=rows.step[again] + claims.steps * (source != initiator), steps=rows.steps[again],
        src=rows.src[again] ^ source, dst=rows.dst[again] ^ source, port=rows.port[again], tree=rows.tree[again],
        payload=source,
    )  # fmt: skip
    twice = claims.steps * (2 if cube.nodes > 1 else 1)
    return Built(moved, Claims(twice, claims.transmissions * cube.nodes))


def _built(cube: Hypercube, collective: Collective, parts: list[tuple[int, Ints, int]], sends: int) -> Built:
    """Return the schedule in which the nodes of each part (step, nodes, port) send everything at once over that port."""
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
    return Built(rows, Claims(int(step.max(initial=-1)) + 1, sends * sources * collective.messages))


def fraigniaud_whispering(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None
) -> Built:
    """Whispering: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, a dimension a step.

    d + k + 1 steps, (k+1)(n-1) messages. Source: Fraigniaud, "Asymptotically optimal broadcasting and gossiping in faulty
    hypercube multicomputers" (1992), as Chau & Fu cite it.
    """
    trees, place = calling_trees(cube, order, collective.root), np.argsort(checked_order(cube.d, order))
    every = np.flatnonzero(np.arange(cube.nodes) != collective.root)
    steps: list[Ints] = []
    for tree in range(min(copies, cube.d)):
        at = place[trees.port[tree][every]]
        wrapped = (at < tree) | ((at == tree) & (trees.parent[tree][every] != collective.root))
        steps.append(at + cube.d * wrapped)
    return _down(trees, collective, copies, steps, cube.d + copies if cube.d > 1 else cube.d)


def fraigniaud_shouting(
    cube: Hypercube, collective: Collective, copies: int, order: Sequence[int] | None = None
) -> Built:
    """Shouting: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, all at once: d + 1 steps."""
    trees = calling_trees(cube, order, collective.root)
    every = np.flatnonzero(np.arange(cube.nodes) != collective.root)
    depth = trees.depths[:copies, every].astype(np.int64)
    return _down(trees, collective, copies, list(depth - 1), int(depth.max(initial=0)))


def _down(trees: TreeSet, collective: Collective, copies: int, steps: list[Ints], length: int) -> Built:
    """Return the schedule in which each arc of the first trees carries everything, at the step given for its lower end."""
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


def calling_trees(cube: Hypercube, order: Sequence[int] | None = None, root: int = 0) -> TreeSet:
    """Return the d trees of calling paths: in tree j the path to a node begins with the j-th dimension of the order.

    It goes on, cyclically, with those in which the node differs from the root, and comes back over the j-th if need be.
    Its first part, up to the end of the order, is made of calls of the first phase, the rest of calls of the second.
    These are the trees of Johnsson & Ho, with the dimensions in reverse. The d paths to a node are node-disjoint
    (Theorem 1 of Chau & Fu). int arrays of shape (d, 2^d).
    """
    dims = np.array(checked_order(cube.d, order)[::-1], np.int64)
    every = np.arange(cube.nodes)
    seen = (((every ^ root)[:, None] >> dims & 1) << np.arange(cube.d)).sum(axis=1)
    trees = hypercube_trees.disjoint_trees(cube)
    port = dims[trees.port[::-1][:, seen].astype(np.int64)].astype(np.int8)
    parent = (every ^ (np.int64(1) << port.astype(np.int64))).astype(np.int32)
    port[:, root] = parent[:, root] = -1
    return TreeSet(cube, root, parent, port)
