"""Allreduce by way of one node: a reduce-broadcast of all sums, past relays or completed in one.

Communication model: that of the builder of the reduce-broadcast. Where hosts have one cable, or a tree of switches lies between
them, all sums may as well meet in the middle: they go up to it and down the same tree. The middle may be a relay, since a
switch that adds passing contributions can complete a sum. So an allreduce never takes more steps than a reduce-broadcast of the
same sums there, nor where messages combine: all sums go together, on networks that look the same from every node, too.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.collectives.checks import MOST_MESSAGES
from treecast.collectives.traits import blocks_of_sums_for_all
from treecast.lower_bounds import bounds, tightest
from treecast.networks import Network
from treecast.networks.separators import far_and_back
from treecast.plans.built import Built, Job
from treecast.plans.choice import run_best
from treecast.plans.entries import builders, fitting, least_of
from treecast.plans.registry import ALL_PORT, WORMHOLE, Builder, builder, looks_different
from treecast.plans.search import best_of
from treecast.schedule import Payloads, Rows

_MOST_MEASURED = 2**8  # nodes of a network of which each may be the one


def _inner(job: Job[Any]) -> str:
    """Return the kind of collective that does the same by way of one node."""
    return COLLECTIVES[job.collective.kind].part


def _lacks_way(job: Job[Any]) -> str:
    if job.network.seen_alike and not job.model.combining:
        return looks_different(job.network)
    if len(job.network.walk) and not job.model.combining:
        return "is for messages that combine, where ranks are joined by a walk"
    ranks = job.network.rank_count
    if job.collective.messages * ranks > MOST_MESSAGES:
        return f"numbers up to {MOST_MESSAGES:,} sums, not {job.collective.messages:,} of each of {ranks:,} ranks"
    if ranks == 1:
        return "is for two ranks or more"
    return "" if _able(_through(job, int(job.network.ranks[0]))) else f"needs a builder of {_inner(job)}"


def _through(job: Job[Any], node: int) -> Job[Any]:
    """Return the job of all sums by way of a node."""
    messages = job.collective.messages * job.network.rank_count
    return replace(job, collective=Collective.over(job.network, _inner(job), messages, root=node))


def _least(job: Job[Any]) -> tuple[int, int]:
    return min(least_of([_through(job, node)]) for node in _middle(job.network))


def _able(job: Job[Any]) -> list[Builder]:
    entries = builders(job.collective.kind, job.network)
    if job.model.name == ALL_PORT[0]:
        return fitting(entries, job)  # to time plans for all ports anew would take as long again
    return [entry for entry in entries if not entry.why_not(job)]


@builder(
    "through-one-node",
    blocks_of_sums_for_all,
    walks=True,
    under=(*ALL_PORT, *WORMHOLE),
    any_model=True,
    alike=True,
    fits=_lacks_way,
    least=_least,
    orbit=False,
    summary="all sums meet in a node in the middle, which may be a relay, and go out from there: a reduce-broadcast of all",
)
def through_one_node(job: Job[Any]) -> Built:
    """The machine is that of the reduce-broadcast: of some nodes in the middle, the one by which it takes the fewest steps."""
    least = tightest(bounds(job.collective, job.network, 1, job.model), "steps").value
    ways = ((node, _through(job, node)) for node in _middle(job.network))
    # not each lets relays complete sums
    tried = ((node, run_best(inner, able)[1]) for node, inner in ways if (able := _able(inner)))
    node, built = best_of(tried, lambda each: (each[1].claims.steps, each[1].claims.transmissions), least)
    columns = built.rows.columns()
    rows = Rows.of_any_steps(_past_relays(built.rows.payloads, job.collective), **columns)
    return built._replace(rows=rows, collective=replace(job.collective, owners=((0, node),)))


def _middle(network: Network) -> list[int]:
    """Return the node from which no rank is far, a relay perhaps, and the rank of which that is true; of most ports."""
    every = np.arange(network.nodes)
    if network.nodes > _MOST_MEASURED:  # the middle of a long way, which is the middle of a tree
        one = int(network.ranks[network.distance(int(network.ranks[0]), network.ranks).argmax()])
        away = network.distance(one, every)
        back = network.reversed().distance(int(network.ranks[away[network.ranks].argmax()]), every)
        every = np.lexsort((np.abs(away - back), away + back))[: _MOST_MEASURED // 8]
    every, far = far_and_back(network, every)
    degree = np.array([network.degree_at(int(v)) for v in every])
    order = every[np.lexsort((-degree, far))]
    ranks = order[np.isin(order, network.ranks)]
    return list(dict.fromkeys([*order[:1].tolist(), *ranks[:1].tolist()]))


def _past_relays(table: Payloads, collective: Collective) -> Payloads:
    """Return payloads of sums that are numbered rank by rank as an allreduce has them, whose relays have blocks, too."""
    if not collective.relays:
        return table
    size, ranks = collective.messages, collective.ranks
    cut = table.within_blocks(size)
    half, block = np.divmod(cut.first // size, len(ranks))  # finished sums are numbered behind the sums
    shift = (half * collective.nodes + ranks[block]) * size - cut.first // size * size
    return Payloads(cut.start, cut.first + shift, cut.stop + shift).merged()
