"""Scatter of messages of any length down trees, farthest destination first (FDF).

Communication model: bufferless: a node sends one flit in a step and receives one, or does so over every link (multi-port);
a flit that arrives is sent on in the next step, and a message is never interrupted.
The root sends one message right behind the other. Source: Bhatt, Pucci, Ranade & Rosenberg, Theorem 1: on a tree with one
port farthest first is best, whatever the lengths. Over several ports each child of the root has a stream of its own. A message
of l flits for a node at distance d, with s flits sent before it, has arrived after s + l + d - 1 steps.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Lengths
from treecast.errors import PlanError
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, joined
from treecast.plans.lengths import lengths_of
from treecast.plans.registry import BUFFERLESS, Option, builder
from treecast.plans.ways.trees.spanning import TREE, spanning_tree, streams_steps
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import Ports, Tree

ORDERS = ("farthest", "nearest", "longest", "shortest", "node")
"""Which message goes first."""
MOST_RUNS = 2**26
"""Runs of flits on arcs, each a row: more are not written down."""
_Int32 = NDArray[np.int32]


FIRST = Option(name="first", summary="Which messages go first.", choices=ORDERS)


@builder(
    "farthest-first",
    "scatterv",
    under=BUFFERLESS,
    options=(TREE, FIRST),
    summary="down one tree, the farthest first (FDF)",
)
@builder(
    "nearest-first",
    "gatherv",
    under=BUFFERLESS,
    options=(TREE, FIRST),
    baseline=True,
    summary="up one tree, as if all knew when to begin",
)
def over_one_tree(job: Job[Network]) -> Built:
    """Bufferless: scatter down one tree, the farthest destinations first, or another order for comparison.

    Or gather up one tree, the nearest received first: the ideal, as if every node knew when to begin.
    """
    collective, ports, flits = job.collective, job.model.ports, lengths_of(job.collective).flits
    network = job.network if collective.direction == "from" else job.network.reversed()
    kind = job.options.get("tree", "breadth-first")
    found = spanning_tree(network, collective.root, kind, flits, lambda tree: streams_steps(tree, flits, ports))
    return build_streams(job, [found], np.zeros(network.nodes, np.int64))


def build_streams(job: Job[Network], trees: Sequence[Tree], dealt: Ints) -> Built:
    """Return a scatter, or the ideal gather, over trees that share no arc: node v's message goes by ``trees[dealt[v]]``.

    With one port all messages form one stream at the root; otherwise each child of the root has one, in each tree.
    """
    collective, nodes, lengths = job.collective, job.network.nodes, lengths_of(job.collective)
    away = collective.direction == "from"
    first = job.options.get("first", "farthest" if away else "nearest")
    depth = _of_own_tree([tree.depth for tree in trees], dealt)
    branch = _of_own_tree([tree.branch for tree in trees], dealt)
    stream = np.zeros(nodes, np.int64) if job.model.ports == "one" else dealt * nodes + branch
    sequence = np.lexsort((*_key(first, depth, lengths.flits, trees, dealt), stream))
    numbered = replace(collective, lengths=Lengths(lengths.flits, sequence))
    begin, flits = lengths_of(numbered).first, lengths.flits
    some = flits > 0
    base = np.full(int(stream.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(base, stream, begin)
    place = begin - base[stream]  # flits of the same stream before each message
    wait = np.zeros(len(base), np.int64)
    if not away:  # the root hears nothing before the first message can be there
        np.maximum.at(wait, stream[some], (depth - 1 - place)[some])
    at_root = place + wait[stream]
    parts = list[Rows]()
    for number, tree in enumerate(trees):
        mine = some & (dealt == number)
        stop = np.where(mine, begin + flits, begin)
        parts.append(rows_of(tree, begin, stop, at_root - begin, away=away, number=number))
    end = at_root + flits + (depth - 1 if away else 0)
    return Built(joined(parts), Claims(int(end[some].max(initial=0)), int((flits * depth).sum())), numbered)


def rows_of(tree: Tree, first: Ints, stop: Ints, offset: Ints, *, away: bool, number: int = 0) -> Rows:
    """Return the rows of messages that move without a pause, away from the root of a tree or towards it.

    Flit c of node v, of ``first[v] … stop[v]-1``, leaves or reaches the root in step c + ``offset[v]``. Flits towards the root
    go up a tree of the network with its arcs turned round. Raises PlanError when there are too many rows to hold.
    """
    from treecast.kernels.schedule.streams import runs

    node, low, high, shift = runs(tree.parent, tree.order, *tree.child_lists, first, stop, offset, MOST_RUNS)
    if len(node) and node[0] < 0:
        raise PlanError(
            f"more than {MOST_RUNS:,} runs of flits on the arcs of {tree.network.spec} are too many to write down: "
            "take a shallower tree, or longer messages"
        )
    above, hops = tree.parent[node], tree.depth[node] - 1
    table = Payloads.of_ranges(low, high)
    step = low + shift + (hops if away else -hops)
    src, dst, port = (above, node, tree.port[node]) if away else (node, above, tree.port_towards_root[node])
    return Rows.of(table, step=step, src=src, dst=dst, port=port, tree=number)


def control(step: Ints, src: Ints | _Int32, dst: Ints | _Int32, port: Ints | Ports) -> Rows:
    """Return rows of control flits: they carry nothing, and belong to no tree."""
    return Rows.of(Payloads.of([[]]), step=step, src=src, dst=dst, port=port, payload=0)


def _of_own_tree(values: Sequence[Ints], dealt: Ints) -> Ints:
    return np.choose(dealt, values) if len(values) < 32 else np.stack(values)[dealt, np.arange(len(dealt))]


def _key(first: str, depth: Ints, flits: Ints, trees: Sequence[Tree], dealt: Ints) -> tuple[Ints, ...]:
    """Return the keys to sort the messages of a stream by, last key first: messages of one subtree stay together."""
    if first not in ORDERS:
        raise PlanError(f"there is no order {first!r}: write one of {', '.join(ORDERS)}")
    near = _of_own_tree([tree.places for tree in trees], dealt)
    main = {"farthest": -depth, "nearest": depth, "longest": -flits, "shortest": flits, "node": np.arange(len(flits))}
    return near, main[first]
