"""Lower bounds of data that spreads from some nodes: how soon who wants it can have heard of it, and how long the rest takes.

A *spread* is what each of several ends needs from the same nodes. Data that comes together is a spread backwards in time, on the
network with its arcs turned round: a gather becomes a scatter, a reduce a broadcast (each node sends a sum on once, so the sends
of a sum are a tree). What one node gives or gets is a part of any collective, so spreads bound all of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treecast.lower_bounds import distances
from treecast.lower_bounds.bound import Bound, arrived, best
from treecast.lower_bounds.job import Problem, classes, far_words, steps
from treecast.lower_bounds.one_port import LISTED, in_turns, least_doubling, senders
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.networks.separators import far_and_back
from treecast.ragged import places


class Spread(NamedTuple):
    """Each of ``ends`` nodes needs so many chunks from ``roots``: all of the same ones, if they are ``shared``.

    ``every``: whether the ends are all ranks but one root. ``spelled``: how formulas write the chunks. ``heard``: by how many
    nodes each chunk is heard, if not by the ends.
    """

    network: Network
    roots: tuple[int, ...]
    chunks: int
    ends: int
    every: bool
    shared: bool
    spelled: str
    heard: int = 0

    def growth(self, ports: int, late: int) -> int:
        """Return in how many steps all can have heard, if each who has tells so many more in a step, who hear it steps later."""
        heard = [len(self.roots)]
        while heard[-1] < self.ends + len(self.roots):
            heard.append(heard[-1] + ports * (heard[-late] if len(heard) >= late else 0))
        return len(heard) - 1


def spreads(job: Problem) -> Iterator[Spread]:
    """Yield what one node gives to others, what it gets from them, and what all who have anything tell those who have nothing."""
    if job.collective.demand is not None:
        for size, parts, wants, _ in classes(job.collective.demand, job.network):
            if len(parts) == 1:
                yield Spread(job.network, tuple(parts[0]), size, len(wants), False, True, f"{size:,}")
            else:  # backwards: who has heard from a wanter
                givers = {part[0] for part in parts} - {wants[0]}
                yield Spread(job.network.reversed(), (wants[0],), size, len(givers), False, True, f"{size:,}")
        return
    kind, lengths = job.kind, job.collective.lengths
    for back in (False, True):
        mine, theirs = (kind.ends, kind.starts) if back else (kind.starts, kind.ends)
        if theirs == "root" or (kind.starts == "own" and kind.ends == "own" and kind.blocks == "node"):
            continue
        network = job.network.reversed() if back else job.network
        root = job.collective.root if mine == "root" else _latest(job, network, back)
        count, shared = job.others, theirs != "own" and job.copies == 1
        if theirs == "targets":
            count = len(job.ends) - int(root in job.ends)
        chunks, spelled = (job.total, "M x") if "own" in (mine, theirs) else (job.chunks, job.spelled)
        if lengths is not None and "own" in (mine, theirs):
            one = np.array([root])
            if theirs == "own":  # ends that have a block of their own, if that is not empty
                ends = job.network.ranks[job.exchanged(one, job.network.ranks, inwards=back)[0] > 0]
                count = len(ends) - int(root in ends)
            chunks = int(job.sizes(one)[0]) if theirs != "own" else 1
            spelled = f"{chunks:,}"
        if count and chunks and mine != "targets":
            yield Spread(network, (root,), chunks, count, count == job.others, shared, spelled)
    if kind.starts != "own" or kind.ends != "all" or lengths is None:
        return
    ranks = job.network.ranks
    if (holding := job.sizes(ranks) > 0).any():
        holders = tuple(ranks[holding].tolist())
        if len(holders) == len(ranks):
            return
        yield Spread(job.network, holders, job.chunks, len(ranks) - len(holders), False, True, job.spelled, job.others)


def _latest(job: Problem, network: Network, back: bool) -> int:
    """Return a node that is farthest from others; where blocks have lengths of their own, that of the longest or of most."""
    if job.collective.lengths is not None:
        ranks = network.ranks
        pairs = job.kind.blocks == "pair"
        size = (job.exchanged(ranks, ranks, inwards=back) > 0).sum(axis=1) if pairs else job.sizes(ranks)
        return int(ranks[size.argmax()])
    nodes = distances.looked_at(network)
    if len(nodes) == 1:
        return nodes[0]
    return nodes[int(network.distance(np.array(nodes)[:, None], network.ranks).max(axis=1).argmax())]


def spreading(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the greatest of the bounds of what spreads."""
    return [bound for spread in spreads(job) for bound in told(spread, job.model)]


def told(spread: Spread, model: Model) -> list[Bound]:
    """Return the bounds of steps of a spread, those by doors aside."""
    found = list[Bound]()
    if model.room:
        found.append(_doubling(spread, model))
    if model.room == 1:
        found += _in_turns(spread, model)
        if model.half_port and not model.combining:
            found.append(_busy_halves(spread, model))
    elif not model.combining:
        found += [*_since_told(spread, model.latency), *_into_layers(spread, model.latency)]
    return found


def _doubling(spread: Spread, model: Model) -> Bound:
    """After t steps at most 2^t nodes hold anything; and a node tells one more in a step, over each arc once.

    So some end gets its first chunk in step q - 1 or later, where q steps are needed to tell all, and from then on one of its
    chunks a step. With x = 1 this is optimal on complete networks (Träff 2022). One message that is combined with others
    spreads no sooner. With k ports, k times as many as hold anything are told in a step; and those told in step t hold it from
    step t + L on, with a latency L (Bar-Noy & Kipnis 1992).
    """
    network, ports = spread.network, model.room
    late, said = spread.growth(ports, model.latency), _DOUBLE
    of = "N" if spread.every else f"(1 + {spread.ends:,} / {len(spread.roots):,})"
    words = f"⌈log{1 + ports} {of}⌉"
    if model.latency > 1:
        words, said = f"{late:,}", f"F(t) = F(t - 1) + {ports} F(t - {model.latency}) nodes are informed at most"
    elif ports > 1:
        said = f"{1 + ports} times as many nodes are informed after a step, at most"
    if spread.every and not network.every_pair_joined and network.nodes <= LISTED:
        counts = senders(network, spread.roots[0], ports, model.latency)
        later = next((t for t, count in enumerate(counts) if count >= network.rank_count), 0)
        if later > late:
            late, words, said = later, f"{later:,}", "a node informs one more in a step, over each arc once"
            said = said.replace("one more", "one more by each port") if ports > 1 else said
    if model.combining:
        return steps(late, words, said)
    each = spread.spelled if ports == 1 else f"⌈{spread.spelled} / {ports}⌉"
    return steps(-(-spread.chunks // ports) - 1 + late, f"{each} - 1 + {words}", said)


_DOUBLE = "informed nodes at most double"


def _busy_halves(spread: Spread, model: Model) -> Bound:
    """With half duplex each send keeps two nodes busy: step t has at most min(H 2^t, ⌊N/2⌋) sends. Sum them until it is all."""
    room, holders = spread.network.nodes // 2, len(spread.roots)
    heard = spread.heard or spread.ends
    value = least_doubling(spread.chunks * heard, holders, room)
    first, ends = (
        f"{holders:,} x " * (holders > 1),
        "(N - 1)" if heard == spread.network.rank_count - 1 else f"{heard:,}",
    )
    formula = f"least T with Σ min({first}2^t, {room:,}) ≥ {spread.spelled} {ends}, t < T"
    return arrived(steps(value, formula, "each send keeps two nodes busy"), model.latency)


def _in_turns(spread: Spread, model: Model) -> list[Bound]:
    """Nodes that alone lead to several others tell one after the other, the last chunk too, if all hear that."""
    network = spread.network
    if network.seen_alike or network.nodes > LISTED or not spread.every:
        return []
    if not in_turns(network, int(network.ranks[0])):  # no arc alone joins ranks to others, whatever the root
        return []
    before = 0 if model.combining or not spread.shared else spread.chunks - 1
    turns = in_turns(network, spread.roots[0], late=model.latency)
    said = "who alone leads to several nodes tells one after the other"
    return [steps(before + turns, f"{spread.spelled} - 1 + {turns:,}" if before else f"{turns:,}", said)]


def _since_told(spread: Spread, late: int) -> list[Bound]:
    """A node hears a chunk a step over each arc into it, but none before the tail of the arc can have heard one.

    In T steps that are Σ (T - d) chunks over arcs whose tails are d < T arcs from the root. So M chunks take the least of
    ⌈(M + Σ d) / n⌉ steps over the n nearest arcs, of any n. With a latency L a tail has heard after L d steps.
    """
    network, root = spread.network, spread.roots[0]
    if network.nodes > 4 * distances.LOOKED_AT or not spread.every:
        return []
    arcs, far = arcs_of(network), late * network.distance(root, np.arange(network.nodes)).astype(np.int64)
    some = np.flatnonzero((far[arcs.tail] >= 0) & (arcs.head != root))
    # the arcs into each node, those with the nearest tails first
    some = some[np.lexsort((far[arcs.tail[some]], arcs.head[some]))]
    head, begins = np.unique(arcs.head[some], return_index=True)
    count = np.diff(np.append(begins, len(some)))
    total = np.cumsum(far[arcs.tail[some]])
    # running sums of each node's own arcs
    before = np.repeat(total[begins] - far[arcs.tail[some[begins]]], count)
    value = np.minimum.reduceat(-(-(spread.chunks + total - before) // (1 + places(count))), begins)
    value = int(value[np.isin(head, network.ranks)].max(initial=0))
    formula = f"least T with Σ (T - distance of its neighbor) ≥ {spread.spelled}"
    return [arrived(steps(value, formula, "the arcs into one node, as their tails are told"), late)]


def _into_layers(spread: Spread, late: int) -> list[Bound]:
    """All chunks cross the arcs that lead to the nodes at distance d and beyond, none before step d - 1.

    So the last crosses them in step d - 1 + ⌈M/arcs⌉ - 1 or later, and to the farthest node it has as many more arcs to go as
    that is farther than d.
    """
    network, root = spread.network, spread.roots[0]
    if network.seen_alike or network.nodes > distances.LISTED or not spread.every:
        return []
    far = network.eccentricity(root)
    into = distances.arcs_into_layers(network, root)[:far]  # some relays may be farther than all ranks
    at = int(into.argmin())
    value = -(-spread.chunks // int(into[at])) + late * far - 1
    formula = f"⌈{spread.spelled} / {into[at]:,}⌉ + {far_words('eccentricity', late)} - 1"
    return [steps(value, formula, f"the arcs that lead to the nodes at distance {at + 1:,} and beyond")]


# --- sums that go out again ---

_LATER = "no finished sum leaves its owner before a sum is complete"


def there_and_back(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds where a sum is complete at one node, its owner, before any node receives it: the root, or any node.

    No finished sum is under way before a first one is complete, nor is a contribution once the last one has yet to be broadcast.
    Contributions and finished sums are different chunks, so the sends of both halves add up. An owner may be a relay, too.
    """
    network, one_root = job.network, job.kind.blocks == "one"
    if not (one_root or network.seen_alike or network.nodes <= distances.LOOKED_AT):
        return []  # not every owner can be looked at
    owners: tuple[int, ...] = (job.collective.root,) if one_root else (0,)
    if not (one_root or network.seen_alike):
        owners = tuple(far_and_back(network, range(network.nodes))[0].tolist())

    back, many = network.reversed(), job.collective.messages

    def each(where: Network, chunks: int) -> Ints:
        return _from_each(where, owners, chunks, job.model)

    there, again = each(back, 1), each(network, 1)
    value = int((there + again).min())
    found = [steps(value, "reduce + broadcast of one sum", f"by way of the nearest owner; {_LATER}")]
    if one_root and many > 1:
        found += [
            steps(int((there + each(network, many)).min()), "reduce of one sum + broadcast", _LATER),
            steps(int((each(back, many) + again).min()), "reduce + broadcast of one sum", _LATER),
        ]
    if not job.model.combining:
        busy, formula = -(-job.chunks * job.hearers // job.room), f"{job.spelled} {job.spelled_hearers} / {job.room:,}"
        found += [
            arrived(steps(int(there.min()) + busy, f"reduce of one sum + ⌈{formula}⌉", _LATER), job.model.latency),
            arrived(steps(int(again.min()) + busy, f"⌈{formula}⌉ + broadcast of one sum", _LATER), job.model.latency),
        ]
    return [replace(bound, given=job.given) for bound in found]


@kept(8)
def _from_each(network: Network, owners: tuple[int, ...], chunks: int, model: Model) -> Ints:
    """Return how long a broadcast from each owner takes at least, or backwards a reduce to it: int64 (owners,)."""
    others = network.rank_count - 1
    return np.array([_of_all(Spread(network, (v,), chunks, others, True, True, "M"), model) for v in owners])


def _of_all(spread: Spread, model: Model) -> int:
    """Return the least steps of a broadcast."""
    far, out = spread.network.eccentricity(spread.roots[0]), spread.network.degree_at(spread.roots[0])
    # the last chunk leaves the root behind the others, and has the whole way to go
    first = 0 if model.combining else -(-spread.chunks // min(model.room or out, out)) - 1
    return max(first + model.latency * far, best([steps(0, "", ""), *told(spread, model)], "steps").value)


# --- copies, faults, and nodes without a partner ---


def surviving(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds of steps in which some node is heard by all, whatever f faults there are.

    Cut the first f links that the root calls over its one port. Nothing leaves it before step f, nor over more than g =
    degree - f links. Its i-th call of the t steps left informs 2^(t - i) nodes at most. So on the hypercube f ≥ 1 faults take
    d + f + 1 steps (Fraigniaud 1992).
    """
    network, f, found = job.network, job.faults, list[Bound]()
    roots = [job.collective.root] if job.kind.starts == "root" else distances.looked_at(network)
    if not f or network.rank_count < 3 or job.model.ports != "one":
        return []
    said = "the first f links that the root calls over are cut"
    for root in roots:
        far = int(network.distance(root, job.ends).max())
        found.append(steps(f + far, "f + " + ("distance of a target" if job.kind.targets else "eccentricity"), said))
        if not job.kind.targets:
            value = f + _informing(network.rank_count, network.degree_at(root) - f)
            found.append(steps(value, "f + least t with 1 + 2^t - 2^(t - degree + f) ≥ N", said))
    return found


def _informing(nodes: int, left: int) -> int:
    """Return the least t with 1 + 2^t - 2^(t - left) ≥ N."""
    t = 1
    while 1 + (1 << t) - (1 << max(0, t - left)) < nodes:
        t += 1
    return t


def over_every_arc(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """With x = degree copies every arc of a node carries all its M chunks, and begins a way of each to every node.

    The last goes over it in step M - 1 or later. From the neighbour it leads to, some node other than the root is as far
    as the diameter, as the network looks alike from all nodes: in all M - 1 + 1 + diameter. With f = degree - 1 faults to survive
    all links of the root but any one may be cut, so each carries all, or one message where they combine.
    """
    network, lengths, ways = job.network, job.collective.lengths, max(job.copies, job.faults + 1)
    if job.model.ports == "one" or not network.seen_alike or ways < network.ports or network.nodes == 2:
        return []
    if job.model.combining and not job.faults:
        return []
    many = job.collective.messages if lengths is None else int(job.sizes(network.ranks).max()) // job.copies
    value, which = (1, "1") if job.model.combining else (many, "M")
    said = "all links of the root but one are cut" if job.faults else "the way over the arc that leads away from a node"
    return [
        steps(
            value + network.diameter,
            f"{which} + diameter, for {'f = degree - 1' if job.faults else 'x = degree'}",
            said,
        )
    ]


def in_pairs(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Where all hear of all in pairs, a node idles in the first step if N is odd; and by calls one way it takes longer."""
    if not job.model.combining or job.model.ports != "one":
        return []
    if job.collective.lengths is not None and (job.kind.blocks == "pair" or not job.sizes(job.network.ranks).all()):
        return []
    found = list[Bound]()
    if job.model.partner == "same" and job.network.rank_count % 2 and job.network.relays is None:
        value = job.others.bit_length() + 1
        found.append(steps(value, "⌈log2 N⌉ + 1, N odd", "one node has no partner in the first step"))
    if job.model.routing or job.model.half_port:
        said = "a node sends or receives in a step: the knowledge of all grows φ = 1.618 times at most"
        found.append(steps(by_one_way_calls(job.network.rank_count), "2 + ⌈log_φ(2N / 5)⌉", said))
    return found


def by_one_way_calls(ranks: int) -> int:
    """Return in how many steps all ranks can know of all, at best, where each sends or receives one message in a step.

    A step adds the row of each sender to that of its receiver in the matrix of who knows of whom. So it multiplies by blocks
    (1 0; 1 1), whose norm is φ. The first and the last step multiply a vector of ones, and make it √(5/2) times as long at most.
    All know of all when no element is 0, so N² <= 5/2 N φ^(T-2).

    >>> [by_one_way_calls(ranks) for ranks in (1, 2, 3, 4, 8, 16, 64)]
    [0, 2, 3, 3, 5, 6, 9]
    """
    count, low, high = 2, 1, 0  # φ^k = high φ + low, by whole numbers
    while ranks > 1 and not _at_least(high, low, 2 * ranks, 5):
        low, high, count = high, low + high, count + 1
    return count if ranks > 1 else 0


def _at_least(high: int, low: int, number: int, divisor: int) -> bool:
    """Return whether high φ + low >= number / divisor."""
    rest = 2 * (number - divisor * low) - divisor * high  # divisor high √5 >= rest
    # squared on both sides, so that no root is rounded
    return rest <= 0 or 5 * (divisor * high) ** 2 >= rest**2
