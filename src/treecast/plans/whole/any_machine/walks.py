"""Collectives of many ranks past relays, around a walk that comes to all of them, and over its skips.

The walk goes around a tree of the relays (networks/past_relays.py), so all ranks can send to the next one at once. In an
allgather each sends on the chunk it got last: the turn of the walk carries the rows of one rank to all others.

Where a link or a port carries one way in a step, ranks send in turns: each all that comes past it, a chunk in every round of
turns, as one row. Turns are like colours. Each link has two routes, one into the ranks below it and one out, and as chords of
the circle of routes no two links cross. So three turns are enough (such graphs are outerplanar), and two where there is an even
number of ranks, and an odd one below each link.

Where messages combine, all blocks go up a tree to one rank, and all that others lack goes down.

A broadcast goes down a tree of some *strides*, powers of two: the rank p places behind the root hears from the one s places
before it, s the largest stride that divides p. One stride makes a chain, two a chain of chains, all of them a binomial tree.

**Theorem.** At most k routes of the tree of k strides cross a link of the walk's tree the same way. *Proof.* The ranks that s
divides are some of the leaves, in their order on the walk. So the routes between them go around the same tree, and share
nothing. ∎ So M messages take about k M + k N^(1/k) steps. **Theorem.** One message takes at most 2 ⌈log2 N⌉ steps down a binomial
tree, on any relays. *Proof.* The ranks below a link are one part of the walk, and the routes of a step are within parts that do
not overlap. So those that cross the link into its ranks are over the beginning or the end of these: there are two. ∎
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.traits import all_to_all, one_to_all
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.past_relays import PastRelays
from treecast.plans.built import Built, Job, rows_between, rows_over
from treecast.plans.registry import builder
from treecast.plans.search import best_of
from treecast.plans.times.period import Repeated, periods, repeated
from treecast.plans.times.timetable import Timed, listed, soonest, there_and_back
from treecast.plans.ways.trees.packed import tree_set
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.any_machine.known import least_steps
from treecast.plans.whole.one_port.models import at_once
from treecast.ragged import places, starts
from treecast.schedule import Claims, Payloads
from treecast.takes import Takes, takes

_STRIDES = (1, 2, 3, 4)  # how many are tried, beside all
_MOST_RANGES = 2**22  # of chunks, in all payloads


def _no_walk(job: Job[PastRelays]) -> str:
    return "" if len(job.network.walk) else "is for more ranks than routes past relays join one by one"


def _fits_at_once(job: Job[PastRelays]) -> str:
    return _no_walk(job) or at_once(job)


_ON_WALKS: dict[str, Any] = {"on": PastRelays, "walks": True, "under": (), "any_model": True, "alike": True}


@builder(
    "walk",
    all_to_all,
    fits=_fits_at_once,
    summary="to the next rank on a walk around a tree of the relays, all at once: many ranks, in the rows of one",
    **_ON_WALKS,
)
def all_at_once(job: Job[PastRelays]) -> Built:
    """Full duplex, where a message is one chunk: M (N - 1) steps, the fewest over one link a rank; an orbit."""
    others, messages = job.network.nodes - 1, job.collective.messages
    pace, around = max(messages, job.model.latency), _around(job.network, 0)
    table, step = Payloads.of_ranges([0], [messages]), np.arange(others) * pace
    rows = rows_between(job.network, table, step, around[:-1], around[1:], steps=messages, tree=0, payload=0)
    steps = (others - 1) * pace + messages + job.model.latency - 1
    return Built(rows, Claims(steps, messages * others * job.network.nodes))


def _fits(job: Job[PastRelays]) -> str:
    if (reason := _no_walk(job)) or not job.collective.all_source:
        return reason
    if not at_once(job):
        return "is for one root, or where not all can send at once"
    runs = np.count_nonzero(np.diff(job.network.walk) != 1) + 1
    if runs * job.network.nodes > _MOST_RANGES:
        return f"lists {runs:,} ranges of chunks for each rank, and {_MOST_RANGES:,} at most"
    return ""


@builder(
    "walk",
    one_to_all,
    all_to_all,
    fits=_fits,
    orbit=False,
    summary="along a walk around a tree of the relays, by strides or in turns: many ranks, in few rows",
    **_ON_WALKS,
)
def in_turns(job: Job[PastRelays]) -> Built:
    """Any machine: a broadcast of one message takes 2 ⌈log2 N⌉ steps at most, and of many about k M + k N^(1/k), the least of
    some k.

    An allgather takes 2 M (N - 1) steps with half duplex, or 3 M (N - 1); where messages combine, as many as a gather and a
    broadcast.
    """
    if job.collective.all_source and not job.model.combining:
        return _streams(job)
    least = least_steps(job)
    attempts = _there_and_back(job, least) if job.collective.all_source else _broadcasts(job, least)
    found = best_of(attempts, lambda each: each.cost, least)
    return found.built() if isinstance(found, Timed) else found.built(job.collective)


def _streams(job: Job[PastRelays]) -> Built:
    """Return the rows of an allgather in which each rank sends all that comes past it to the one before, in a turn of its own."""
    network, messages, machine = job.network, job.collective.messages, job.model
    place, others = np.arange(network.nodes), network.nodes - 1
    # 1. The turns: the walk backwards, so that blocks come in the order of the walk.
    arc = arcs_of(network).number(network.walk, network.port_between(network.walk, np.roll(network.walk, 1)))
    begin = _turns(takes(machine, network), arc)
    # 2. A block is sent on when it is there.
    late = int((np.roll(begin, -1) - begin).max()) + machine.latency
    pace = max(int(begin.max()) + 1, -(-late // messages))
    last = (others * messages - 1) * pace
    table = _windows(network.walk, place, 0 * place + others, messages)
    rows = rows_over(network, table, begin, arc, steps=last + 1, tree=0, payload=place)
    return Built(rows, Claims(last + int(begin.max()) + machine.latency, messages * others * network.nodes))


def _turns(wanted: Takes, arc: Ints) -> Ints:
    """Return the turn of each rank, from 0, in which it sends over its arc of the walk: int64 (N,)."""
    # 1. Two arcs that take the same are in each other's way.
    taken = wanted.resource[arc]
    order = np.argsort(taken, axis=None, kind="stable")
    ranked, at = taken.reshape(-1)[order], order // taken.shape[1]
    same = (ranked[1:] == ranked[:-1]) & (wanted.room[ranked[1:]] == 1)
    one, other = at[:-1][same], at[1:][same]
    if ((one - other) % 2).all():
        return np.arange(len(arc)) % 2
    # 2. Whoever has two others in its way, or fewer, goes; the last to go is the first to choose.
    left = [set[int]() for _ in arc]
    for u, v in list[tuple[int, int]](zip(one.tolist(), other.tolist(), strict=True)):
        left[u].add(v)
        left[v].add(u)
    gone, turn = [u for u, others in enumerate(left) if len(others) <= 2], np.zeros(len(arc), np.int64)
    for u in gone:
        for v in left[u]:
            left[v].discard(u)
            if len(left[v]) == 2:
                gone.append(v)
    for u in reversed(gone):
        turn[u] = min({0, 1, 2} - {int(turn[v]) for v in left[u]})
    return turn


def _there_and_back(job: Job[PastRelays], least: int) -> Iterator[Timed]:
    """Yield allgathers of messages that combine: up a tree of strides each rank sends what is below it, and down all the rest."""
    network, messages, machine = job.network, job.collective.messages, job.model
    arcs, around, place = arcs_of(network), network.walk, np.arange(1, network.nodes)
    for up, below in _strided(network, int(around[0])):
        # 1. The hops up, and behind them those down, both by the places of the lower ranks.
        down = up[around[1:]].astype(np.int64)
        above = np.argsort(around)[arcs.tail[down]]
        back = arcs.number(around[1:], network.port_between(around[1:], around[above]))
        begin, count = np.concatenate([place, place + below]), np.concatenate([below, network.nodes - below])
        table = _windows(around, begin, count, messages)
        # 2. Up waits for all below, down for what comes from above; from the first rank on for all.
        inner, top = np.flatnonzero(above), np.flatnonzero(above == 0)
        before = [inner, len(place) + above[inner] - 1, np.repeat(top, len(top))]
        after = [above[inner] - 1, len(place) + inner, len(place) + np.tile(top, len(top))]
        hops, none = np.arange(2 * len(place)), np.zeros(2 * len(place), np.int64)
        pairs = np.concatenate(before), np.concatenate(after)
        ways = Ways(network, np.concatenate([back, down]), hops, table, none, none, *pairs)
        yield there_and_back(listed(ways, machine, [soonest(ways, machine)]), least=least)


def _windows(around: Ints, begin: Ints, count: Ints, messages: int) -> Payloads:
    """Return payloads of the blocks of some ranks each, from one place of the walk on, and on from its start behind its end."""
    twice, stop = np.tile(around, 2), begin + count
    fresh = np.append(np.flatnonzero(np.diff(twice, prepend=-2) != 1), len(twice))
    low = np.searchsorted(fresh, begin, side="right")
    pieces = np.searchsorted(fresh, stop) - low + 1
    which, part = np.repeat(np.arange(len(begin)), pieces), places(pieces)
    first = np.where(part, fresh[low[which] + part - 1], begin[which])
    last = np.minimum(fresh[low[which] + part], stop[which]) - 1
    return Payloads(starts(pieces), twice[first] * messages, (twice[last] + 1) * messages)


def _around(network: PastRelays, root: int) -> Ints:
    """Return the ranks as the walk comes to them, a root first."""
    return np.roll(network.walk, -int(np.flatnonzero(network.walk == root)[0]))


def _broadcasts(job: Job[PastRelays], least: int) -> Iterator[Timed | Repeated]:
    network, root, messages, machine = job.network, job.collective.root, job.collective.messages, job.model
    together = messages if machine.combining else 1
    for up, _ in _strided(network, root):
        ways = Ways.of_trees(network, [(tree_set(network, root, up[None]), [[(0, together)]])])
        if messages == together:
            yield there_and_back(listed(ways, machine, [soonest(ways, machine)]), least=least)
        else:
            small = job.of(1).collective
            yield from (repeated(each, small, messages, machine.latency) for each in periods(ways, machine))


def _strided(network: PastRelays, root: int) -> Iterator[tuple[NDArray[np.int32], Ints]]:
    """Yield trees of all strides, and of few that are about as many times each other: the arc into each rank, int32 (N,), and
    how many ranks are below those at the places from 1 on, themselves included, int64 (N - 1,).
    """
    around, place, arcs = _around(network, root), np.arange(1, network.nodes), arcs_of(network)
    skips = np.sort(np.argsort(around)[network.neighbors(root)])
    skips = skips[skips & (skips - 1) == 0]
    every = [np.unique(skips[np.arange(many) * len(skips) // many]) for many in _STRIDES if many < len(skips)]
    for strides in [skips, *every]:
        which = (place[:, None] % strides == 0).cumsum(axis=1).argmax(axis=1)
        next_up = np.append(strides, network.nodes)[which + 1]
        u, v = around[place - strides[which]], around[place]
        up = np.full(network.nodes, -1, np.int32)
        up[v] = arcs.number(u, network.port_between(u, v))
        yield up, np.minimum(place // next_up * next_up + next_up, network.nodes) - place
