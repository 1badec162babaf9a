"""Plans of any demand, for any machine: trees that grow by price, timed from the end and from the start again."""

from collections.abc import Iterator
from itertools import product

from treecast.collectives import Collective
from treecast.collectives.traits import every_kind
from treecast.models import Model
from treecast.networks import Network
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import any_machine
from treecast.plans.search import HOP, affordable, best_of, too_much
from treecast.plans.times.timetable import Timed, listed, soonest, there_and_back
from treecast.plans.ways.priced_trees import LATER, trees_by_price
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.any_machine.known import least_steps, machines
from treecast.steps import NEVER
from treecast.takes import takes

_NEAR = 1.05  # times the fewest steps so far
_TRIES, _ROOMS = 8, (1, 2, 4)  # orders of the trees; the load at which a resource is full, beside the lower bound


def _fits(job: Job[Network]) -> str:
    collective, ranks = job.collective, job.network.rank_count
    if collective.demand is not None:
        return ""
    if len(job.network.walk):
        return "takes a demand alone around a walk past relays"
    each = (1 if collective.personal else ranks) * (2 if collective.results else 1)
    ways = min(collective.chunks, collective.first_blocks * job.network.ports) * each
    return too_much(job.network.arcs, ways)


@any_machine(
    "priced-trees",
    every_kind,
    walks=True,
    backwards=False,
    fits=_fits,
    summary="trees from all that hold a chunk to all that want it, the cheapest beside all others; timed anew",
)
def priced_trees(job: Job[Network]) -> Built:
    """Any machine: the fewest steps of trees that grow by price, where prices say more or less of latency.

    It is not proved how near the bound this is: each schedule shows it.
    """
    if not len(job.collective.classes[0]):
        return NOTHING
    least = least_steps(job)
    wanted, fewest = takes(job.model, job.network), NEVER

    def grown() -> Iterator[tuple[Model, Collective, Ways]]:
        tries = 1 if job.model.arcs else _TRIES  # there are many jobs with such arcs, one for each number of chunks
        for seed, machine, times in product(range(tries), machines(job.model), _ROOMS):
            room, lightest = times * max(1, least), NEVER
            for later in LATER:
                made = trees_by_price(job.collective, job.network, machine, room=room, later=later, seed=seed)
                lightest = min(lightest, int(made[1].loads(wanted).max(initial=0)))
                yield machine, *made
            if job.model.arcs and lightest > fewest:  # the more room, the more trees take the same arcs
                return

    def timed() -> Iterator[tuple[Timed, Collective]]:
        nonlocal fewest
        for machine, owned, ways in affordable(grown(), lambda each: (16 * HOP + job.network.arcs) * len(each[2])):
            if job.model.arcs and int(ways.loads(wanted).max(initial=0)) > fewest:
                continue
            first = listed(ways, machine, [soonest(ways, machine)])
            if job.model.arcs and first.steps > _NEAR * fewest:  # to time it anew seldom gains more
                continue
            more = (listed(ways, machine, key) for key in ([-ways.below], [-ways.heights * ways.lengths]))
            found = there_and_back(first, *more, least=least)
            fewest = min(fewest, found.steps)
            yield found, owned

    found, owned = best_of(timed(), lambda each: each[0].cost, least)
    return found.built()._replace(collective=owned)
