"""Lower bounds where the sends of each arc take a gap and a delay of their own: prices of resources, with windows; distances.

**Theorem (windows).** Let resources have prices y ≥ 0 a step: a send over a costs its gap times the prices of all that it takes.
D is the cost of the cheapest ways of one message of every demand. Let rel(r) be the least time in which data can come to the tail
of an arc that takes r, and tail(r) the least from the end of such a taking until the chunk is at a node that wants it. Then M
messages in x copies take a time T with **Σ y(r) room(r) max(0, T - rel(r) - tail(r)) ≥ M x D**. *Proof.* A send that is of use
begins at rel(r) or later, and its chunk has come to one that wants it by T; so it holds r within that window. All of them
cost M x D at least (first arrivals form ways; see prices.py). ∎

**Theorem (even).** If no gap is below g, and no delay below d, T ≥ g (S - L) + d, where S is any bound of the steps in which
sends take one step each and arrive in L = ⌊d / g⌋. *Proof.* Let a send that begins at t be one of step ⌊t / g⌋. Two that follow
one another over a resource are in different steps, and what arrived in time arrives L steps later or more. So there are S steps
or more: some send begins at g (S - L) or later, and takes d. ∎

Times are whole numbers of any unit. So bounds of seconds are bounds in parts of the shortest gap, all costs rounded down.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treecast.lower_bounds.bound import Bound, tightest
from treecast.lower_bounds.job import Problem, steps
from treecast.lower_bounds.prices import priced
from treecast.models import Model, Ticks
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.kept import kept
from treecast.schedule.costs import Costs
from treecast.takes import takes

_MOST_NODES = 2**9  # of which all distances in time are found
_FAR = 2**60
_FINE = 2**16  # parts of the shortest gap, in bounds of seconds


def evened(machine: Model, network: Network) -> tuple[Model, int, int]:
    """Return the machine on which all sends are as quick as the quickest, in steps of so many gaps each: and that gap and delay.

    >>> from treecast.networks import network
    >>> evened(Model("slow", arcs=[(0, 1, 4, 9), (1, 0, 5, 8)]), network("path:2"))
    (<Model slow: all ports, full duplex, latency 2>, 4, 8)
    """
    table = takes(machine, network)
    gap, delay = int(table.gap.min(initial=_FAR)), int(table.delay.min(initial=_FAR))
    # rounded down, so that a bound of its steps stays one
    return replace(machine, arcs=(), latency=max(1, min(delay // gap, 2**20))), gap, delay


def in_evened(bound: Bound, late: int, gap: int, delay: int) -> Bound:
    """Return a bound of steps under the evened machine, where chunks arrive in ``late`` of them, as one in real steps."""
    if bound.of not in ("steps", "told") or not bound.value:
        return bound
    # the last chunk leaves in step value - late at the soonest, and arrives the least delay later
    value = max(0, gap * (bound.value - late) + delay)
    return replace(bound, value=value, formula=f"{gap:,} ({bound.formula} - {late:,}) + {delay:,}", certificate=())


def by_rates(job: Problem, known: Sequence[Bound]) -> list[Bound]:
    """Return the bounds of a job by prices with windows, and by distances, that are above those known."""
    table, far = takes(job.model, job.network), None
    if job.network.nodes <= _MOST_NODES:
        far = times_apart(job.network, job.model)
    found = [*_by_distance(job, far), *_by_windows(job, table.delay - table.gap, far), *_by_doors(job, far)]
    return [bound for bound in found if bound.value > tightest(known, "steps").value]


def least_seconds(job: Problem, costs: Costs, block: int) -> float:
    """Return a time that no schedule beats which carries blocks of so many bytes at unlike costs, in chunks however long.

    Each block keeps what its sends take for one overhead and all its bytes at least, and what is under way takes the start-up
    times of its arcs: theorem (windows), in parts of the shortest gap, all rounded down.
    """
    arcs = arcs_of(job.network)
    tail, head = arcs.tail.astype(np.int64), arcs.head.astype(np.int64)
    gap, _ = costs.seconds(tail, head, float(block))
    busy, late = costs.seconds(tail, head, 0.0)
    unit = float(gap.min()) / _FINE
    # a little less than the quotient, so that no rounding makes a bound too large
    whole = np.maximum(np.floor(gap / unit * (1 - 1e-9)), 1).astype(np.int64)
    fat = replace(job.model, arcs=tuple(map(Ticks, tail.tolist(), head.tolist(), whole.tolist(), whole.tolist())))
    delay, after = (np.floor(each / unit * (1 - 1e-9)).astype(np.int64) for each in (late, late - busy))
    one = replace(job, model=fat, collective=replace(job.collective, messages=1, owners=()))
    far = _apart(job.network, delay) if job.network.nodes <= _MOST_NODES else None
    found = [*_by_distance(one, far), *_by_windows(one, after, far)]
    held = (bound.value for bound in found if not (bound.given and job.collective.shared))  # sums that nobody owns
    return unit * max(held, default=0)


def _by_windows(job: Problem, beyond: Ints, far: Ints | None) -> list[Bound]:
    """Return the bound by prices with windows; ``beyond``: how much longer than its gap a send over each arc takes."""
    if (at := priced(job)) is None or not at.ways:
        return []
    release, after = _windows(job, far)
    begin = np.full(len(at.rooms), _FAR)
    end = begin.copy()
    for column in at.taken.T:
        np.minimum.at(begin, column, release)
        np.minimum.at(end, column, after + beyond)
    value = _until(job.total * at.ways, at.prices * at.rooms, begin + end)
    said = f"cheapest ways cost {at.ways:,}, the sends of a step at most {at.room:,}"
    return [steps(value, f"least T with Σ y (T - window) ≥ M x {at.ways:,}", said, job.given)]


def _until(needed: int, sold: Ints, begin: Ints) -> int:
    """Return the least whole T with Σ sold max(0, T - begin) ≥ needed."""
    order = np.argsort(begin, kind="stable")
    rate = have = 0
    last, time = 0, 0
    # from window to window: how much is sold so far, and how much in each step from here
    for at, more in zip(begin[order].tolist(), sold[order].tolist(), strict=True):
        if have + rate * (at - last) >= needed:
            break
        have, last, rate = have + rate * (at - last), at, rate + more
    if rate:
        time = last - (-(needed - have) // rate)
    return int(time)


@kept(8)
def times_apart(network: Network, machine: Model) -> Ints:
    """Return in how many steps data comes from each node to each other at least: int64 (N, N); 2^60 where no way leads."""
    return _apart(network, takes(machine, network).delay)


def _apart(network: Network, delay: Ints) -> Ints:
    arcs, every = arcs_of(network), np.arange(network.nodes)
    far = np.full((network.nodes, network.nodes), _FAR, np.int64)
    np.minimum.at(far, (arcs.tail, arcs.head), delay)
    far[every, every] = 0
    for w in every:  # Floyd & Warshall
        np.minimum(far, far[:, w, None] + far[w], out=far)
    # sums with a way that is not there are above it
    return np.minimum(far, _FAR)


def _sides(job: Problem) -> tuple[Ints, Ints]:
    """Return the nodes at which data begins, and those that it is for."""
    collective, ranks = job.collective, job.network.ranks
    if collective.demand is not None:
        demand = collective.demand
        return np.unique(demand.holder), np.unique(demand.want)
    if job.kind.all_source or (job.kind.adds and job.kind.results):
        return ranks, ranks
    root = np.array([collective.root], np.int64)
    return (ranks, root) if job.backwards else (root, job.ends)


def _windows(job: Problem, far: Ints | None) -> tuple[Ints, Ints]:
    """Return when data can be at the tail of each arc, and how long it takes from its head to a node that wants it."""
    arcs = arcs_of(job.network)
    if far is None:
        return np.zeros(len(arcs.tail), np.int64), np.zeros(len(arcs.tail), np.int64)
    gives, wants = _sides(job)
    return far[gives].min(axis=0)[arcs.tail], far[:, wants].min(axis=1)[arcs.head]


def _by_distance(job: Problem, far: Ints | None) -> list[Bound]:
    """Return how long the farthest data is under way; of sums with owners, by the way of the best owner."""
    if far is None or job.collective.demand is not None or job.collective.lengths is not None:
        return []
    gives, wants = _sides(job)
    if job.kind.adds and job.kind.results:
        owners = np.arange(job.network.nodes) if job.kind.all_source else np.array([job.collective.root])
        value = int((far[np.ix_(gives, owners)].max(axis=0) + far[np.ix_(owners, wants)].max(axis=1)).min())
        return [steps(value, "delays there and back", "by way of the nearest owner", job.given)]
    return [
        steps(int(far[np.ix_(gives, wants)].max()), "delays of the farthest", "a chunk goes one arc after the other")
    ]


def _by_doors(job: Problem, far: Ints | None) -> list[Bound]:
    """Return how long it takes until all chunks have entered a node that wants them all, by its arcs or ports."""
    if job.kind.personal or job.collective.demand is not None or job.collective.lengths is not None or job.backwards:
        return []
    table, arcs, (release, _) = takes(job.model, job.network), arcs_of(job.network), _windows(job, far)
    room = table.room[table.resource].min(axis=1) if job.model.room == 0 else np.ones(len(arcs.tail), np.int64)
    sources = len(_sides(job)[0]) if job.kind.all_source else 1
    owed = job.total * (sources if job.kind.results else max(1, sources - 1))
    worst = 0
    for v in job.ends.tolist():
        into = arcs.entering[arcs.into[v] : arcs.into[v + 1]]
        if v == job.collective.root and not job.kind.all_source:
            continue
        gap, begin = table.gap[into], (release + table.delay - table.gap)[into]
        order = np.argsort(gap, kind="stable")[: job.model.room or None]  # over so many at once, the quickest
        begin = begin if not job.model.room else np.full(len(begin), begin.min(initial=0))
        common = int(np.lcm.reduce(gap[order])) if len(order) and int(gap.max()) < 2**10 else 0
        if common and common < 2**40:
            worst = max(worst, _until(owed * common, room[into][order] * common // gap[order], begin[order]))
    return [steps(worst, "least T until all chunks have entered", "the arcs into one node, as their tails are told")]
