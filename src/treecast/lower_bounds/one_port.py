"""Lower bounds of data from one node to all, where each node has one port: informed nodes at most double in a step."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds.bound import Bound
from treecast.lower_bounds.job import Job, steps
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept

_LISTED = 2**12  # nodes of a network whose arcs are looked at one by one


def broadcast(job: Job) -> list[Bound]:
    """Return the bounds of a broadcast of Mx chunks for each node over one port, messages not combined.

    After t steps at most 2^t ranks hold anything. So some rank gets its first chunk in step q - 1 or later, q = ⌈log2 N⌉,
    and from then on one of its Mx chunks a step: Mx - 1 + q. With x = 1 this is optimal on complete networks (Träff 2022).
    For one message it is q + f with f = x - 1 faults (Liestman 1985).

    With half duplex each send keeps two nodes busy: step t has at most min(2^t, ⌊N/2⌋) sends.
    """
    doublings = job.others.bit_length()
    found = [steps(job.total - 1 + doublings, "M x - 1 + ⌈log2 N⌉", "informed nodes at most double")]
    if job.model.half_port:
        found.append(_busy_halves(job))
    return found


def informing(job: Job, root: int) -> list[Bound]:
    """Return the bound by the first step before which all ranks can hold anything: each hears a chunk a step from then on.

    One message that is combined with others spreads no sooner.
    """
    network = job.network
    if job.model.ports != "one" or job.faults or network.every_pair_joined or network.nodes > _LISTED:
        return []
    late = next((t for t, count in enumerate(senders(network, root)) if count >= network.rank_count), 0)
    first = 0 if job.model.combining else job.total - 1
    formula = f"{late:,}" if job.model.combining else f"M x - 1 + {late:,}"
    return [steps(first + late, formula, "a node informs one more in a step, over each arc once")]


def telling(job: Job, root: int) -> list[Bound]:
    """Return the bound by nodes that alone lead to several others: they tell one after the other."""
    if job.model.ports != "one" or job.faults or job.quick or job.network.seen_alike or job.network.nodes > _LISTED:
        return []
    if not in_turns(job.network, int(job.network.ranks[0])):  # no arc alone joins ranks to others, whatever the root
        return []
    before = 0 if job.model.combining else job.messages - 1
    turns = in_turns(job.network, root)
    said = "who alone leads to several nodes tells one after the other"
    return [steps(before + turns, f"M - 1 + {turns:,}" if before else f"{turns:,}", said)]


class Beside(NamedTuple):
    """The ranks whose only neighbor a node is: of each node int64 (N,).

    ``hearing``: how many hear from it alone; ``leading``: how many of these lead to it alone; ``outside``: how many other ranks
    there are than the first and itself; ``rank``: whether it is one, 0 or 1. ``heard``: the ranks that hear from one node alone,
    and that of each.
    """

    hearing: Ints
    leading: Ints
    outside: Ints
    rank: Ints
    heard: tuple[Ints, Ints]

    @property
    def sends_on(self) -> NDArray[np.bool_]:
        """Whether whatever those ranks have for the outside takes more sends: all of them lead to the node alone."""
        return (self.leading == self.hearing) & (self.outside > 0)


def serving(job: Job, work: Callable[[Job, Beside], tuple[Ints, Ints]]) -> list[Bound]:
    """Return the bound by a node from which alone several ranks hear: its one port sends to one after the other.

    ``work``: how often it sends at least, and receives. A relay has nothing to send in step 0. With half duplex the port receives
    in other steps.
    """
    network = job.network
    if job.model.ports != "one" or job.model.combining or network.seen_alike or network.nodes > _LISTED:
        return []
    tail, head = (ends.astype(np.int64) for ends in (arcs_of(network).tail, arcs_of(network).head))
    heard, rank, alone = _beside_one(network, tail, head), *np.zeros((2, network.nodes), np.int64)
    rank[network.ranks], alone[heard[0]] = 1, heard[1] + 1
    ranks, node = _beside_one(network, head, tail)
    hearing, leading = (np.bincount(at, minlength=len(rank)) for at in (heard[1], node[alone[ranks] == node + 1]))
    sent, received = work(job, Beside(hearing, leading, network.rank_count - hearing - rank, rank, heard))
    more = np.maximum(1 - rank, received) if job.model.half_port else 1 - rank
    at = int(np.where(hearing > 1, sent + more, 0).argmax())
    if hearing[at] < 2:
        return []
    said = f"{hearing[at]:,} ranks hear from one node alone, which sends to one after the other"
    return [steps(int(sent[at] + more[at]), f"{sent[at]:,} + {more[at]:,}" if more[at] else f"{sent[at]:,}", said)]


def all_to_all_ranks(job: Job, at: Beside) -> tuple[Ints, Ints]:
    """Return how often nodes send, and receive, in an allgather: to ranks, and on for ranks."""
    sent = job.total * (at.hearing * job.others + at.leading * at.sends_on)
    return sent, job.messages * (job.network.rank_count - at.rank)


def one_to_each_rank(job: Job, at: Beside) -> tuple[Ints, Ints]:
    """Return the same of an alltoall, in which a chunk that is sent on is for one rank."""
    sent = job.total * (at.hearing * job.others + at.leading * at.outside)
    return sent, sent + job.total * at.rank * (job.others - at.hearing)


def sums(job: Job, at: Beside) -> tuple[Ints, Ints]:
    """Return the same of M sums: something of each enters and leaves each rank, and passes between these and the others."""
    return job.messages * (at.hearing + at.sends_on), job.messages * (at.leading + (at.outside > 0))


def _beside_one(network: Network, tail: Ints, head: Ints) -> tuple[Ints, Ints]:
    """Return the ranks into which arcs lead from one node alone, and that node of each."""
    first, last = np.full(network.nodes, network.nodes), np.full(network.nodes, -1)
    np.minimum.at(first, head, tail)
    np.maximum.at(last, head, tail)
    ranks = network.ranks[first[network.ranks] == last[network.ranks]]
    return ranks, last[ranks]


@kept(64)
def in_turns(network: Network, root: int, last: tuple[int, ...] = ()) -> int:
    """Return in how many steps one message can reach all ranks at best, as nodes tell those in turn to which only they lead.

    A node tells first whoever needs longest. On trees these are the fewest steps (Slater, Cockayne & Hedetniemi 1981). Elsewhere
    nodes are counted to which all ways from the root lead over one arc. A chunk that leaves the root in step M - 1 or later
    takes as many steps from there on. ``last``: how many steps have to follow when a node has been told; where it is 0, the
    node itself need not be. If none are given, all ranks have to be told, and that is all.

    >>> from treecast.networks import network
    >>> in_turns(network("tree:2,3"), 0), in_turns(network("path:5"), 2), in_turns(network("ring:5"), 0)
    (6, 3, 0)
    """
    import networkx

    arcs, nx = arcs_of(network), cast(Any, networkx)  # its functions have no types
    graph = nx.DiGraph(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    above: dict[int, int] = nx.immediate_dominators(graph, root) | {root: root}
    beyond = {v: list[int]() for v in above}
    for v, parent in above.items():
        if v != root:
            beyond[parent].append(v)
    order, level = [root], {root: 0}
    for v in order:
        order += beyond[v]
        level |= dict.fromkeys(beyond[v], level[v] + 1)
    wanted = set(np.flatnonzero(last).tolist() if last else network.ranks.tolist())
    rest = dict(enumerate(last)) if last else dict.fromkeys(order, 0)
    for v in reversed(order):
        asked = [w for w in beyond[v] if w in wanted]
        wanted |= {v} if asked else set()
        alone = sorted((rest[w] for w in asked if _led_to(graph, above, level, v, w)), reverse=True)
        rest[v] = max([rest[v], *(turn + more for turn, more in enumerate(alone, 1))])
    return rest[root]


def _led_to(graph: Any, above: dict[int, int], level: dict[int, int], v: int, w: int) -> bool:
    """Return whether whatever comes to w for the first time comes from v: all other arcs into w come from behind w."""
    for u in graph.predecessors(w):
        while level.get(u, -1) > level[w]:
            u = above[u]
        if u not in (v, w) and u in level:
            return False
    return True


def _busy_halves(job: Job) -> Bound:
    """Sum min(2^t, ⌊N/2⌋) over the steps until it is all sends."""
    value = least_doubling(job.total * job.others, 1, job.room)
    return steps(value, f"least T with Σ min(2^t, {job.room:,}) ≥ M x (N - 1), t < T", "each send keeps two nodes busy")


def least_doubling(sends: int, first: int, most: int) -> int:
    """Return in how many steps there can be so many sends: ``first`` in the first step, twice as many in each next, or ``most``.

    >>> least_doubling(12, 1, 4)
    5
    """
    left, count, sending = sends, 0, first
    while sending < most and left > 0:
        left, count, sending = left - sending, count + 1, 2 * sending
    return count + -(-max(0, left) // most)


@kept(64)
def senders(network: Network, root: int) -> tuple[int, ...]:
    """Return how many nodes can hold anything of the root's before step 0, 1, 2, … with one port each, until all can.

    Each node that holds something tells one more in a step while it has an arc left over which it has not, but not over the
    one that told it. Those that were told first have the most arcs, and no node is told in fewer steps than it is far.

    >>> from treecast.networks import network
    >>> senders(network("path:5"), 0)
    (1, 2, 3, 4, 5)
    """
    arcs, far = arcs_of(network), network.distance(root, np.arange(network.nodes))
    pairs = set(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    out = np.bincount(arcs.tail, minlength=network.nodes)
    told_by = np.array([all((v, u) in pairs for u in arcs.tail[arcs.head == v].tolist()) for v in range(network.nodes)])
    others = np.arange(network.nodes) != root
    most = np.sort((out - told_by)[others])[::-1]
    holding, new = [1], list[int]()
    while holding[-1] < network.nodes:
        now, index = len(new), 0
        more = int(now < out[root])
        for since, count in enumerate(new, 1):
            more += int((most[index : index + count] > now - since).sum())
            index += count
        more = min(more, int(((far >= 0) & (far <= now + 1)).sum()) - holding[-1])
        if more <= 0:
            break
        new.append(more)
        holding.append(holding[-1] + more)
    return tuple(holding)
