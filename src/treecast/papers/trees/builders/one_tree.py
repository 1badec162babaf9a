"""Scatter and gather of messages of any length over a tree: farthest destination first, and gathers by nodes that are told.

Communication model: bufferless: a node sends one flit in a step and receives one, or does so over every link (multi-port); a flit
that arrives is sent on in the next step, and a message is never interrupted. Control flits take a step like any other. Computing
takes no time. Source: Bhatt, Pucci, Ranade & Rosenberg.

*Farthest first* (Theorem 1): the root sends one message right behind the other. On a tree with one port farthest first is best,
whatever the lengths. Over several ports each child of the root has a stream of its own. A message of l flits for a node at
distance d, with s flits sent before it, has arrived after s + l + d - 1 steps.

The nodes of a gather do not know, at first, when to begin: SHOULDER-TAP (Theorem 2), TRANSMISSION-CERTIFICATE (Theorem 3).
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
from treecast.plans.times.certificates import certificates
from treecast.plans.ways.trees.spanning import TREE, breadth_first, spanning_tree, streams_steps
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import Ports, Tree

ORDERS = ("farthest", "nearest", "longest", "shortest", "node")
"""Which message goes first."""
_MOST_RUNS = 2**26  # of flits on arcs, each a row: more are not written down
_Int32 = NDArray[np.int32]

FIRST = Option(name="first", summary="Which messages go first.", choices=ORDERS)
COLLECT = Option(
    name="collect",
    summary="How certificates come up: in slots of their own, or asked for child by child.",
    choices=("slots", "walk"),
)


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
    collective, ports, flits = job.collective, _ports(job), lengths_of(job.collective).flits
    network = job.network if collective.direction == "from" else job.network.reversed()
    kind = job.options.get("tree", "breadth-first")
    found = spanning_tree(network, collective.root, kind, flits, lambda tree: streams_steps(tree, flits, ports))
    return build_streams(job, [found], np.zeros(network.nodes, np.int64))


def _ports(job: Job[Network]) -> str:
    """Return the ports of the paper's machine on which to plan a job: its plans for one hold where a node has several."""
    return "one" if job.model.room else "all"


def build_streams(job: Job[Network], trees: Sequence[Tree], dealt: Ints) -> Built:
    """Return a scatter, or the ideal gather, over trees that share no arc: node v's message goes by ``trees[dealt[v]]``.

    With one port all messages form one stream at the root; otherwise each child of the root has one, in each tree.
    """
    collective, nodes, lengths = job.collective, job.network.nodes, lengths_of(job.collective)
    away = collective.direction == "from"
    first = job.options.get("first", "farthest" if away else "nearest")
    depth = _of_own_tree([tree.depth for tree in trees], dealt)
    branch = _of_own_tree([tree.branch for tree in trees], dealt)
    # 1. Streams: one at the root, or one for each of its children.
    stream = np.zeros(nodes, np.int64) if job.model.room else dealt * nodes + branch
    # 2. Chunks are numbered in the order in which they leave: so each stream is a range.
    sequence = np.lexsort((*_key(first, depth, lengths.flits, trees, dealt), stream))
    numbered = replace(collective, lengths=Lengths(lengths.flits, sequence))
    begin, flits = lengths_of(numbered).first, lengths.flits
    some = flits > 0
    # 3. When each message leaves, or reaches, the root.
    base = np.full(int(stream.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(base, stream, begin)
    place = begin - base[stream]  # flits of the same stream before each message
    wait = np.zeros(len(base), np.int64)
    if not away:  # the root hears nothing before the first message can be there
        np.maximum.at(wait, stream[some], (depth - 1 - place)[some])
    at_root = place + wait[stream]
    # 4. Rows, tree by tree.
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
    from treecast.schedule.kernels.streams import runs

    node, low, high, shift = runs(tree.parent, tree.order, *tree.child_lists, first, stop, offset, _MOST_RUNS)
    if len(node) and node[0] < 0:
        raise PlanError(
            f"more than {_MOST_RUNS:,} runs of flits on the arcs of {tree.network.spec} are too many to write down: "
            "take a shallower tree, or longer messages"
        )
    above, hops = tree.parent[node], tree.depth[node] - 1
    table = Payloads.of_ranges(low, high)
    step = low + shift + (hops if away else -hops)
    src, dst, port = (above, node, tree.port[node]) if away else (node, above, tree.port_towards_root[node])
    return Rows.of(table, step=step, src=src, dst=dst, port=port, tree=number)


def control(step: Ints, src: Ints | _Int32, dst: Ints | _Int32, port: Ints | Ports, tree: int = -1) -> Rows:
    """Return rows of control flits: they carry nothing, and name their tree where there are several."""
    return Rows.of(Payloads.of([[]]), step=step, src=src, dst=dst, port=port, tree=tree, payload=0)


def _of_own_tree(values: Sequence[Ints], dealt: Ints) -> Ints:
    return np.choose(dealt, values) if len(values) < 32 else np.stack(values)[dealt, np.arange(len(dealt))]


def _key(first: str, depth: Ints, flits: Ints, trees: Sequence[Tree], dealt: Ints) -> tuple[Ints, ...]:
    """Return the keys to sort the messages of a stream by, last key first: messages of one subtree stay together."""
    if first not in ORDERS:
        raise PlanError(f"there is no order {first!r}: write one of {', '.join(ORDERS)}")
    near = _of_own_tree([tree.places for tree in trees], dealt)
    main = {"farthest": -depth, "nearest": depth, "longest": -flits, "shortest": flits, "node": np.arange(len(flits))}
    return near, main[first]


def _no_path(job: Job[Network]) -> str:
    network, root = job.network, job.collective.root
    if not network.connected:
        return "needs ways out to those that are to send"
    tree = breadth_first(network, root)
    if tree.height < network.nodes - 1:
        return f"needs a path with the root at one end, not {network.spec} from {network.label(root)}"
    back = tree.port_up[tree.order[1:]]
    return "" if (back >= 0).all() else f"needs a path with arcs both ways, not {network.spec}"


@builder(
    "shoulder-tap",
    "gatherv",
    under=BUFFERLESS,
    fits=_no_path,
    baseline=True,
    summary="of a path with the root at its end: a wake-up goes out",
)
def shoulder_tap(job: Job[Network]) -> Built:
    """Bufferless: gather at the end of a path: a wake-up goes outwards, each node begins as soon as the nearer nodes let it."""
    from treecast.schedule.kernels.streams import shoulder_taps

    network, collective, ports = job.network, job.collective, _ports(job)
    tree, lengths = breadth_first(network, collective.root, both_ways=True), lengths_of(collective)
    below = tree.order[1:].astype(np.int64)
    start = shoulder_taps(tree.order, lengths.flits, int(ports == "one"))
    numbered = replace(collective, lengths=Lengths(lengths.flits, tree.order.astype(np.int64)))
    runs = _count_runs(tree, start, lengths.flits)
    if runs > _MOST_RUNS:
        raise PlanError(
            f"{runs:,} runs of flits on the arcs of {network.spec} are too many to write down: SHOULDER-TAP leaves a gap "
            "behind each message of one flit; take longer messages, or transmission-certificate"
        )
    first, stop = lengths_of(numbered).first, lengths_of(numbered).stop
    rows = rows_of(tree, first, stop, start + tree.depth - 1 - first, away=False)
    taps = control(tree.depth[below] - 1, tree.parent[below], below, tree.port[below])
    ends = (start + lengths.flits + tree.depth - 1)[lengths.flits > 0]
    steps = max(int(ends.max(initial=0)), len(below))
    return Built(joined([rows, taps]), Claims(steps, int((lengths.flits * tree.depth).sum()) + len(below)), numbered)


def _count_runs(path: Tree, start: Ints, flits: Ints) -> int:
    """Return the runs of flits on the arcs of a path: one an arc, and one more for each gap that its flits have."""
    order = path.order[flits[path.order] > 0]
    depth, reach = path.depth[order], start[order] + path.depth[order]
    # A gap behind a message breaks its arcs' stream into two runs, on every arc down to the root.
    gaps = reach[1:] != (reach + flits[order])[:-1]
    return int(depth.max(initial=0)) + int(depth[:-1][gaps].sum())


@builder(
    "transmission-certificate",
    "gatherv",
    under=BUFFERLESS,
    options=(TREE, COLLECT),
    summary="up one tree, told when to begin by control flits",
)
def transmission_certificate(job: Job[Network]) -> Built:
    """Bufferless: gather up any tree: tokens, certificates, orders, and then streams without a gap."""
    network, collective, ports = job.network, job.collective, _ports(job)
    lengths, collect = lengths_of(collective), job.options.get("collect", "slots")

    def steps_of(tree: Tree) -> int:
        return certificates(tree, lengths.flits, ports, collect).steps

    kind = job.options.get("tree", "breadth-first")
    spanning = spanning_tree(network, collective.root, kind, lengths.flits, steps_of, both_ways=True)
    return certified(job, [spanning], np.zeros(network.nodes, np.int64))


def certified(job: Job[Network], trees: Sequence[Tree], dealt: Ints) -> Built:
    """Return the gather by certificates up trees that share no link: node v's message goes by ``trees[dealt[v]]``.

    Each tree has tokens, certificates and orders of its own. With one port there is one tree.
    """
    lengths, collect = lengths_of(job.collective), job.options.get("collect", "slots")
    parts, places, steps, sent, first = list[Rows](), np.zeros(job.network.nodes, np.int64), 0, 0, 0
    # Trees share no link, so each runs its own tokens, certificates and orders, and none waits for another.
    for number, tree in enumerate(trees):
        flits, named = np.where(dealt == number, lengths.flits, 0), number if len(trees) > 1 else -1
        when = certificates(tree, flits, _ports(job), collect)
        below = tree.order[1:].astype(np.int64)
        above, up, down = tree.parent[below].astype(np.int64), tree.port_up[below], tree.port[below]
        some, told = when.total[below] > 0, when.told[below] >= 0
        node = below[some]
        table = Payloads.of_ranges(first + when.first[node], first + when.first[node] + when.total[node])
        parts += [
            Rows.of(table, step=when.start[node], src=node, dst=above[some], port=up[some], tree=number),
            control(when.token[below], above, below, down, named),
            control(when.certificate[below], below, above, up, named),
            control(when.told[below[told]], above[told], below[told], down[told], named),
        ]
        mine = dealt == number
        places[mine] = first + when.own[mine]
        steps, sent = max(steps, when.steps), sent + int((flits * tree.depth).sum()) + 2 * len(below) + int(told.sum())
        first += int(flits.sum())
    numbered = replace(job.collective, lengths=Lengths(lengths.flits, np.lexsort((lengths.flits > 0, places))))
    return Built(joined(parts), Claims(steps, sent), numbered)
