"""Plans for long messages: the sends of one period, again and again, over any ways on any machine.

Communication model: any in which a message is one chunk and nodes keep the chunks that they relay.
One period sends m chunks of each block, each over ways of its own. Hop h begins in step b(h), after the hops it waits for, and
sends the i-th chunk of its way in step b(h) + i T. It is right if in each step modulo T all that is taken has room. So M chunks
take about (M / m - 1) T steps more than one, over as many rows as a period has hops. T is the greatest load of a resource, or a
little more: over all ports each resource has its hops in any order, and one port is a matter of colours (König). A single port
of half duplex may need more.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from treecast.collectives import Collective
from treecast.collectives.traits import all_to_all, each_to_each, one_to_all, one_to_each, sums_for_all
from treecast.models import Model
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, rows_over
from treecast.plans.registry import any_machine, every_port, few_arrivals
from treecast.plans.search import HOP, WORK, best_of
from treecast.plans.ways.ways import Ways, grouped
from treecast.plans.whole.any_machine.known import MAKERS, least_steps, no_ways
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads
from treecast.steps import NEVER
from treecast.takes import Takes, takes

_FEW = 2**14  # hops of a period that is tried in more ways
_AGAIN, _FEW_TIMES = 40, 4  # how often a hop may look for a place; where periods of more and more steps are tried
_VERY_FEW = 2**9  # hops for which the shortest period is tried often
_OFTEN, _MOST_CHANCE = 24, 8  # how often, and how much of the order is by chance
_LONGER, _BY_CHANCE = (0, 1, 2), (0, 2, 2)  # by how much periods are longer than the greatest load; how often by chance
_PLACE, _CHANGE = HOP // 4, HOP // 32  # units of work: of a hop for each step of a period; of a change of trees
_LEAST = 32  # messages for which a period is worth its beginning and its end


class Period(NamedTuple):
    """The hops of one period, and its repetition: hop h sends in the steps ``begin[h]``, ``begin[h] + pace``, …"""

    ways: Ways
    begin: Ints
    pace: int


def periods(ways: Ways, machine: Model) -> Iterator[Period]:
    """Yield periods of some ways on a machine, those of the greatest load among them, where there are such.

    A hop of the ways is of one chunk, and takes all that it needs for itself, though with one partner two may go at once.

    >>> from treecast.models import model
    >>> from treecast.plans import plan
    >>> found = Ways.of_schedule(plan("alltoall", "hypercube:3", messages=1))
    >>> min(each.pace for each in periods(found, model("one-port")))
    12
    """
    from treecast.plans.kernels.periods import colours, place

    # 1. Tables of resources and of what waits for what; the least pace that the load allows.
    wanted = takes(machine, ways.network)
    servers = starts(wanted.room)
    least, taken = int(ways.loads(wanted).max(initial=1)), wanted.resource[ways.arc]
    first, after = grouped(ways.before, ways.after, len(ways))
    begin, before = grouped(ways.after, ways.before, len(ways))
    urgent, colour, chance = ways.heights.astype(np.float64), np.full(len(ways), -1), np.random.default_rng(1)

    def placed(pace: int, again: int, by_chance: int) -> Iterator[Period]:
        # those with most behind them first, in part by chance
        order = np.argsort(-urgent - by_chance * chance.random(len(ways)), kind="stable")
        began, budget = np.empty(len(ways), np.int64), again * len(ways)
        # all have a place
        if not place(first, after, begin, before, taken, order, colour, pace, servers, machine.latency, budget, began):
            yield Period(ways, began, pace)

    reached = two_sides = _two_sides(wanted)
    # 2. Few hops: several paces, and orders with more and more chance.
    for longer, by_chance in product(_LONGER, _BY_CHANCE) if len(ways) <= _FEW else ():
        for found in placed(least + longer, _AGAIN, by_chance):
            reached |= not longer
            yield found
    for _ in range(_OFTEN if len(ways) <= _VERY_FEW else 0):
        if not reached:
            for found in placed(least, _AGAIN, _MOST_CHANCE):
                reached = True
                yield found
    # 3. One port: links of a bipartite graph, whose colours are steps.
    if two_sides:
        colours(taken, least, wanted.resources, colour)
        yield from placed(least, 1, 0)
    # 4. Nothing has met the least pace: the next ones, the first that fits.
    # up to twice the load, by 32nds
    for pace in () if reached else dict.fromkeys(least + least * part // 32 for part in range(1, 33)):
        for found in placed(pace, _FEW_TIMES, 0):
            yield found
            return


def _two_sides(wanted: Takes) -> bool:
    """Return whether each send takes one resource of either of two kinds, as over one port."""
    return (
        wanted.resource.shape[1] == 2
        and wanted.room.max() == 1
        and not np.isin(wanted.resource[:, 0], wanted.resource[:, 1]).any()
    )


class Repeated(NamedTuple):
    """A period of few messages, again and again, and its claims; ``dealt``: the chunks of each block that go each way."""

    period: Period
    small: Collective
    dealt: Ints
    claims: Claims

    @property
    def cost(self) -> tuple[int, int]:
        """The steps, and then the transmissions: the less, the better."""
        return self.claims.steps, self.claims.transmissions

    def built(self, collective: Collective) -> Built:
        """Return the rows of a collective of as many messages."""
        (ways, begin, pace), many = self.period, collective.messages
        # where in its block the chunks of each way begin
        offset = np.arange(len(self.dealt))[:, None] * many + np.cumsum(self.dealt, axis=1) - self.dealt
        turn, number = _numbers(ways, self.small)
        number_of, length = offset.reshape(-1)[number] + turn * offset.shape[0] * many, self.dealt.reshape(-1)[number]
        kept = length > 0
        first, payload = np.unique(number_of[kept], return_inverse=True)
        sizes = np.zeros(len(first), np.int64)
        sizes[payload] = length[kept]
        # a chunk in each period
        more = {"tree": ways.tree[kept], "payload": payload.reshape(-1), "steps": (length[kept] - 1) * pace + 1}
        rows = rows_over(ways.network, Payloads.of_ranges(first, first + sizes), begin[kept], ways.arc[kept], **more)
        owners = tuple((int(offset.reshape(-1)[at]), node) for at, node in self.small.owners)
        return Built(rows, self.claims, replace(collective, owners=owners) if owners else None)


def repeated(period: Period, small: Collective, many: int, late: int = 1) -> Repeated:
    """Return a period of few messages again and again, until ``many`` of each block are sent; each arrives in ``late`` steps.

    The chunks of each block are dealt to the ways of the period such that the last come as early as they can.
    """
    number = _numbers(period.ways, small)[1]
    ends = np.zeros(_sums(small), np.int64)
    np.maximum.at(ends, number, period.begin + 1)
    count = _dealt(ends.reshape(-1, small.messages), period.pace, many)
    length = count.reshape(-1)[number]
    last = np.where(length > 0, period.begin + (length - 1) * period.pace + 1, 0)
    steps = int(last.max(initial=0)) + (late - 1) * bool(length.any())
    return Repeated(period, small, count, Claims(steps, int(length.sum())))


def _numbers(ways: Ways, small: Collective) -> tuple[Ints, Ints]:
    """Return of each hop whether it carries a finished sum, and the number of its chunk, or of the sum: int64 both."""
    return np.divmod(ways.payloads.first[ways.payloads.start[ways.payload]], _sums(small))


def _sums(small: Collective) -> int:
    """Return the number of chunks; finished sums go as many as their sums."""
    return small.sums if small.results else small.chunks


def _dealt(ends: Ints, pace: int, many: int) -> Ints:
    """Return how many of ``many`` chunks of each block go each way: int64 (blocks, ways); ``ends``: when the first has come."""

    def room(steps: Ints) -> Ints:
        return np.maximum((steps[:, None] - ends) // pace + 1, 0)

    # the last step by which enough have come, for all blocks by bisection at once
    low: Ints = np.zeros(len(ends), np.int64)
    high: Ints = ends.min(axis=1) + (many - 1) * pace
    while (low < high).any():
        middle = (low + high) // 2
        enough = room(middle).sum(axis=1) >= many
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    # one step less leaves too few: the rest goes by ways that have one more in the last step
    count = room(low - 1)
    more, left = room(low) > count, many - count.sum(axis=1)
    return count + (more & (np.cumsum(more, axis=1) <= left[:, None]))


def _fits(job: Job[Any]) -> str:
    collective = job.collective
    if job.model.combining:
        return "is for models under which a message is one chunk"
    if collective.lengths is not None:
        return "is for messages of one length"
    if collective.messages < _LEAST:
        return f"is for {_LEAST} messages and more"
    return no_ways(job.of(1))


def _is_cheap(job: Job[Any]) -> bool:
    """Return whether a period has few hops, however many messages there are."""
    return few_arrivals(job.of(min(job.collective.messages, 4 * job.network.rank_count)))


@any_machine(
    "periods",
    one_to_all,
    one_to_each,
    all_to_all,
    each_to_each,
    sums_for_all,
    by_root=True,
    most_copies=every_port,
    fits=_fits,
    cheap=_is_cheap,
    alike=True,
    summary="the trees and paths of a plan of few messages, again and again, in as few steps as they leave",
)
def by_periods(job: Job[Network]) -> Built:
    """Any machine on which a message is one chunk: M messages in about (M / m - 1) T + L steps, if a period of L steps sends m.

    It is not proved how near the bound this is: each schedule shows it.
    """
    least = least_steps(job)
    return best_of(_tried(job, least), lambda each: each.cost, least).built(job.collective)


def _tried(job: Job[Network], least: int) -> Iterator[Repeated]:
    """Yield periods of all ways that there is time for, less where some period is as short as can be.

    Ways are left out whose greatest load says that no period of theirs takes as few steps as one before.
    """
    many, wanted, fewest, fast = job.collective.messages, takes(job.model, job.network), NEVER, False
    for maker, changes in MAKERS:
        work = 0
        for small, ways in maker(job):
            if (-(-many // small.messages) - 1) * int(ways.loads(wanted).max(initial=0)) < fewest:
                for period in periods(ways, job.model):
                    yield (made := repeated(period, small, many, job.model.latency))
                    fewest = min(fewest, made.claims.steps)
                    fast |= period.pace * many <= least * small.messages
                    work += len(ways) * period.pace * _PLACE
            work += changes * job.network.arcs * _CHANGE * small.messages
            if work > (WORK // 4 if fast else WORK):
                break
