"""Lower bounds of data from one node to all, where each node has one port: informed nodes at most double in a step."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Problem, steps
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept

LISTED = 2**12  # nodes of a network whose arcs are looked at one by one


def serving(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bound by a node from which alone several ranks hear: its one port sends to one after the other.

    It sends each of them all that comes in there. If they lead to it alone, too, it also sends on what they have for others, once
    if all hear the same. A relay has nothing to send in step 0. With half duplex the port receives in other steps.
    """
    kind, network, lengths = job.kind, job.along, job.collective.lengths
    if job.model.ports != "one" or job.model.combining or network.seen_alike or network.nodes > LISTED:
        return []
    # 1. the ranks that hear from one node alone; those that lead to it alone; and how many others there are
    tail, head = (ends.astype(np.int64) for ends in (arcs_of(network).tail, arcs_of(network).head))
    (heard, by), rank, alone = _beside_one(network, tail, head), *np.zeros((2, network.nodes), np.int64)
    rank[network.ranks], alone[heard] = 1, by + 1
    ranks, node = _beside_one(network, head, tail)
    hearing, leading = (np.bincount(at, minlength=len(rank)) for at in (by, node[alone[ranks] == node + 1]))
    outside = network.rank_count - hearing - rank
    sends_on = (leading == hearing) & (outside > 0)
    # 2. what the node sends, and receives
    size = np.zeros(network.nodes, np.int64)
    if kind.blocks == "node":
        size[network.ranks] = job.sizes(network.ranks)
    if kind.results:
        sent, received = job.chunks * (hearing + sends_on), job.chunks * (leading + (outside > 0))
    elif kind.personal:  # a chunk that is sent on is for one rank
        if lengths is not None:
            return []
        sent = job.total * (hearing * job.others + leading * outside)
        received = sent + job.total * rank * (job.others - hearing)
    else:
        entering, leaving = (np.zeros(network.nodes, np.int64) for _ in range(2))
        np.add.at(entering, by, job.chunks - size[heard])
        some = alone[ranks] == node + 1
        np.add.at(leaving, node[some], size[ranks[some]])
        sent, received = entering + leaving * sends_on, (job.chunks - size) // job.copies
    # 3. the node that is busy longest
    more = np.maximum(1 - rank, received) if job.model.half_port else 1 - rank
    at = int(np.where(hearing > 1, sent + more, 0).argmax())
    if hearing[at] < 2:
        return []
    said = f"{hearing[at]:,} ranks hear from one node alone, which sends to one after the other"
    return [steps(int(sent[at] + more[at]), f"{sent[at]:,} + {more[at]:,}" if more[at] else f"{sent[at]:,}", said)]


def _beside_one(network: Network, tail: Ints, head: Ints) -> tuple[Ints, Ints]:
    """Return the ranks into which arcs lead from one node alone, and that node of each."""
    first, last = np.full(network.nodes, network.nodes), np.full(network.nodes, -1)
    np.minimum.at(first, head, tail)
    np.maximum.at(last, head, tail)
    ranks = network.ranks[first[network.ranks] == last[network.ranks]]
    return ranks, last[ranks]


@kept(64)
def in_turns(network: Network, root: int, last: tuple[int, ...] = (), late: int = 1) -> int:
    """Return in how many steps one message can reach all ranks at best, as nodes tell those in turn to which only they lead.

    A node tells first whoever needs longest. On trees these are the fewest steps (Slater, Cockayne & Hedetniemi 1981). Elsewhere
    nodes are counted to which all ways from the root lead over one arc. A chunk that leaves the root in step M - 1 or later takes
    as many steps from there on. ``last``: how many steps have to follow when a node has been told; where it is 0, the node itself
    need not be. If none are given, all ranks have to be told, and that is all. ``late``: in how many steps a node hears.

    >>> from treecast.networks import network
    >>> in_turns(network("tree:2,3"), 0), in_turns(network("path:5"), 2), in_turns(network("ring:5"), 0)
    (6, 3, 0)
    """
    import networkx

    # 1. Dominators: the last node that all ways from the root to a node pass.
    arcs, nx = arcs_of(network), cast(Any, networkx)  # its functions have no types
    graph = nx.DiGraph(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    above: dict[int, int] = nx.immediate_dominators(graph, root) | {root: root}
    beyond = {v: list[int]() for v in above}
    for v, parent in above.items():
        if v != root:
            beyond[parent].append(v)
    # 2. Their tree, level by level.
    order, level = [root], {root: 0}
    for v in order:
        order += beyond[v]
        level |= dict.fromkeys(beyond[v], level[v] + 1)
    # 3. From the leaves up: who needs longest is told first.
    wanted = set(np.flatnonzero(last).tolist() if last else network.ranks.tolist())
    rest = dict(enumerate(last)) if last else dict.fromkeys(order, 0)
    for v in reversed(order):
        asked = [w for w in beyond[v] if w in wanted]
        wanted |= {v} if asked else set()
        alone = sorted((rest[w] for w in asked if _led_to(graph, above, level, v, w)), reverse=True)
        rest[v] = max([rest[v], *(turn + more for turn, more in enumerate(alone, late))])
    return rest[root]


def _led_to(graph: Any, above: dict[int, int], level: dict[int, int], v: int, w: int) -> bool:
    """Return whether whatever comes to w for the first time comes from v: all other arcs into w come from behind w."""
    for u in graph.predecessors(w):
        while level.get(u, -1) > level[w]:
            u = above[u]
        if u not in (v, w) and u in level:
            return False
    return True


def least_doubling(sends: int, first: int, most: int) -> int:
    """Return in how many steps there can be so many sends: ``first`` in the first step, twice as many in each next, or ``most``.

    >>> least_doubling(12, 1, 4)
    5
    """
    left, count, sending = sends, 0, first
    while sending < most and left > 0:
        left, count, sending = left - sending, count + 1, 2 * sending
    return count + -(-max(0, left) // most)


@kept(4)
def _answering(network: Network) -> tuple[Ints, Ints]:
    """Return how many arcs leave each node, and whether one leads back from it wherever one enters it: int64 (N,)."""
    arcs, many = arcs_of(network), network.nodes
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    lacking = ~np.isin(tail * many + head, head * many + tail)
    return np.bincount(tail, minlength=many), (np.bincount(head[lacking], minlength=many) == 0).astype(np.int64)


@kept(64)
def senders(network: Network, root: int, ports: int = 1, late: int = 1) -> tuple[int, ...]:
    """Return how many nodes can hold anything of the root's before step 0, 1, 2, … with so many ports each, until all can.

    Each node that holds something tells one more by each port in a step, each over an arc of its own, but not over the one that
    told it. They hear it ``late`` steps later. No more can have been told by then than if those that hold it longest had the
    most arcs; and no node is told sooner than it is far.

    >>> from treecast.networks import network
    >>> senders(network("path:5"), 0), senders(network("complete:9"), 0, 2, 3)
    ((1, 2, 3, 4, 5), (1, 1, 1, 3, 5, 7, 9))
    """
    every = np.arange(network.nodes)
    far, (out, told_by) = network.distance(root, every), _answering(network)
    # the root has told nobody before; of others, those with the most arcs are told first, which is the best that can be
    free = np.append(out[root], np.sort((out - told_by)[every != root])[::-1])  # arcs over which each may tell somebody
    holding, since, last = [1], np.zeros(1, np.int64), late * int(far.max())
    while holding[-1] < network.nodes:
        now = len(holding)
        told = np.minimum(free[: len(since)], ports * np.maximum(0, now - late + 1 - since))
        near = int(((far >= 0) & (far * late <= now)).sum())
        holding.append(min(1 + int(told.sum()), near))
        # nobody new, nobody left to tell, and nobody under way
        if holding[-1] == holding[-2] and now > last and (told == free[: len(since)]).all():
            break
        since = np.append(since, np.full(holding[-1] - holding[-2], now))
    return tuple(holding)
