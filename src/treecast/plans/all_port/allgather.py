"""Allgather (multinode broadcast) on Cayley networks, as an orbit: every node does the translate of what is built here.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

from heapq import heappop, heappush
from itertools import combinations
from math import comb

import numpy as np

from treecast.errors import PlanError
from treecast.networks import Cayley, Rotational
from treecast.networks.core import Ints
from treecast.plans.all_port.pipelines import streams
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every_port
from treecast.plans.trees.disjoint import TREES, trees_of_job
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet

Columns = dict[str, Ints]
_TRIES = 20
_MOST_SETS = 2000


@builder(
    "disjoint-trees", "allgather", on=Rotational, under=ALL_PORT, most_copies=every_port, rank=20,
    what="the k disjoint trees, each walked depth first, all at once", options=(TREES,),
)  # fmt: skip
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: each tree is walked depth first, all k trees at once; what that leaves over is packed.

    Of the Mx copies each tree carries q = ⌊Mx/k⌋ over one arc after the other, q (N-1) steps in which every arc of the
    network is busy: the paper's multinode broadcast, with a step count in place of its acknowledgements. The Mx - qk
    copies left, one on each of some trees, come after: over a maximum matching of ports and new nodes when x = 1, else
    over those trees, arcs packed by a greedy list schedule.
    """
    network, messages, copies, k = job.network, job.collective.messages, job.copies, job.network.ports
    trees = trees_of_job(job).disjoint_trees(network)
    each, rest = divmod(messages * copies, max(k, 1))
    parts: list[Columns] = []
    table: list[list[tuple[int, int]]] = []
    carried = streams(messages, k, copies) if copies > 1 or not rest else streams(messages - rest, k, 1)
    more = _least_crowded(trees, rest) if rest and copies > 1 else []
    if more:  # these trees carry one message more than the others
        long, short = ([c for c in carried if (sum(b - a for a, b in c) > each) == extra] for extra in (True, False))
        carried = [long.pop() if tree in more else short.pop() for tree in range(k)]
    steps = 0
    if each and network.nodes > 1:
        walks = _walk(network, trees)
        for tree, ranges in enumerate(carried):
            columns = _arc_columns(trees, tree, walks[tree], np.arange(network.nodes - 1) * each)
            parts.append(columns | _payload_columns(len(table), each, network.nodes - 1))
            table.append(_take_part(ranges, 0, each))
        steps = each * (network.nodes - 1)
    if rest and copies == 1:
        spread = _spread(network, rest)
        number = spread["layer"] + len(table)  # each layer is a tree of its own
        parts.append(spread | {"step": spread["step"] + steps, "steps": np.ones_like(number)})
        parts[-1] |= {"payload": number, "tree": number}
        table += [[(messages - rest + layer, messages - rest + layer + 1)] for layer in range(rest)]
        steps += int(spread["step"].max()) + 1
    elif rest:
        began = _pack_arcs(trees, more)
        for tree in more:
            targets = np.flatnonzero(trees.parent[tree] >= 0)
            columns = _arc_columns(trees, tree, targets, steps + began[tree][targets])
            parts.append(columns | _payload_columns(len(table), 1, len(targets)))
            table.append(_take_part(carried[tree], each, each + 1))
        steps += 1 + max(int(began[tree].max()) for tree in more)
    return _assemble(job, parts, table, steps)


@builder(
    "port-matching", "allgather", on=Cayley, under=ALL_PORT, rank=40,
    what="each step joins ports with new nodes by a maximum matching",
)  # fmt: skip
def over_matchings(job: Job[Cayley]) -> Built:
    """All-port: each step joins ports with new nodes by a maximum matching; x = 1, on any Cayley network.

    In most cases it takes max(diameter, ⌈M (N-1) / degree⌉) steps, the lower bound. This is not proved; each schedule shows it.
    """
    network, messages, k = job.network, job.collective.messages, max(job.network.ports, 1)
    each, rest = divmod(messages, k)
    parts: list[Columns] = []
    table: list[list[tuple[int, int]]] = []
    steps = 0
    for layers, size, first in ((k, each, 0), (rest, 1, k * each)):
        if layers and size and network.nodes > 1:
            spread = _spread(network, layers)
            count = len(spread["step"])
            columns = {name: spread[name] for name in ("src", "dst", "port")}
            columns |= {
                "step": steps + spread["step"] * size,
                "steps": np.full(count, size),
                "tree": np.full(count, -1),
            }
            parts.append(columns | {"payload": spread["layer"] + len(table)})
            table += [[(first + layer * size, first + (layer + 1) * size)] for layer in range(layers)]
            steps += size * (int(spread["step"].max()) + 1)
    return _assemble(job, parts, table, steps)


def _assemble(job: Job[Cayley], parts: list[Columns], table: list[list[tuple[int, int]]], steps: int) -> Built:
    names = ("step", "steps", "src", "dst", "port", "tree", "payload")
    columns = {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in names}
    nodes = job.network.nodes
    sends = job.collective.messages * job.copies * (nodes - 1) * nodes
    return Built(Rows.of(Payloads.of(table), **columns), Claims(steps, sends))


def _payload_columns(payload: int, length: int, rows: int) -> Columns:
    return {"payload": np.full(rows, payload), "steps": np.full(rows, length)}


def _arc_columns(trees: TreeSet, tree: int, targets: Ints, step: Ints) -> Columns:
    """Return the rows over the arcs into ``targets``."""
    source, port = trees.parent[tree][targets].astype(np.int64), trees.port[tree][targets].astype(np.int64)
    return {"step": step, "src": source, "dst": targets, "port": port, "tree": np.full(len(targets), tree)}


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


def _least_crowded(trees: TreeSet, count: int) -> list[int]:
    """Return the ``count`` trees whose arcs are spread most evenly over the ports, of those sets that are looked at."""
    k = len(trees)
    crowd = np.array([np.bincount(port[port >= 0], minlength=k) for port in trees.port])
    spaced = tuple(tree * k // count for tree in range(count))
    sets = combinations(range(k), count) if comb(k, count) <= _MOST_SETS else [spaced]
    return list(min(sets, key=lambda used: (int(crowd[list(used)].sum(axis=0).max()), used)))


def _pack_arcs(trees: TreeSet, used: list[int]) -> dict[int, Ints]:
    """Return the step in which each node of some trees is sent its chunk, such that no port is used twice in a step.

    Of the arcs of a port that are ready, the one with the most arcs below it goes first.
    """
    nodes, ports = trees.network.nodes, trees.network.ports
    began = {tree: np.full(nodes, -1, np.int64) for tree in used}
    children: dict[int, list[list[int]]] = {tree: [[] for _ in range(nodes)] for tree in used}
    below: dict[int, list[int]] = {}
    for tree in used:
        count = np.ones(nodes, np.int64)
        for level in range(trees.height, 0, -1):
            deep = np.flatnonzero(trees.depths[tree] == level)
            np.add.at(count, trees.parent[tree][deep], count[deep])
        below[tree] = count.tolist()
        for v in np.flatnonzero(trees.parent[tree] >= 0).tolist():
            children[tree][int(trees.parent[tree][v])].append(v)
    ready: list[list[tuple[int, int, int]]] = [[] for _ in range(ports)]

    def open_up(tree: int, node: int) -> None:
        for v in children[tree][node]:
            heappush(ready[int(trees.port[tree][v])], (-below[tree][v], tree, v))

    for tree in used:
        open_up(tree, trees.root)
    step = 0
    while any(ready):
        now = [heappop(waiting) for waiting in ready if waiting]
        for _, tree, v in now:
            began[tree][v] = step
            open_up(tree, v)
        step += 1
    return began


def _spread(network: Cayley, layers: int) -> Columns:
    """Return rows by which ``layers`` chunks of node 0 reach all nodes, one chunk per port and step; in few steps."""
    from treecast.kernels.matching import spread

    neighbor = network.neighbor_table()
    nodes, ports = neighbor.shape
    back = np.full_like(neighbor, -1)
    for port in range(ports):
        back[neighbor[:, port], port] = np.arange(nodes)
    least = max(network.diameter, -(-layers * (nodes - 1) // ports))
    best, found = 0, np.empty((0, 5), np.int32)
    for turn in range(_TRIES):
        columns = np.empty((layers * (nodes - 1), 5), np.int32)
        steps = int(spread(neighbor, back, layers, turn * 7919 % nodes, columns))
        if steps < 0:
            raise PlanError(f"{network.spec} is not connected: node 0 does not reach every node")
        if not len(found) or steps < best:
            best, found = steps, columns
        if best == least:
            break
    names = ("step", "src", "dst", "port", "layer")
    return dict(zip(names, found.T.astype(np.int64), strict=True))
