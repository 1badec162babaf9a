"""Lower bounds: figures that no schedule can beat, each with its formula and its source.

The proofs count four things. *Ports*: in a step each arc of a node carries one chunk; with one port the node sends one in all.
*Ways*: x disjoint paths from a node leave it over x different arcs. *Work*: all sends, divided by the most that all arcs carry
in a step. *Doubling*: with one port, the number of nodes that have heard of something at most doubles in a step.

A schedule run backwards is a schedule of the network with its arcs turned round: a scatter becomes a gather, a broadcast a
reduce (each node sends a sum on once, so the sends of a sum are a tree), an allgather a reduce-scatter. So they share bounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import add

import numpy as np

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.graphs.parting import far_and_back
from treecast.lower_bounds import cuts, distances, faults, flight, one_port, personal
from treecast.lower_bounds.bound import Bound, best
from treecast.lower_bounds.job import Job, steps, transmissions
from treecast.lower_bounds.parts import by_parts
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.ragged import places

Proof = Callable[[Job, int], list[Bound]]
BOUNDS_OF: dict[str, Proof] = {}
"""The bounds of each kind of collective, as functions of a job and a root; ``bounds_of`` enters them."""


def bounds_of(kind: str) -> Callable[[Proof], Proof]:
    """Return a decorator that enters a function as the bounds of a kind of collective."""

    def register(proof: Proof) -> Proof:
        BOUNDS_OF[kind] = proof
        return proof

    return register


def proved(job: Job, collective: Collective) -> list[Bound]:
    """Return the bounds of a kind of collective; one that is another one backwards has those of the other, arcs turned round.

    Raises PlanError when none are known.
    """
    kind = collective.traits
    if kind.name in BOUNDS_OF:
        return BOUNDS_OF[kind.name](job, collective.root)
    if kind.backwards not in BOUNDS_OF:
        raise PlanError(f"no lower bounds of {kind.name} are known yet")
    found = BOUNDS_OF[kind.backwards](job.reversed, collective.root)
    if not kind.adds:
        return found
    whose = ("", " of each other node") if kind.all_source else (" but the root", "")
    said = f"each node{whose[0]} sends its part of M sums{whose[1]}"
    return [replace(bound, source=said) if bound.of == "transmissions" else bound for bound in found]


# --- one root ---


@bounds_of("broadcast")
def _broadcast(job: Job, root: int) -> list[Bound]:
    """Return those that ``_told`` has, how soon one port can inform all ranks, and the bound by the least cut before a rank."""
    found = _told(job, root)
    if job.quick:
        return found
    return found + one_port.informing(job, root) + ([] if job.model.combining else cuts.before_a_rank(job, root))


def broadcast(job: Job, root: int) -> list[Bound]:
    """Each node hears Mx chunks, over ways that begin with as many sends of the root.

    The last of these sends begins no earlier than step ⌈Mx/ports⌉ - 1, and its way has as many arcs as the node is far.
    """
    sends = [faults.heard(job), *faults.delays(job, root)]
    if job.model.combining:
        return sends + _reach(job, root)
    total, far, ports = job.total, job.network.eccentricity(root), job.ports(root)
    if job.model.ports == "one":
        one = steps(total + far - 1, "M x + eccentricity - 1", "the root's one port")
        return [*sends, one, *one_port.broadcast(job)]
    value = -(-total // ports) + far - 1
    found = [*sends, steps(value, "⌈M x / degree⌉ + eccentricity - 1", "Fragopoulou & Akl, Table 1")]
    return found + _over_every_arc(job) + _hearing(job, root) + _into_layers(job, root, far)


def _over_every_arc(job: Job) -> list[Bound]:
    """With x = degree copies every arc of the root carries all M chunks, and begins a way of each to every node.

    The last goes over it in step M - 1 or later. From the neighbour it leads to, some node other than the root is as far
    as the diameter, as the network looks alike from all nodes: in all M - 1 + 1 + diameter.
    """
    if not job.network.seen_alike or job.copies < job.network.ports or job.network.nodes == 2:
        return []
    value = job.messages + job.network.diameter
    return [steps(value, "M + diameter, for x = degree", "the way over the arc that leads away from a node")]


def _hearing(job: Job, root: int) -> list[Bound]:
    """A node that few arcs reach hears Mx chunks over them; the first has crossed its distance from the root."""
    if job.network.seen_alike or job.network.rank_count > distances.LOOKED_AT:
        return []
    others = job.network.ranks[job.network.ranks != root]
    into, far = distances.degrees(job.network.reversed())[others], job.network.distance(root, others)
    value = int((-(-job.total // into) + far - 1).max())
    return [steps(value, "⌈M x / in-degree⌉ + distance - 1", "the arcs into one node")]


def _since_told(job: Job, root: int) -> list[Bound]:
    """A node hears a chunk a step over each arc into it, but none before the tail of the arc can have heard one.

    In T steps that are Σ (T - d) chunks over arcs whose tails are d < T arcs from the root. So Mx chunks take the least of
    ⌈(Mx + Σ d) / n⌉ steps over the n nearest arcs, of any n.
    """
    network = job.network
    if job.quick or job.model.combining or job.model.ports == "one" or network.rank_count > distances.LOOKED_AT:
        return []
    arcs, far = arcs_of(network), network.distance(root, np.arange(network.nodes)).astype(np.int64)
    some = np.flatnonzero((far[arcs.tail] >= 0) & (arcs.head != root))
    some = some[np.lexsort((far[arcs.tail[some]], arcs.head[some]))]
    head, begins = np.unique(arcs.head[some], return_index=True)
    count = np.diff(np.append(begins, len(some)))
    total = np.cumsum(far[arcs.tail[some]])
    before = np.repeat(total[begins] - far[arcs.tail[some[begins]]], count)
    value = np.minimum.reduceat(-(-(job.total + total - before) // (1 + places(count))), begins)
    value = int(value[np.isin(head, network.ranks)].max(initial=0))
    return [
        steps(
            value,
            "least T with Σ (T - distance of its neighbor) ≥ M x",
            "the arcs into one node, as their tails are told",
        )
    ]


def _into_layers(job: Job, root: int, far: int) -> list[Bound]:
    """All chunks cross the arcs that lead to the nodes at distance d and beyond, none before step d - 1.

    So the last crosses them in step d - 1 + ⌈Mx/arcs⌉ - 1 or later, and to the farthest node it has as many more arcs to go as
    that is farther than d.
    """
    if job.network.seen_alike or job.network.nodes > distances.LISTED:
        return []
    into = distances.arcs_into_layers(job.network, root)[:far]  # some relays may be farther than all ranks
    at = int(into.argmin())
    if into[at] >= into[0]:
        return []
    value = -(-job.total // int(into[at])) + far - 1
    formula = f"⌈M x / {into[at]:,}⌉ + eccentricity - 1"
    return [steps(value, formula, f"the arcs that lead to the nodes at distance {at + 1:,} and beyond")]


def _told(job: Job, root: int) -> list[Bound]:
    """As a broadcast, and nodes tell in turn those to which only they lead, or hear since their neighbors know."""
    found = broadcast(job, root) + one_port.telling(job, root)
    return found + [bound for bound in _since_told(job, root) if bound.value > best(found, "steps").value]


@bounds_of("scatter")
def _scatter(job: Job, root: int) -> list[Bound]:
    """A chunk crosses at least as many arcs as its node is away from the root; see ``_through`` for the root's ports."""
    ways, formula = distances.ways(job.network, root, job.copies, job.against)
    sends = transmissions(job.messages * ways, f"M {formula}", _source(job))
    if job.model.combining:
        return [sends, *_reach(job, root)]
    ports = _through(job, root)
    more = [] if job.quick else personal.of_scatter(job, root)
    if job.model.half_port:  # each send keeps two nodes busy
        more.append(work(job, sends))
    return [sends, ports, *(bound for bound in more if bound.value > ports.value)]


@bounds_of("reduce-broadcast")
def _reduce_broadcast(job: Job, root: int) -> list[Bound]:
    """No finished sum leaves the root before a first one is complete, and the last one has yet to be broadcast.

    Sums and finished sums are different chunks, so the sends of both halves add up.
    """
    said = "each node but the root sends and receives M sums"
    sends = transmissions(2 * job.messages * job.hearers, f"2 M {job.spelled_hearers}", said)
    return [
        sends,
        *([] if job.model.combining else [work(job, sends), _of_one_node(job), *by_parts(job, job.messages, "M")]),
        _both(_told(job.single.reversed, root), _told(job, root), "reduce of one sum + broadcast"),
        _both(_told(job.reversed, root), _told(job.single, root), "reduce + broadcast of one sum"),
    ]


# --- every node ---


@bounds_of("allgather")
def _allgather(job: Job, root: int) -> list[Bound]:
    """Each node receives the data of a gather to it, nodes together likewise; the data of each spreads as in a broadcast."""
    sends = faults.heard(job, job.network.rank_count)
    if job.model.combining:
        return [sends, *_gossip(job)]
    found = [sends, _through_any(job.reversed), work(job, sends)]
    found += one_port.serving(job, one_port.all_to_all_ranks)
    if job.quick:
        return found
    spread = [best(broadcast(job, v), "steps") for v in _spreading_late(job)]
    return [*found, best(spread, "steps"), *cuts.into_cuts(job)]


def _spreading_late(job: Job) -> Sequence[int]:
    """Return which of the nodes that are looked at has the greatest of the bounds of ``_broadcast``; all where faults count.

    That bound is then made as for any node: the count here only picks the node.
    """
    network, nodes = job.network, distances.looked_at(job.network)
    if len(nodes) == 1 or job.faults:
        return nodes
    far, ports = distances.from_each(network), _ports_of(job, nodes)
    away: Ints = far[:, network.ranks].max(axis=1).reshape(-1, 1)
    value: Ints = -(-job.total // ports) + away.ravel() - 1
    if job.model.ports == "one":
        value = np.maximum(value, job.messages - 1 + job.others.bit_length())
    else:
        across, into = distances.arcs_across(network)[0][:, 1:], distances.degrees(network.reversed())[network.ranks]
        room = np.where(np.arange(len(across[0])) < away, across, network.arcs)
        value = np.maximum(value, (-(-job.total // room) + away - 1).max(axis=1))
        value = np.maximum(value, (-(-job.total // np.maximum(1, into)) + far[:, network.ranks] - 1).max(axis=1))
    return [nodes[int(value.argmax())]]


def _gossip(job: Job) -> list[Bound]:
    """Where messages combine all nodes hear of all, so one source gives the bound; with odd N a node idles in the first step."""
    found = [b for v in distances.looked_at(job.network) for b in (*_reach(job, v), *faults.delays(job, v))]
    in_pairs = job.model.partner == "same" and job.model.ports == "one"
    if in_pairs and job.network.rank_count % 2 and job.network.relays is None:
        value = job.others.bit_length() + 1
        found.append(steps(value, "⌈log2 N⌉ + 1, N odd", "one node has no partner in the first step"))
    return [best([b for b in found if b.formula == formula], "steps") for formula in sorted({b.formula for b in found})]


@bounds_of("alltoall")
def _alltoall(job: Job, root: int) -> list[Bound]:
    """Each node scatters, and each node gathers."""
    ways, formula = distances.ways_of_all(job.network, job.copies, job.against)
    sends = transmissions(job.messages * ways, f"M {formula}", _source(job))
    if job.model.combining:
        return [sends, *_gossip(job)]
    found = [best([_through_any(job), _through_any(job.reversed)], "steps"), work(job, sends)]
    found += one_port.serving(job, one_port.one_to_each_rank)
    known, more = best(found, "steps").value, flight.of_alltoall(job) + ([] if job.quick else personal.of_alltoall(job))
    return [sends, *found, *(bound for bound in more if bound.value > known)]


@bounds_of("allreduce")
def _allreduce(job: Job, root: int) -> list[Bound]:
    """The contributions of a node to the M N sums reach all others, as in a broadcast, and theirs reach it, as in a reduce.

    A sum takes 2 (N - 1) sends: N - 1 until somebody, a relay perhaps, first has all of it, then one to each other node.
    """
    every = replace(job, messages=job.messages * job.network.rank_count)
    said = "to add up each sum, and to tell all others"
    sends = transmissions(2 * every.messages * job.others, "2 M N (N - 1)", said)
    if job.model.combining:
        return [sends, *_gossip(job), *_by_owners(job, every)]
    parts = _of_one_node(every)
    parts = replace(parts, formula=parts.formula.replace("M x", "M N"))
    parts = [parts, work(job, sends), *one_port.serving(every, one_port.sums)]
    return [sends, *parts, *by_parts(job, every.messages, "M N"), *_by_owners(job, every)]


def _of_one_node(job: Job) -> Bound:
    """Return the bound by the contributions of one node to all sums, or of the others."""
    spread, one = list[Bound](), int(job.network.ranks[0])
    for some in (job, job.reversed):
        spread += [bound for v in _spreading_late(some) for bound in broadcast(some, v)]
        spread += [] if job.quick else cuts.before_a_rank(some, one)
    found = best(spread, "steps")
    return replace(found, source=f"contributions of one node to all sums, or of the others: {found.source}")


def _by_owners(job: Job, every: Job) -> list[Bound]:
    """Return the bounds where a sum is complete at one node, its owner, before any node receives it; ``every``: of all sums.

    The owner may be any node, a relay too. No finished sum is under way before a first one is complete, nor is a contribution
    once the last one has yet to be broadcast. Contributions and finished sums each pass the relays that whatever all hear passes.
    """
    formula, half = f"M N {job.spelled_hearers}", every.messages * job.hearers
    sends = transmissions(2 * half, f"2 {formula}", "as a reduce-broadcast of each sum")
    found = [sends] if job.hearers > job.others else []
    if job.network.nodes <= distances.LOOKED_AT or job.network.seen_alike:  # every owner can be looked at
        owners = [0] if job.network.seen_alike else far_and_back(job.network, range(job.network.nodes))[0].tolist()
        both_ways = job.single.reversed, job.single
        there, back = ([best(_told(some, v), "steps").value for v in owners] for some in both_ways)
        found.append(steps(min(map(add, there, back)), "reduce + broadcast of one sum", "by way of the nearest owner"))
        if not job.model.combining:
            busy = -(-half // job.room)
            found += [
                steps(min(there) + busy, f"reduce of one sum + ⌈{formula} / {job.room:,}⌉", _LATER),
                steps(min(back) + busy, f"⌈{formula} / {job.room:,}⌉ + broadcast of one sum", _LATER),
            ]
    if job.hearers > job.others and not job.model.combining:
        found.append(work(job, sends))
    return [replace(bound, given="if each sum has an owner") for bound in found]


# --- shared by proofs ---


def _reach(job: Job, node: int) -> list[Bound]:
    """Where messages combine, any number of chunks go in a step, so distance counts, and with one port doubling."""
    found = [steps(job.network.eccentricity(node), "eccentricity", "a chunk goes one arc a step")]
    if job.model.ports == "one":
        found.append(steps(job.others.bit_length(), "⌈log2 N⌉", "informed nodes at most double"))
    return found


def _through(job: Job, node: int) -> Bound:
    """Mx chunks for each of the nodes at distance δ and beyond leave ``node``, the last of them in step ⌈…⌉ - 1 or later.

    It has δ arcs to go. With the arcs turned round, a chunk from there arrives in step δ - 1 or later.
    """
    value, nodes_at, at = past_ports(job, node, distances.levels(job.network, node)[1:])
    if at == 1:
        return steps(value, "⌈M x (N - 1) / ports⌉", "all that leaves, or reaches, one node")
    formula = f"⌈M x {nodes_at:,} / ports⌉ + {at - 1:,}"
    return steps(value, formula, f"{nodes_at:,} nodes are {at:,} or more arcs from one node")


def past_ports(job: Job, node: int, levels: Sequence[int]) -> tuple[int, int, int]:
    """Return the greatest ⌈chunks for distance δ and beyond / ports⌉ + δ - 1 of any δ, how many those are, and δ.

    ``levels``: how many are for distance 1, 2, …, M x times over.
    """
    ports, left, worst = job.ports(node), sum(levels), (0, 0, 1)
    for distance, count in enumerate(levels, 1):
        if left and (needed := -(-job.total * left // ports) + distance - 1) > worst[0]:
            worst = needed, left, distance
        left -= count
    return worst


def _through_any(job: Job) -> Bound:
    """Return the greatest of these for all nodes that are looked at."""
    nodes = distances.looked_at(job.network)
    if len(nodes) == 1:
        return _through(job, nodes[0])
    beyond = distances.ranks_beyond(job.network)
    needed = np.ceil(job.total * beyond / _ports_of(job, nodes).reshape(-1, 1)) + np.arange(len(beyond[0]))
    return _through(job, nodes[int(np.where(beyond > 0, needed, 0).max(axis=1).argmax())])


def _ports_of(job: Job, nodes: Sequence[int]) -> Ints:
    """Return how many chunks can leave each of some nodes in a step: int64."""
    if job.model.ports == "one":
        return np.ones(len(nodes), np.int64)
    return distances.degrees(job.network)[np.array(nodes)]


def work(job: Job, sends: Bound) -> Bound:
    """No step has more sends than the network has room for."""
    return steps(-(-sends.value // job.room), f"⌈{sends.formula} / {job.room:,}⌉", "all sends, by those of a busy step")


_LATER = "no finished sum leaves its owner before a sum is complete"


def _both(first: list[Bound], second: list[Bound], formula: str) -> Bound:
    """Return the bound of two things of which the second begins when the first is over."""
    return steps(best(first, "steps").value + best(second, "steps").value, formula, _LATER)


def _source(job: Job) -> str:
    if job.copies == 1:
        return "a chunk goes as many arcs as its node is far"
    return "disjoint paths leave over different arcs, nearer or not"


@bounds_of("multicast")
def _multicast(job: Job, root: int) -> list[Bound]:
    """The root's ports let out the last chunk late, and it goes one arc a step.

    With faults to survive each chunk crosses f + 1 links of every target, as in ``faults.heard``.
    """
    targets = np.array(job.collective.targets if job.collective else ())
    count, far = len(targets), int(job.network.distance(root, targets).max())
    begun = 0 if job.model.combining else -(-job.total // job.ports(root)) - 1
    late = job.faults if job.model.ports == "one" else 0
    sends = transmissions(job.total * count, "M x targets", "every target receives every chunk, x times")
    if job.faults:
        links, said = max(count, -(-(job.faults + 1) * (count + 1) // 2)), "over f + 1 links of root and targets"
        sends = transmissions(job.messages * links, "M max(targets, ⌈(f + 1)(targets + 1) / 2⌉)", said)
    formula = "⌈M x / ports⌉ - 1 + distance of the farthest target"
    return [steps(begun + late + far, f"f + {formula}" if late else formula, "the root's ports"), sends]
