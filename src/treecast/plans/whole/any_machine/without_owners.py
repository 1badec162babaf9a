"""Allreduce without owners: partial sums meet and are exchanged, and no node completes a sum for all others.

Communication model: any in which nodes keep the chunks that they relay; of recursive doubling, messages combine and links carry
both ways at once.

Where a sum has an owner, all contributions reach it before anybody hears of the sum: the eccentricity of a node, twice. But the
two ends of a link may exchange the sums of the two halves of the nodes, in one step, and both know the sum. So with h arcs at
most to the nearer end a sum takes 2h + 1 steps: one less than by way of a node, on even rings, hypercubes and even tori. An
even ring of N nodes takes N - 1 steps, the fewest there can be: 2 (N - 1) sends of N sums over 2N arcs. A link of half duplex
exchanges nothing in a step. There each sum is complete at some node first, from which no node is far.

*Recursive doubling* exchanges everything, with the node that differs in one bit after the other. So d steps do for 2^d nodes,
where messages combine (Thakur, Rabenseifner & Gropp 2005). Of other numbers of nodes those beyond 2^d first tell one of them.

Whoever owns a sum is the first to complete it, so a plan of sums with owners holds without them, too: on any network, past relays
and over arcs that lead one way.

Nobody can verify that by one rule for each node: sets of contributions are carried along, and two that meet share none.
"""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.collectives.collective import NO_OWNERS
from treecast.collectives.traits import blocks_of_sums_for_all
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import best, bounds
from treecast.networks import Network
from treecast.networks.arcs import Arcs, arcs_of, far_apart
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_between, rows_over
from treecast.plans.choice import build
from treecast.plans.entries import builders, fitting
from treecast.plans.registry import Builder, Option, any_machine, builder
from treecast.plans.search import best_of
from treecast.plans.times.timetable import Timed, listed
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.schedule import Claims, Payloads
from treecast.takes import Takes, takes

_MOST_NODES, _MOST_HOPS, _TRIES = 256, 2**18, 12
_MOST_TREES = 2**8  # where each chunk has a tree of its own
_ASKED = Option(
    name="without-owners",
    summary="Partial sums are exchanged where they meet, and no rank owns a sum: it may take fewer steps.",
    flag=True,
)
_SHARED: dict[str, Any] = {"options": (_ASKED,), "needs": _ASKED.keyword}


def _no_halves(job: Job[Network]) -> str:
    network = job.network
    if network.relays is not None or not network.both_ways or network.rank_count < 2:
        return "is for two ranks or more without relays, joined both ways"
    if network.nodes > _MOST_NODES or 2 * _groups(job) * network.nodes > _MOST_HOPS:
        return f"is for few messages on networks of up to {_MOST_NODES:,} nodes"
    return ""


def _groups(job: Job[Network]) -> int:
    """Return into how many groups the sums are divided, which go down a tree each: where messages combine, one."""
    if job.model.combining:
        return 1
    every = job.collective.sums
    return every if every <= _MOST_TREES else job.network.nodes


@any_machine(
    "meeting-halves",
    blocks_of_sums_for_all,
    fits=_no_halves,
    alike=True,
    summary="each sum is added in two halves, which meet at the ends of a link (half duplex: at a node), and goes out from there",
    **_SHARED,
)
def meeting_halves(job: Job[Network]) -> Built:
    """Any machine: the fewest steps of some tries; it is not proved how near the bound this is.

    2 M N (N - 1) transmissions, the fewest there can be.
    """
    known = bounds(replace(job.collective, owners=()), job.network, 1, job.model)
    tables = (
        listed(ways, job.model, keys, wanted=_taken(job))
        for ways in (_grown(job, Random(seed)) for seed in range(_TRIES))
        for keys in ([ways.turn - ways.heights], [-ways.heights], [ways.turn, -ways.heights])
    )
    return _built(job, best_of(tables, lambda timed: timed.cost, best(known, "steps").value))


def _grown(job: Job[Network], chance: Random) -> Ways:
    """Return trees of all groups, each around a link, or a node of half duplex, over arcs that are little used so far.

    Where the network looks alike from all nodes they are translates of one, in which ports are used alike.
    """
    network, arcs, groups = job.network, arcs_of(job.network), _groups(job)
    far, centres = _centres(job)
    tail, head, port, back = arcs.tail.astype(np.int64), arcs.head.astype(np.int64), arcs.port, _back(network, arcs)
    alike = network.seen_alike and groups > 1
    kind = port if alike else np.arange(len(tail))
    load, trees = np.zeros(int(kind.max()) + 1, np.int64), list[tuple[Ints, Ints, Ints]]()
    for _ in range(1 if alike else groups):
        ends, middle, down = _tree(job, far, centres, load[kind] + load[kind[back]], chance)
        used = np.concatenate([middle, down])
        np.add.at(load, kind[used], 1)
        np.add.at(load, kind[back[used]], 1)
        waits = _hops(network.nodes, ends, tail[down], head[down])
        trees.append((np.concatenate([back[down[::-1]], middle, down]), *waits))
    if alike:
        (arc, before, after), blocks = trees[0], np.arange(groups) * network.nodes // groups
        trees = [(arcs.number(network.translate(v, tail[arc]), port[arc]), before, after) for v in blocks.tolist()]
    hops, size = len(trees[0][0]), job.collective.sums // groups
    place, group = np.tile(np.arange(hops), groups), np.repeat(np.arange(groups), hops)
    arc, before, after = (np.concatenate(column) for column in zip(*trees, strict=True))
    own = np.repeat(np.arange(groups) * hops, [len(tree[1]) for tree in trees])
    first = np.arange(2 * groups) * size
    return Ways(
        network,
        arc + len(tail) * ((place == network.nodes - 2) & (hops % 2 == 1)),  # a link in the middle goes both ways
        group + groups * (place > network.nodes - 2),
        Payloads.of_ranges(first, first + size),
        np.full_like(arc, -1),
        group,
        before + own,
        after + own,
    )


def _centres(job: Job[Network]) -> tuple[Ints, Ints]:
    """Return all distances, and where contributions to a sum may meet: from there no node is far.

    They are numbers of arcs, one for each link, if links carry both ways at once; else of nodes.
    """
    network, arcs, half = job.network, arcs_of(job.network), job.model.duplex == "half"
    far = far_apart(network)
    depth = far.max(axis=1) if half else np.minimum(far[arcs.tail], far[arcs.head]).max(axis=1)
    return far, np.flatnonzero((depth == depth.min()) & (half or arcs.tail < arcs.head))


def _tree(job: Job[Network], far: Ints, centres: Ints, load: Ints, chance: Random) -> tuple[Ints, Ints, Ints]:
    """Return the nodes of a centre, the arc between them, and an arc down to each other node, nearest first: of least load."""
    arcs, load, half = arcs_of(job.network), load.copy(), job.model.duplex == "half"
    shares = np.bincount(arcs.tail, load, len(far)) if half else load
    at = min(centres.tolist(), key=lambda c: (shares[c], chance.random()))
    ends = np.array([at] if half else [arcs.tail[at], arcs.head[at]], np.int64)
    away = far[ends].min(axis=0)
    down, order = list[int](), sorted(np.flatnonzero(away).tolist(), key=lambda v: (away[v], chance.random()))
    for v in order:
        near = [a for a in arcs.entering[arcs.into[v] : arcs.into[v + 1]].tolist() if away[arcs.tail[a]] < away[v]]
        down.append(min(near, key=lambda a: (load[a], chance.random())))
        load[down[-1]] += 1
    return ends, np.full(len(ends) - 1, at), np.array(down, np.int64)


def _hops(nodes: int, ends: Ints, above: Ints, below: Ints) -> tuple[Ints, Ints]:
    """Return pairs of hops of a tree, of which one waits for the other: up from the farthest, over the link, and down.

    Without a link, the messages that leave the one node in the middle wait for all that enter it.
    """
    one, link = int(ends[0]), np.zeros(len(ends) - 1, np.int64)
    above = np.where(np.isin(above, ends), one, above)
    # sends from the one node wait for all contributions to it, those from others for the finished sum
    told = np.where((above == one) & (len(link) == 0), one, nodes + above)
    brings = np.concatenate([above[::-1], nodes + one + link, nodes + below])
    return pairs_of(brings, np.concatenate([below[::-1], one + link, told]))


def _taken(job: Job[Network]) -> Takes:
    """Return the table of the machine, and behind its arcs two sends over both arcs of each link."""
    wanted, arcs = takes(job.model, job.network), arcs_of(job.network)
    back, every = _back(job.network, arcs), np.arange(len(arcs.tail))[:, None]
    alone = every + np.zeros_like(wanted.resource)  # behind a single arc stands a resource of its own alone
    resource, key = (
        np.concatenate([np.hstack([each, alone + more]), np.hstack([each, each[back]])])
        for each, more in ((wanted.resource, wanted.resources), (wanted.key, 0))
    )
    room = np.concatenate([wanted.room, np.ones_like(every[:, 0])])
    gap, delay = (np.tile(column, 2) for column in (wanted.gap, wanted.delay))
    return wanted._replace(resource=resource, key=key, room=room, gap=gap, delay=delay)


def _back(network: Network, arcs: Arcs) -> Ints:
    """Return the number of the arc back of each arc."""
    return arcs.number(arcs.head, network.back(arcs.tail, arcs.port))


def _built(job: Job[Network], timed: Timed) -> Built:
    """Return the rows: a hop over both arcs of a link is two of them."""
    arcs, ways = arcs_of(job.network), timed.ways
    count = len(arcs.head)
    both = np.flatnonzero(ways.arc >= count)
    hop = np.concatenate([np.arange(len(ways)), both])
    arc = np.concatenate([ways.arc % count, _back(job.network, arcs)[ways.arc[both] - count]])
    steps = 1 if job.model.combining else ways.lengths[hop]
    more = {"steps": steps, "tree": ways.tree[hop], "payload": ways.payload[hop]}
    rows = rows_over(job.network, ways.payloads, timed.step[hop], arc, **more)
    return Built(rows, Claims(timed.steps, int(ways.lengths[hop].sum())), _shared(job))


def _shared(job: Job[Any]) -> Collective:
    """Return the collective whose sums nobody owns; one rank alone owns its own."""
    return replace(job.collective, owners=NO_OWNERS if job.network.rank_count > 1 else ())


def _with_owners(job: Job[Any]) -> tuple[Job[Any], list[Builder]]:
    """Return the same job of sums with owners, and the builders that can do it."""
    owned = replace(job, options={}, likeness=None)
    return owned, fitting(builders(job.collective.kind, job.network), owned)


def _none_with_owners(job: Job[Any]) -> str:
    return "" if _with_owners(job)[1] else "takes a plan of sums with owners, and there is none"


@any_machine(
    "meeting-halves",
    blocks_of_sums_for_all,
    fits=_none_with_owners,
    summary="the best plan of sums with owners, which holds without them, too",
    **_SHARED,
)
def owned_sums(job: Job[Any]) -> Built:
    """Any machine: the schedule of the best builder of sums with owners. It is not proved how near the bound this is."""
    try:
        owned = build(*_with_owners(job)).plain()
    except ScheduleError as error:  # an orbit that is too long to be written out
        raise PlanError(f"{error}: with owners there is a plan, without --{_ASKED.name}") from None
    return Built(owned.rows, Claims(owned.steps, owned.transmissions), _shared(job))


def _by_bits(network: Network) -> str:
    return "" if network.flips_bits or network.every_pair_joined else "needs a hypercube, or all pairs joined"


def _claims(job: Job[Network]) -> Claims:
    nodes, sums = job.network.nodes, job.collective.sums
    bits = nodes.bit_length() - 1
    beyond = nodes - (1 << bits)
    return Claims(bits + 2 * (beyond > 0), sums * ((bits << bits) + 2 * beyond))


@builder(
    "recursive-doubling",
    blocks_of_sums_for_all,
    on=_by_bits,
    under=("whispering", "one-port,combining"),
    claims=_claims,
    orbit=False,
    summary="all that has been added so far is exchanged with the node that differs in one bit after the other",
    **_SHARED,
)
def recursive_doubling(job: Job[Network]) -> Built:
    """Combining: all sums of N = 2^d nodes in d steps, the fewest there can be over one port; else in ⌊log2 N⌋ + 2 steps."""
    network, sums, claims = job.network, job.collective.sums, _claims(job)
    bits = network.nodes.bit_length() - 1
    few = np.arange(1 << bits)
    beyond = np.arange(1 << bits, network.nodes)
    late = int(len(beyond) > 0)
    parts = [(beyond * 0, beyond, beyond - len(few), beyond * 0)]
    parts += [(few * 0 + late + bit, few, few ^ (1 << bit), few * 0) for bit in range(bits)]
    parts.append((beyond * 0 + claims.steps - 1, beyond - len(few), beyond, beyond * 0 + 1))
    step, src, dst, finished = (np.concatenate(column) for column in zip(*parts, strict=True))
    used, payload = np.unique(finished, return_inverse=True)
    table = Payloads.of_ranges(used * sums, (used + 1) * sums)
    rows = rows_between(network, table, step, src, dst, steps=1, payload=payload.reshape(-1))
    return Built(rows, claims, _shared(job))
