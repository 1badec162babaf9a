"""Plans for any machine: the ways of plans for all ports, or trees of even loads, or grown ones, timed anew.

Communication model: any in which nodes keep the chunks that they relay, and messages have no routes.
The ways of a schedule hold on every machine, and copies are a property of ways alone. So every collective that has a plan for all
ports on a network has one under every other machine, too: a list schedule of its ways, with all copies. Many messages may also
go the ways of few by turns.

A scatter or gather of messages of different lengths is an alltoallv in which one node alone sends, or hears: the matrix of
demands has one row, or one column, that is not empty. Its chunks are numbered alike, so the rows are the same.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.collectives.traits import (
    all_to_all,
    each_to_each,
    of_any_length,
    of_classes,
    one_to_all,
    one_to_each,
    one_to_some,
    sums_for_all,
)
from treecast.errors import PlanError, ScheduleError
from treecast.lower_bounds import bounds, tightest
from treecast.models import MODELS, Model, model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.choice import choose, run_builder, serious
from treecast.plans.entries import builders
from treecast.plans.registry import Builder, any_machine, every_port
from treecast.plans.request import schedule_of
from treecast.plans.search import MET, best_of
from treecast.plans.times.timetable import Timed, listed, soonest, there_and_back
from treecast.plans.ways.classes_apart import broadcasts_of
from treecast.plans.ways.even_trees import CHANGES, even_ways, grown_ways, ways_about_nodes
from treecast.plans.ways.ways import Ways
from treecast.steps import NEVER
from treecast.takes import takes

_ALL_PORT = next(iter(MODELS.values()))
_MOST_PAIRS = 2**21  # of a source and a node, and of copies
_FEW = 2**14  # hops of plans of which all are tried, not the first alone, and in more orders
_TRIES = 20  # of those
_MANY_ARCS = 2**13
_MOST_NODES = 2**10  # of which all pairs have a place in the matrix of demands
_FEW_TOGETHER = 2**16  # … where messages combine: the best for all ports is often not the best there


def for_all_ports(job: Job[Any]) -> Job[Any]:
    """Return the same job for all ports, no two of which share a link; where messages combine, of one message for each source:
    all others go with it.

    A multicast becomes a broadcast, of which the ways to its targets are kept.
    """
    one: dict[str, Any] = {"messages": 1} if job.model.combining else {}
    if job.collective.targets:
        one |= dict[str, Any](kind="broadcast", targets=())
    collective = replace(job.collective, **one)
    return replace(job, network=job.network.apart, model=_ALL_PORT, options={}, collective=collective, likeness=None)


def known_builders(job: Job[Any]) -> list[Builder]:
    """Return the builders of a job for all ports, but those by way of one node, which plan for the machine itself."""
    known = [entry for entry in builders(job.collective.kind, job.network) if entry.is_for(job)]
    known = [entry for entry in known if not (entry.any_model and job.collective.results)] or known
    return serious([entry for entry in known if not entry.why_not(job)], job)


def no_ways(job: Job[Any]) -> str:
    """Return why a job has no ways that could be timed, or an empty text."""
    collective, network = job.collective, job.network
    if collective.demand is not None:
        return _lacks_copies(job) or next(filter(None, (no_ways(each.job) for each in broadcasts_of(job))), "")
    if job.model.arcs and job.copies == 1:
        return "times ways that heed no gaps and delays of arcs, which others do in one copy"
    pairs = network.rank_count * job.copies * (network.rank_count if collective.all_source else 1)
    if pairs > _MOST_PAIRS:
        return f"goes through each of {pairs:,} pairs of a source and a node, and {_MOST_PAIRS:,} at most"
    free = for_all_ports(job)
    if known_builders(free):
        return ""
    entries = [entry for entry in builders(free.collective.kind, free.network) if entry.is_for(free)]
    if not entries:
        return "times a plan for all ports, and there is none"
    # who looks at each root names the node with too few paths
    first = max(entries, key=lambda entry: entry.by_root)
    return f"times a plan for all ports: {first.why_not(free)}"


def _lacks_copies(job: Job[Any]) -> str:
    """Return why a demand is none of which list schedules make several copies, or an empty text."""
    demand = job.collective.classes[0]
    if job.copies == 1 or demand.sums:
        return "times several copies of a demand, which has no sums then"
    holders = np.diff(demand.holders)
    few = holders[(holders > 1) & (holders < job.copies)]
    if len(few) and job.against == "nodes":
        return f"sends {job.copies} copies of what one node holds, or {job.copies} at least: some chunks have {few[0]} holders"
    return ""


def known_ways(job: Job[Any]) -> Iterator[tuple[Ways, Collective | None]]:
    """Yield the ways of plans for all ports, the best first; the others where they have few hops.

    Beside each its collective, where its builder chose that. The classes of a demand go the best ways of each broadcast.
    """
    if job.collective.demand is not None:
        for every in (True, False):
            parts = list(broadcasts_of(job, every))
            if not any(no_ways(each.job) for each in parts):
                yield Ways.joined([each.of_demand(next(known_ways(each.job))[0]) for each in parts]), None
        return
    free, scale = for_all_ports(job), job.collective.messages if job.model.combining else 1
    known = known_builders(free)
    chosen, made = choose(free, known)
    for entry in [chosen, *(entry for entry in known if entry != chosen)]:
        try:
            built = made if made and entry == chosen else run_builder(free, entry)
            found = replace(Ways.of_schedule(schedule_of(free, entry, built), scale=scale), network=job.network)
        except (PlanError, ScheduleError) as error:
            if entry == chosen:
                raise PlanError(str(error)) from None
            continue
        if job.collective.targets:
            found = found.to(np.isin(arcs_of(job.network).head[found.arc], job.collective.targets))
        yield found, built.collective and _scaled(built.collective, scale)
        if len(found) > (_FEW_TOGETHER if job.model.combining else _FEW):
            return


def known_few(job: Job[Network]) -> Iterator[tuple[Collective, Ways]]:
    """Yield the ways of plans for all ports of few messages, and their collectives."""
    for messages in dict.fromkeys((1, job.network.cables_out, 2 * job.network.cables_out)):
        if messages < job.collective.messages and not no_ways(small := job.of(messages)):
            for ways, collective in known_ways(small):
                if int(ways.lengths.max(initial=1)) == 1:
                    yield collective or small.collective, ways


MAKERS = ((known_few, 0), (even_ways, CHANGES), (grown_ways, 0), (ways_about_nodes, 0))
"""The makers of ways of few messages for any machine, and the changes of each tree that take time, for each arc."""


def _scaled(collective: Collective, scale: int) -> Collective:
    """Return a collective of ``scale`` times as many messages."""
    owners = tuple((first * scale, node) for first, node in collective.owners)
    return replace(collective, messages=collective.messages * scale, owners=owners)


def _tables(ways: Ways, machine: Model, least: int, tries: int) -> Iterator[Timed]:
    """Yield timetables by orders in which hops may go, those first that are best most often, until ``least`` steps are enough."""
    first, count = soonest(ways, machine), len(ways)
    seeds = range(0 if machine.arcs or count > _FEW else tries)
    chance = ([first, np.random.default_rng(seed).permutation(count)] for seed in seeds)
    for keys in chain([[first], [-ways.below], [np.arange(count)]], chance):
        yield (timed := listed(ways, machine, keys))
        if timed.steps <= least:
            return


def machines(machine: Model) -> list[Model]:
    """Return the machines for which to plan: where messages combine, to meet one partner in a step may take less."""
    met = replace(model("whispering"), latency=machine.latency)
    may_meet = machine.combining and not machine.normal <= met
    return [machine, met] if may_meet and machine.ports == "one" else [machine]


def _fewest(job: Job[Any], known: Iterator[tuple[Ways, Collective | None]], even: Iterable[Ways] = ()) -> Built:
    """Return the schedule of the fewest steps of some ways, which are tried until they are as few as the bound.

    Ways are left out whose greatest load says that they take more steps than others before.
    """
    machine, least = job.model, least_steps(job)
    every = chain(((*each, _TRIES) for each in known), ((ways, None, 0) for ways in even))

    def tables() -> Iterator[tuple[Timed, Collective | None]]:
        fewest = NEVER
        for each, collective, tries in every:
            for own in machines(machine):
                if machine.combining or int(each.loads(takes(own, each.network)).max(initial=0)) <= fewest:
                    yield (found := (there_and_back(*_tables(each, own, least, tries), least=least), collective))
                    fewest = min(fewest, found[0].steps)

    timed, collective = best_of(tables(), lambda each: each[0].cost, least)
    return timed.built()._replace(collective=collective)


def least_steps(job: Job[Any]) -> int:
    """Return the lower bound of the steps of a job; 0 where none is known.

    Where arcs take unlike times, steps are rounded seconds, and next to the bound is as good.
    """
    try:
        known = bounds(job.collective, job.network, job.copies, job.model, against=job.against)
    except PlanError:
        return 0
    least = tightest(known, "steps").value
    return least + int(MET * least) if job.model.arcs else least


@any_machine(
    "list-schedule",
    one_to_all,
    one_to_some,
    one_to_each,
    of_any_length(all_to_all),
    of_any_length(each_to_each),
    sums_for_all,
    of_classes,
    by_root=True,
    most_copies=every_port,
    summary="the trees and paths of the best plan for all ports, or trees of even loads, timed anew",
    fits=no_ways,
)
def list_schedule(job: Job[Network]) -> Built:
    """Any machine: a list schedule of the ways of a plan for all ports, timed from its end and from its start again.

    Where there are few hops, the ways of plans of few messages, and even trees, are dealt to all messages by turns as well.
    It is not proved how near the bound this is: each schedule shows it.
    """
    if job.collective.demand is not None and not len(job.collective.demand):
        return NOTHING  # all have what they want
    many, few = job.collective.messages, job.collective.chunks * job.network.nodes <= _FEW
    plain = not job.model.combining and not job.collective.targets and job.collective.demand is None
    makers = MAKERS if few and plain else ()
    some = chain.from_iterable(maker(job) for maker, _ in makers)
    dealt = (ways.dealt(small.messages, many) for small, ways in some if not small.owners)
    # Of many arcs a plan for all ports takes long, and few of many ports fit in a step.
    if job.network.arcs > _MANY_ARCS and (first := next(dealt, None)) is not None:
        return _fewest(job, iter(()), chain([first], dealt))
    return _fewest(job, known_ways(job), dealt)
