"""Allgather on any network, with relays and capacities: trees at every rank, chosen such that no arc is in many of them.

Every rank deals its messages over trees of its own. A tree passes relays, which send each chunk on over several arcs. Arcs
have prices that grow with the trees they are in, and trees are grown anew until the prices have done their work. Then an arc that
is free begins the send that has most sends below it. For many messages the steps are M times the trees in the busiest arc for
each tree of a rank, and some more.
"""

from itertools import product

from treecast.description import Description
from treecast.lower_bounds import best, bounds
from treecast.lower_bounds.cuts import optimum
from treecast.networks import Network
from treecast.plans.built import Built, Job, best_of
from treecast.plans.registry import builder, looks_different
from treecast.plans.ways.trees.balanced import PASSES, balanced_trees
from treecast.plans.whole.all_port.independent_trees import list_of_trees, spread_evenly, ways_of_trees
from treecast.schedule import Schedule

_MOST_SENDS = 2**21  # arcs of all trees
_MOST_GROWN = 2**24  # trees that are grown, times arcs
_MOST_TRIED = 2**18  # arcs of all trees that are tried, where several numbers are; growing them counts, too
_DEEPER = (0, 256)  # the costs of depth to try, beside a price of 1024 for an arc that is as full as it should be
_TREES = (32, 16, 8, 4, 2)  # of each rank, beside 1 and those that the optimum asks for


def _lacks_need(job: Job[Network]) -> str:
    network = job.network
    if network.rank_count * network.nodes > _MOST_SENDS or network.rank_count * network.arcs > _MOST_GROWN:
        return f"has trees of up to {_MOST_SENDS:,} arcs in all, and {network.spec} needs more"
    return ""


def facts_of_rate(job: Job[Network], schedule: Schedule, depth: int) -> Description:
    """Return how many messages of each rank can go in a step at most, and how many do."""
    collective = schedule.collective
    if (
        job.network.rank_count == 1
        or not schedule.steps
        or collective.traits.there_and_back
        or collective.lengths is not None
    ):
        return Description({})
    most, done = optimum(job.network), collective.messages / schedule.steps
    said = f"{done:.4g} messages of each rank in a step: at most {most} (Zhao et al., ForestColl, 2024)"
    return Description({"rate": done, "rate_upper_bound": float(most)}, {"rate": said})


@builder(
    "balanced-trees",
    "allgather",
    "allgatherv",
    on=looks_different,
    fits=_lacks_need,
    orbit=False,
    summary="trees at every rank, past relays, chosen by price such that arcs are used alike; a list schedule",
    facts=facts_of_rate,
)
def over_balanced_trees(job: Job[Network]) -> Built:
    """All-port: each rank's messages go down trees of its own, which pass relays; arcs are used alike as far as prices lead.

    It is not proved how near the bound this is: each schedule shows it.
    """
    network, sizes = job.network, job.collective.sizes()
    roots = network.ranks[sizes[network.ranks] > 0]
    if network.rank_count == 1 or not len(roots):
        return list_of_trees(ways_of_trees(job, [], []))
    least, longest = best(bounds(job.collective, network, 1, job.model), "steps").value, int(sizes[roots].max())

    def made(trees: int, deeper: int) -> Built:
        each, alike = -(-longest // trees), job.collective.lengths is None  # chunks down a tree
        most = float(trees / optimum(network)) if alike else least / each
        found = balanced_trees(network, roots.tolist(), trees if alike else -(-sizes[roots] // each), most, deeper)
        return list_of_trees(ways_of_trees(job, found, spread_evenly(job, found)))

    tried = (made(*attempt) for attempt in _attempts(network, longest))
    return best_of(tried, lambda built: (built.claims.steps,), least)


def _attempts(network: Network, messages: int) -> list[tuple[int, int]]:
    """Return how many trees for each rank are worth trying, with the cost of depth: as many pairs as the work allowed."""
    most, left = optimum(network).numerator, _MOST_TRIED
    counts = dict.fromkeys(count for count in (1, 4 * most, 2 * most, most, *_TREES) if count <= messages)
    found = list[tuple[int, int]]()
    for deeper, count in product(_DEEPER, counts):
        work = count * network.rank_count * (network.nodes + PASSES * network.arcs // 64)
        if not found or work <= left:
            found.append((count, deeper))
            left -= work
    return found
