"""Collectives of many ranks past relays, around a walk that comes to all of them, and over its skips.

The walk goes around a tree of the relays (networks/past_relays.py), so all ranks can send to the next one at once. In an
allgather each sends on the chunk it got last: the turn of the walk carries the rows of one rank to all others.

A broadcast goes down a tree of some *strides*, powers of two: the rank p places behind the root hears from the one s places
before it, s the largest stride that divides p. One stride makes a chain, two a chain of chains, all of them a binomial tree.

**Theorem.** At most k routes of the tree of k strides cross a link of the walk's tree the same way. *Proof.* The ranks that s
divides are some of the leaves, in their order on the walk. So the routes between them go around the same tree, and share
nothing. ∎ So M messages take about k M + k N^(1/k) steps. **Theorem.** One message takes at most 2 ⌈log2 N⌉ steps down a binomial
tree, on any relays. *Proof.* The ranks below a link are one part of the walk, and the routes of a step are within parts that do
not overlap. So those that cross the link into its ranks are over the beginning or the end of these: there are two. ∎
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.traits import all_to_all, one_to_all
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.past_relays import PastRelays
from treecast.plans.built import Built, Job, rows_between
from treecast.plans.registry import builder
from treecast.plans.search import best_of
from treecast.plans.times.period import Repeated, periods, repeated
from treecast.plans.times.timetable import Timed, listed, soonest, there_and_back
from treecast.plans.ways.trees.packed import tree_set
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.any_machine.known import least_steps
from treecast.schedule import Claims, Payloads

_STRIDES = (1, 2, 3, 4)  # how many are tried, beside all


def _fits(job: Job[PastRelays]) -> str:
    if not len(job.network.walk):
        return "is for more ranks than routes past relays join one by one"
    half = job.model.half_port or job.model.duplex == "half" or job.model.partner == "same"
    if job.collective.all_source and (half or job.model.combining):
        return "is for links, and ports, of full duplex, where a message is one chunk"
    return ""


@builder(
    "walk",
    one_to_all,
    all_to_all,
    on=PastRelays,
    under=(),
    any_model=True,
    alike=True,
    fits=_fits,
    summary="to the next rank on a walk around a tree of the relays, or by strides along it: many ranks, in few rows",
)
def walk(job: Job[PastRelays]) -> Built:
    """Any machine: M (N - 1) steps of an allgather, the fewest over one link a rank; an orbit.

    A broadcast of one message takes 2 ⌈log2 N⌉ steps at most, and of many about k M + k N^(1/k), the least of some k.
    """
    if not job.collective.all_source:
        least = least_steps(job)
        found = best_of(_broadcasts(job, least), lambda each: each.cost, least)
        return found.built() if isinstance(found, Timed) else found.built(job.collective)
    others, messages = job.network.nodes - 1, job.collective.messages
    pace, around = max(messages, job.model.latency), _around(job.network, 0)
    table, step = Payloads.of_ranges([0], [messages]), np.arange(others) * pace
    rows = rows_between(job.network, table, step, around[:-1], around[1:], steps=messages, tree=0, payload=0)
    steps = (others - 1) * pace + messages + job.model.latency - 1
    return Built(rows, Claims(steps, messages * others * job.network.nodes))


def _around(network: PastRelays, root: int) -> Ints:
    """Return the ranks as the walk comes to them, a root first."""
    return np.roll(network.walk, -int(np.flatnonzero(network.walk == root)[0]))


def _broadcasts(job: Job[PastRelays], least: int) -> Iterator[Timed | Repeated]:
    network, root, messages, machine = job.network, job.collective.root, job.collective.messages, job.model
    together = messages if machine.combining else 1
    for up in _strided(network, root):
        ways = Ways.of_trees(network, [(tree_set(network, root, up[None]), [[(0, together)]])])
        if messages == together:
            yield there_and_back(listed(ways, machine, [soonest(ways, machine)]), least=least)
        else:
            small = job.of(1).collective
            yield from (repeated(each, small, messages, machine.latency) for each in periods(ways, machine))


def _strided(network: PastRelays, root: int) -> Iterator[NDArray[np.int32]]:
    """Yield the arcs into the ranks of trees of all strides, and of few that are about as many times each other: int32 (N,)."""
    around, place, arcs = _around(network, root), np.arange(1, network.nodes), arcs_of(network)
    skips = np.sort(np.argsort(around)[network.neighbors(root)])
    skips = skips[skips & (skips - 1) == 0]
    every = [np.unique(skips[np.arange(many) * len(skips) // many]) for many in _STRIDES if many < len(skips)]
    for strides in [skips, *every]:
        stride = strides[(place[:, None] % strides == 0).cumsum(axis=1).argmax(axis=1)]
        u, v = around[place - stride], around[place]
        up = np.full(network.nodes, -1, np.int32)
        up[v] = arcs.number(u, network.port_between(u, v))
        yield up
