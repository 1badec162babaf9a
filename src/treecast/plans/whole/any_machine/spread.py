"""Plans of any demand, for any machine, step by step: whatever is free carries the rarest chunk that the other end lacks.

A sum runs backwards: from the last step to the first, it goes out from its owner to all that have a contribution to it.
Copies, and finished sums, go forwards. Both are timed together, so that finished sums go out while others come in.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.collectives.traits import all_to_all, of_any_length
from treecast.errors import PlanError
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import ALL_PORT, any_machine, builder
from treecast.plans.search import WORK, affordable, best_of
from treecast.plans.times.timetable import Timed, listed, there_and_back
from treecast.plans.ways.priced_trees import owned_by, owners_of
from treecast.plans.ways.spreading import CHOICE, NEED, RARITY, Exchange, exchanged
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.plans.whole.any_machine.known import least_steps, machines
from treecast.ragged import places
from treecast.schedule import Payloads
from treecast.steps import NEVER
from treecast.takes import Takes, takes

_LOOK, _LOOK_LONGER = 2**3, 2**-2  # units of work for a chunk at an arc in a step; of demands, which nobody else plans
_MOST_AT_ONCE = 2**35  # units of work of one spread for all ports, which takes few steps
_TRIES, _FEW_TRIES = 150, 4  # few where each number of chunks is another machine
_MORE = 1  # steps than the fewest of a spread before: others are not timed


class _Pieces(NamedTuple):
    """What goes as one: the class, first chunk and size of each piece, int64 (pieces,)."""

    of: Ints
    first: Ints
    size: Ints


def _pieces(collective: Collective, *, together: bool) -> _Pieces:
    """Return the pieces of a collective: single chunks, or where messages combine all chunks of a class together."""
    demand, first = collective.classes
    if together:
        return _Pieces(np.arange(len(demand)), first, demand.size)
    of = np.repeat(np.arange(len(demand)), demand.size)
    return _Pieces(of, first[of] + places(demand.size), np.ones_like(of))


def _work(job: Job[Network]) -> int:
    collective, look = job.collective, _LOOK if job.collective.demand is None else _LOOK_LONGER
    pieces = (
        collective.first_blocks if job.model.combining else collective.chunks - collective.sums * collective.results
    )
    return int(look * job.network.arcs * pieces * (pieces + job.network.nodes))


def _fits(job: Job[Network]) -> str:
    at_once = job.model.name == ALL_PORT[0] and _all_to_all(job.collective.traits)
    most = _MOST_AT_ONCE if at_once else WORK
    if _work(job) > most:
        return f"looks at every chunk at every arc in every step: {_work(job):,} units of work, and {most:,} at most"
    return ""


_all_to_all = of_any_length(all_to_all)
_SPREAD: dict[str, Any] = {
    "fits": _fits,
    "summary": "step by step, each free arc sends the rarest chunk that the other end may use; sums backwards; timed anew",
}


@builder("spread", _all_to_all, under=ALL_PORT, any_model=True, orbit=False, **_SPREAD)
@any_machine("spread", lambda kind: not _all_to_all(kind), **_SPREAD)
def spread(job: Job[Network]) -> Built:
    """Any machine: the fewest steps of some spreads, among those that want chunks alone, or among all nodes.

    It is not proved how near the bound this is: each schedule shows it.
    """
    least, several = least_steps(job), [(each, takes(each, job.network)) for each in machines(job.model)]
    demand, _ = job.collective.classes
    if not len(demand):
        return NOTHING
    takes_part = _table(demand.held, job.network, len(demand)) | _table(demand.wanted, job.network, len(demand))
    narrow = (False,) if takes_part[job.network.ranks].all() else (True, False)
    # for all ports each arc is in nobody else's way
    orders = (CHOICE, RARITY, NEED) if job.model.name == ALL_PORT[0] else (RARITY, NEED)
    every = product(range(1, _FEW_TRIES if job.model.arcs else _TRIES), orders, narrow, several)

    def timed() -> Iterator[tuple[Timed, Collective]]:
        fewest = NEVER
        for seed, order, narrow, (machine, wanted) in affordable(every, lambda how: _work(job) // len(several)):
            sent = _sent(job, wanted, seed, order=order, narrow=narrow, together=machine.combining)
            if sent and sent.steps <= fewest + _MORE:  # to time those of many more anew takes longest, and seldom helps
                fewest = min(fewest, sent.steps)
                yield _timed(job, machine, sent, least)

    found, owned = best_of(timed(), lambda each: each[0].cost, least)
    return found.built()._replace(collective=owned)


class _SpreadSends(NamedTuple):
    """What goes as one, who completes each sum, bool (N, pieces), the sends that bring sums there, and the others."""

    pieces: _Pieces
    owners: Ints
    owner: NDArray[np.bool_]
    into: Exchange
    out: Exchange

    @property
    def steps(self) -> int:
        """The steps of both, one after the other."""
        return sum(int(sent.step.max(initial=-1)) + 1 for sent in (self.into, self.out))


def _sent(
    job: Job[Network], wanted: Takes, seed: int, *, order: int, narrow: bool, together: bool
) -> _SpreadSends | None:
    """Return the sends of a spread; None where those alone that want chunks cannot do it."""
    # 1. who gives, wants and completes each piece, and who is to have none of it
    (demand, _), network = job.collective.classes, job.network
    of, *_ = pieces = _pieces(job.collective, together=together)
    owners, is_sum = owners_of(job.collective, network, seed), of < demand.sums
    gives, wants = (_table(pairs, network, len(demand))[:, of] for pairs in (demand.held, demand.wanted))
    owner = np.zeros((network.nodes, len(of)), np.bool_)
    owner[owners[of[is_sum]], np.flatnonzero(is_sum)] = True
    aside = np.zeros_like(gives) if not narrow else ~(gives | wants | owner)
    if narrow and network.relays is not None:
        aside[network.relays] = False
    # 2. the sends that bring sums to their owners, and the others

    def sends(has: NDArray[np.bool_], lacks: NDArray[np.bool_], *, back: bool) -> Exchange:
        sent = exchanged(network, wanted, has, lacks, seed=seed, order=order, together=together, shut=aside, back=back)
        if back:  # in the order of steps, seen backwards
            sent = Exchange(*(column[np.argsort(-sent.step, kind="stable")] for column in sent))
        return sent.take(sent.needed(network, lacks, back=back))

    try:
        into = sends(owner, gives & is_sum & ~owner, back=True)
        has = np.where(is_sum, owner, gives)
        return _SpreadSends(pieces, owners, owner, into, sends(has, wants & ~has, back=False))
    except PlanError:
        if narrow:
            return None
        raise


def _timed(job: Job[Network], machine: Model, sent: _SpreadSends, least: int) -> tuple[Timed, Collective]:
    """Return the times of the sends of a spread, found anew, and the collective with the owners of its sums."""
    owned = owned_by(job.collective, sent.owners)
    delay = takes(machine, job.network).delay
    ways, step = _ways(owned, job.network, sent, delay)
    first = Timed(ways, machine, step, int((step + delay[ways.arc]).max(initial=0)))
    return there_and_back(listed(ways, machine, [step]) if len(sent.into.step) else first, least=least), owned


def _table(pairs: tuple[Ints, Ints], network: Network, classes: int) -> NDArray[np.bool_]:
    """Return which node (row) is beside which class (column): bool (N, classes)."""
    found = np.zeros((network.nodes, classes), np.bool_)
    found[pairs[1], pairs[0]] = True
    return found


def _ways(collective: Collective, network: Network, sent: _SpreadSends, delay: Ints) -> tuple[Ways, Ints]:
    """Return the hops of both exchanges, and the step of each; those of finished sums come after all contributions."""
    (pieces, _, owner, into, out), arcs = sent, arcs_of(network)
    count, is_sum = len(pieces.of), np.any(owner, axis=0, keepdims=True)[0]
    arc, piece = np.concatenate([into.arc, out.arc]), np.concatenate([into.chunk, out.chunk])
    finished = (np.arange(len(arc)) >= len(into.arc)) & is_sum[piece]
    wait = int((into.step + delay[into.arc]).max(initial=0))
    step = np.concatenate([into.step, out.step]) + wait * finished
    payload = piece + count * finished
    key, leaves = payload * network.nodes, finished & owner[arcs.tail[arc], piece]
    needs: Ints = np.where(leaves, piece * network.nodes, key) + arcs.tail[arc].astype(np.int64)
    before, after = pairs_of(key + arcs.head[arc], needs)
    first = np.concatenate([pieces.first, pieces.first + collective.sums])
    payloads = Payloads.of_ranges(first, first + np.tile(pieces.size, 2))
    none = np.full(len(arc), -1)
    return Ways(network, arc, payload, payloads, none, np.zeros_like(arc), before, after), step
