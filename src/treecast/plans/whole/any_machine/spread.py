"""Plans of any demand, for any machine, step by step: whatever is free carries the rarest chunk that the other end lacks.

A sum runs backwards: from the last step to the first, it goes out from its owner to all that have a contribution to it.
Copies, and finished sums, go forwards. Both are timed together, so that finished sums go out while others come in.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.models import Model, takes
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.registry import any_machine
from treecast.plans.search import WORK, affordable, best_of
from treecast.plans.times.timetable import Timed, listed, there_and_back
from treecast.plans.ways.priced_trees import demand_of, owned_by, owners_of
from treecast.plans.ways.ways import Ways, pairs_of
from treecast.plans.whole.any_machine.known import least_steps, machines
from treecast.plans.whole.any_machine.rarest_first import Exchange, exchanged
from treecast.ragged import starts
from treecast.schedule import Payloads

_SHARE = 2**2  # of the chunks at the arcs in a step few are looked at: those that an arc can carry
_TRIES = 40


def _sizes(collective: Collective, machine: Model) -> Ints:
    """Return how many chunks go together: where messages combine, all of a class, else one."""
    size = demand_of(collective).size
    return size if machine.combining else np.ones(int(size.sum()), np.int64)


def _work(job: Job[Network]) -> int:
    pieces = len(_sizes(job.collective, job.model))
    return job.network.arcs * pieces * (pieces + job.network.nodes)


def _fits(job: Job[Network]) -> str:
    if _work(job) > _SHARE * WORK:
        return f"looks at chunks at arcs in every step, {_work(job):,} times, and {_SHARE * WORK:,} at most"
    return ""


@any_machine(
    "spread",
    "demand",
    fits=_fits,
    summary="step by step, each free arc sends the rarest chunk that the other end may use; sums backwards; timed anew",
)
def spread(job: Job[Network]) -> Built:
    """Any machine: the fewest steps of some spreads, among those that want chunks alone, or among all nodes.

    It is not proved how near the bound this is: each schedule shows it.
    """
    least, several = least_steps(job), machines(job.model)
    every = product(range(1, _TRIES), (True, False), (True, False), several)
    found = (
        _spread(job, machine, seed, by_need=by_need, narrow=narrow, least=least)
        for seed, by_need, narrow, machine in affordable(every, lambda how: _work(job) // (_SHARE * len(several)))
    )
    timed, owned = best_of((each for each in found if each), lambda each: each[0].cost, least)
    return timed.built()._replace(collective=owned)


def _spread(
    job: Job[Network], machine: Model, seed: int, *, by_need: bool, narrow: bool, least: int
) -> tuple[Timed, Collective] | None:
    """Return a spread, and the collective with the owners of its sums; None where those alone that want chunks cannot do it."""
    demand, network = demand_of(job.collective), job.network
    together, sizes = machine.combining, _sizes(job.collective, machine)
    of = (
        np.arange(len(demand)) if together else np.repeat(np.arange(len(demand)), demand.size)
    )  # the class of each piece
    owners, is_sum = owners_of(demand, network, seed), of < demand.sums
    gives, wants = (_table(pairs, network, len(demand))[:, of] for pairs in (demand.held, demand.wanted))
    owner = np.zeros((network.nodes, len(of)), np.bool_)
    owner[owners[of[is_sum]], np.flatnonzero(is_sum)] = True
    aside = np.zeros_like(gives) if not narrow else ~(gives | wants | owner)
    if narrow and network.relays is not None:
        aside[network.relays] = False
    wanted = takes(machine, network)

    def sends(has: NDArray[np.bool_], lacks: NDArray[np.bool_], *, back: bool) -> Exchange:
        sent = exchanged(
            network, wanted, has, lacks, seed=seed, by_need=by_need, together=together, shut=aside, back=back
        )
        if back:  # in the order of steps, seen backwards
            sent = Exchange(*(column[np.argsort(-sent.step, kind="stable")] for column in sent))
        return sent.take(sent.needed(network, lacks, back=back))

    try:
        into = sends(owner, gives & is_sum & ~owner, back=True)
        has = np.where(is_sum, owner, gives)
        out = sends(has, wants & ~has, back=False)
    except PlanError:
        if narrow:
            return None
        raise
    owned = owned_by(job.collective, owners)
    ways, step = _ways(owned, network, sizes, owner, (into, out))
    first = Timed(ways, machine, step, int(step.max(initial=-1)) + 1)
    if demand.sums:
        first = listed(ways, machine, [step])
    return there_and_back(first, least=least), owned


def _table(pairs: tuple[Ints, Ints], network: Network, classes: int) -> NDArray[np.bool_]:
    """Return which node (row) is beside which class (column): bool (N, classes)."""
    found = np.zeros((network.nodes, classes), np.bool_)
    found[pairs[1], pairs[0]] = True
    return found


def _ways(
    collective: Collective,
    network: Network,
    sizes: Ints,
    owner: NDArray[np.bool_],
    both: tuple[Exchange, Exchange],
) -> tuple[Ways, Ints]:
    """Return the hops of both exchanges, and the step of each; those of finished sums come after all contributions."""
    arcs, count, (into, out), is_sum = arcs_of(network), len(sizes), both, np.any(owner, axis=0, keepdims=True)[0]
    arc, piece = np.concatenate([into.arc, out.arc]), np.concatenate([into.chunk, out.chunk])
    finished = (np.arange(len(arc)) >= len(into.arc)) & is_sum[piece]
    wait = int(into.step.max(initial=-1)) + 1
    step = np.concatenate([into.step, out.step]) + wait * finished
    payload = piece + count * finished
    key, leaves = payload * network.nodes, finished & owner[arcs.tail[arc], piece]
    needs: Ints = np.where(leaves, piece * network.nodes, key) + arcs.tail[arc].astype(np.int64)
    before, after = pairs_of(key + arcs.head[arc], needs)
    begin = starts(sizes)[:-1]
    first = np.concatenate([begin + collective.sums * ~is_sum, begin + collective.sums])
    payloads = Payloads.of_ranges(first, first + np.tile(sizes, 2))
    none = np.full(len(arc), -1)
    return Ways(network, arc, payload, payloads, none, np.zeros_like(arc), before, after), step
