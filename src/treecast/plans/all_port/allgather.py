"""Allgather (multinode broadcast) on Cayley networks, as an orbit: every node does the translate of what is built here.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step.
No two rows of a step have the same port, so that by Lemma 7 of Fragopoulou & Akl no two translates share an arc.
"""

from itertools import combinations, product
from math import comb

import numpy as np

from treecast.networks import Cayley, Rotational
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.plans.all_port.packing import pack
from treecast.plans.all_port.pipelines import streams
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder, every_port
from treecast.plans.trees.disjoint import TREES, trees_of_job
from treecast.plans.ways.rarest_first import exchanged
from treecast.plans.ways.timetable import translated
from treecast.schedule import COLUMNS, Claims, Payloads, Rows
from treecast.schedule.recipe import Job
from treecast.schedule.trees import TreeSet

Columns = dict[str, Ints]
_TRIES = 20
_MOST_SETS = 2000


@builder(
    "disjoint-trees",
    "allgather",
    on=Rotational,
    under=ALL_PORT,
    most_copies=every_port,
    rank=20,
    what="the k disjoint trees, each walked depth first, all at once",
    options=(TREES,),
)
def over_disjoint_trees(job: Job[Rotational]) -> Built:
    """All-port: each tree is walked depth first, all k trees at once; what that leaves over is packed.

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
    parts, table = walk_trees(network, trees, carried, each)
    steps = each * (network.nodes - 1)
    if rest and copies == 1:
        spread = _spread(network, rest)
        number = spread["layer"] + len(table)  # each layer is a tree of its own
        parts.append(spread | {"step": spread["step"] + steps, "steps": np.ones_like(number)})
        parts[-1] |= {"payload": number, "tree": number}
        table += [[(messages - rest + layer, messages - rest + layer + 1)] for layer in range(rest)]
        steps += int(spread["step"].max()) + 1
    elif rest:
        packed = pack(trees, np.full((1, network.nodes), sum(1 << tree for tree in more)))
        columns = arc_columns(trees, packed.tree, packed.node, steps + packed.step)
        number = np.full(k, -1)
        number[more] = np.arange(len(more)) + len(table)
        parts.append(columns | {"payload": number[packed.tree], "steps": np.ones_like(packed.step)})
        table += [_take_part(carried[tree], each, each + 1) for tree in more]
        steps += packed.steps
    return assemble(job, parts, table, steps)


def walk_trees(
    network: Rotational, trees: TreeSet, carried: list[list[tuple[int, int]]], each: int
) -> tuple[list[Columns], list[list[tuple[int, int]]]]:
    """Return the rows by which all trees at once are walked depth first, and their payloads.

    Over each arc go the first ``each`` chunks that its tree has to carry: no port is ever idle, or used twice in a step.
    """
    parts, table = list[Columns](), list[list[tuple[int, int]]]()
    if each and network.nodes > 1:
        for tree, targets in enumerate(_walk(network, trees)):
            columns = arc_columns(trees, tree, targets, np.arange(network.nodes - 1) * each)
            parts.append(columns | _payload_columns(len(table), each, network.nodes - 1))
            table.append(_take_part(carried[tree], 0, each))
    return parts, table


@builder(
    "port-matching",
    "allgather",
    on=Cayley,
    under=ALL_PORT,
    rank=40,
    what="each step joins ports with new nodes",
)
def over_matchings(job: Job[Cayley]) -> Built:
    """All-port: each step joins ports with new nodes; x = 1, on any Cayley network.

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
    return assemble(job, parts, table, steps)


def assemble(
    job: Job[Cayley], parts: list[Columns], table: list[list[tuple[int, int]]], steps: int, more: int = 0
) -> Built:
    """Return a schedule of parts, each of columns by name; ``more``: the sends of node 0's chunks beyond Mx(N-1)."""
    columns = {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in COLUMNS}
    nodes = job.network.nodes
    sends = (job.collective.messages * job.copies * (nodes - 1) + more) * nodes
    return Built(Rows.of(Payloads.of(table), **columns), Claims(steps, sends))


def _payload_columns(payload: int, length: int, rows: int) -> Columns:
    return {"payload": np.full(rows, payload), "steps": np.full(rows, length)}


def arc_columns(trees: TreeSet, tree: int | Ints, targets: Ints, step: Ints) -> Columns:
    """Return the rows over the arcs into ``targets``; of one tree, or one for each."""
    source, port = trees.parent[tree, targets].astype(np.int64), trees.port[tree, targets].astype(np.int64)
    return {"step": step, "src": source, "dst": targets, "port": port, "tree": np.broadcast_to(tree, targets.shape)}


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


def _spread(network: Cayley, layers: int) -> Columns:
    """Return rows by which ``layers`` chunks of node 0 reach all nodes, one chunk per port and step; in few steps."""
    least = max(network.diameter, -(-layers * (network.nodes - 1) // network.ports))
    wanted, found = translated(network), list[tuple[Ints, Ints, Ints]]()
    for seed, by_need in product(range(1, _TRIES), (False, True)):
        found.append(exchanged(network, wanted, [(0, 0, layers)], chunks=layers, seed=seed, by_need=by_need))
        if found[-1][0][-1] < least:
            break
    step, arc, layer = min(found, key=lambda sent: int(sent[0][-1]))
    arcs = arcs_of(network)
    src, dst, port = (column[arc].astype(np.int64) for column in (arcs.tail, arcs.head, arcs.port))
    return {"step": step, "src": src, "dst": dst, "port": port, "layer": layer}
