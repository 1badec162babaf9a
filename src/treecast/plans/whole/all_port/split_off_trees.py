"""Allgather at the optimal rate, with relays and capacities: trees of every rank by splitting off, a list schedule in turns.

Each rank has k trees to all ranks, and no arc is in more than s of all these trees, where 1/U = k/s is the optimum
(plans/ways/trees/split_off.py). The trees carry their chunks in turns (plans/times/timetable.py). So M messages take M U steps
and a number of steps that does not grow with M, as long as a block is a chunk; where chunks are too many for that, blocks are
longer.
"""

import numpy as np

from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.built import Built, Job
from treecast.plans.registry import builder
from treecast.plans.times.timetable import in_turns
from treecast.plans.ways.trees.split_off import trees_split_off
from treecast.plans.whole.all_port.balanced_trees import facts_of_rate
from treecast.plans.whole.all_port.independent_trees import list_of_trees, spread_evenly, ways_of_trees
from treecast.plans.whole.all_port.packed_trees import SEED

_MOST_SPLIT = 2**31  # ranks, pairs of arcs through relays and nodes twice, multiplied: the work of splitting off
_MOST_RANKS = 144  # some two seconds of packing, which grows with their fourth power


def _needless(network: Network) -> str:
    """Return why nobody needs such trees on a network: where all links are alike, matchings are as good."""
    if network.relays is None and not network.parallel_arcs:
        return "is for networks with relays or capacities: builder node-matching is for others"
    return ""


def _too_large(job: Job[Network]) -> str:
    network = job.network
    if network.rank_count > _MOST_RANKS:
        return f"packs trees of up to {_MOST_RANKS} ranks, which takes seconds, and {network.spec} has {network.rank_count}"
    relays = [] if network.relays is None else np.flatnonzero(network.relays).tolist()
    arcs = arcs_of(network)
    beside = [len(np.unique(arcs.head[arcs.first[w] : arcs.first[w + 1]])) for w in relays]
    if network.rank_count * sum(count**2 for count in beside) * network.nodes**2 > _MOST_SPLIT:
        return f"splits off relays for as long as that takes seconds, and those of {network.spec} take longer"
    return ""


@builder(
    "split-off-trees",
    "allgather",
    on=_needless,
    fits=_too_large,
    orbit=False,
    options=(SEED,),
    summary="trees of every rank at the optimal rate, by splitting off relays; sent in turns",
    facts=facts_of_rate,
)
def over_split_off_trees(job: Job[Network]) -> Built:
    """All-port: k trees of each rank, no arc in more than s of all, where k/s messages in a step are the most there can be.

    M s / k steps, and a number that does not grow with M. Raises PlanError where a relay cannot be split off: more arcs lead to
    it than from it, or fewer.
    """
    network = job.network
    if network.rank_count == 1:
        return list_of_trees(ways_of_trees(job, [], []))
    found = list(trees_split_off(network, int(job.options.get(SEED.keyword, 1))))
    ways = ways_of_trees(job, found, spread_evenly(job, found))
    return in_turns(ways, ways.payload)
