"""Alltoall over shortest paths chosen by price: on any network, each pair of nodes by itself.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step; or any other model.
What an arc takes on the machine, itself or ports, costs more, the more ways use it: 4^(12 (n+1-B)/B) for n ways, if none of it
need be used by more than B. Each pair takes the cheapest of its shortest ways. Pairs choose anew, one after the other, until
nothing is used by more than B or they have chosen 12 times. Then a list schedule: of the chunks that wait for an arc, the one
that has farthest to go, or the most waiting ahead, goes first.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds import best, bounds
from treecast.models import Model, takes
from treecast.networks import Network
from treecast.networks.core import Ints
from treecast.networks.flows import arcs_of
from treecast.networks.separators import best_separator
from treecast.plans.built import Built
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.trees.packed import number_of_seed
from treecast.plans.ways.timetable import Timed, listed, there_and_back
from treecast.plans.ways.ways import Ways
from treecast.ragged import starts
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.recipe import Job

_TURNS, _TRIES = 12, 6
_MOST_HOPS, _MOST_OF_ORBIT = 2**22, 2**17  # of all ways; where every node has the same part, orbits do as well
_MOST_WORK = 2**23  # hops of all tries
UNIT = 2**20
"""The price of an arc that carries what it should."""
_NAMES = ("step", "steps", "src", "dst", "port", "tree", "payload")


def _too_many_hops(job: Job[Network]) -> str:
    network = job.network
    most = _MOST_OF_ORBIT if network.seen_alike else _MOST_HOPS
    pairs = network.rank_count * (network.rank_count - 1)
    if pairs > most or pairs * (network.diameter if network.diameter_is_cheap else 1) // 2 > most:
        return f"finds a way for each pair of nodes, up to about {most:,} hops"
    return ""


@builder(
    "priced-paths",
    "alltoall",
    under=ALL_PORT,
    any_model=True,
    fits=_too_many_hops,
    orbit=False,
    rank=60,
    what="a shortest way for each pair of nodes, chosen by price so that arcs are used alike",
)
def over_priced_paths(job: Job[Network]) -> Built:
    """All-port, or any other model: each message goes a shortest way; those of a pair in up to 4 streams of equal length. x = 1.

    As few transmissions as there can be: M times the sum of all distances.
    """
    network, messages = job.network, job.collective.messages
    if network.rank_count == 1:
        return Built(Rows.of(Payloads.of([]), **dict.fromkeys(_NAMES, ())), Claims(0, 0))
    least = best(bounds(job.collective, network, 1, job.model), "steps").value
    found, share, work = list[Timed](), least_load(job, least), 0
    for parts, seed in _tries(messages):
        ways = _ways(job, parts, -(-share * parts // messages), seed)
        for keys in orders(ways, job.model, seed):
            found.append(listed(ways, job.model, keys))
            if found[-1].steps == least:
                return found[-1].built()
        work += 2 * len(ways)
        one_way_each = network.arcs == 2 * (network.nodes - 1)  # a tree: other prices change nothing
        if work > _MOST_WORK or one_way_each:
            break
    return there_and_back(min(found, key=lambda timed: timed.steps), least=least).built()


def least_load(job: Job[Network], least: int) -> int:
    """Return how many chunks some arc has to carry, by the bound ``least`` of steps, less those in which a cut is idle."""
    cut = best_separator(job.network)
    chunks = job.copies * job.collective.messages
    return least - (cut.late if cut is not None and -(-chunks * cut.pairs // cut.arcs) + cut.late == least else 0)


def _tries(messages: int) -> list[tuple[int, int]]:
    """Return for each attempt into how many runs the messages of a pair are divided, and the seed of the ways."""
    some = [(parts, seed) for parts in (2, 3, 4) if messages % parts == 0 for seed in range(_TRIES // 3)]
    return [*((1, seed) for seed in range(_TRIES)), *some]


def orders(ways: Ways, machine: Model, seed: int) -> list[list[Ints]]:
    """Return the keys of orders in which hops of paths may go: those farthest from the end, or with the most waiting ahead.

    Of those equally far from the end the first are, in one order, those whose targets are fewest numbers behind their sources: so
    all nodes send to different ones at a time.
    """
    taken = takes(machine, ways.network).resource[ways.arc]
    load = np.bincount(taken.ravel())[taken].max(axis=1, initial=0)
    chance = np.random.default_rng(seed).permutation(len(ways)) if seed else np.zeros_like(ways.arc)
    left = ways.heights
    ahead = load + left
    for hop in range(1, int(left.max(initial=1))):  # the most that anything ahead has to carry
        later = np.flatnonzero(left > hop)
        ahead[later] = np.maximum(ahead[later], load[later + hop] + left[later] - hop)
    arcs, run, number = arcs_of(ways.network), ways.payload, np.zeros(ways.network.nodes, np.int64)
    number[ways.network.ranks] = np.arange(ways.network.rank_count)
    source = arcs.tail[ways.arc[np.searchsorted(run, run)]]
    target = arcs.head[ways.arc[np.searchsorted(run, run, side="right") - 1]]
    behind = (number[target] - number[source]) % ways.network.rank_count
    return [[-left, chance], [-ahead, -left, chance], *([] if seed else [[-left, behind]])]


def _ways(job: Job[Network], parts: int, share: int, seed: int) -> Ways:
    """Return ways of so many runs of each pair; nothing that arcs take is to be taken by more than ``share`` runs."""
    from treecast.kernels.routing import route

    network, size = job.network, job.collective.messages // parts
    arcs, far, wanted = arcs_of(network), distances_from_all(network), takes(job.model, network)
    of, to = np.nonzero(~np.eye(network.rank_count, dtype=np.bool_))
    of, goal = np.repeat(of, parts), np.repeat(network.ranks[to], parts)
    first = starts(far[of, goal])
    arc, load = np.full(first[-1], -1, np.int64), np.zeros(wanted.resources, np.int64)
    chance, state = np.random.default_rng(seed), number_of_seed(seed)
    price, columns = prices(share), (arcs.tail, arcs.head, arcs.into, arcs.entering)
    for _ in range(_TURNS):
        order = chance.permutation(len(of))
        state = np.uint64(route(*columns, wanted.resource, far, of, goal, first, order, price, state, load, arc))
        if load.max() <= share:
            break
    chunk = ((network.ranks[of] * network.nodes + goal) * parts + np.tile(np.arange(parts), len(to))) * size
    return Ways.of_paths(network, first, arc, chunk=chunk, size=np.full_like(chunk, size))


def prices(share: int) -> Ints:
    """Return what an arc costs that 0, 1, 2 … ways use already, if no arc is to carry more than ``share``: int64."""
    used = np.arange(2 * share + 2)
    exponent = 12 * (used + 1 - share) / max(share, 1)
    return np.minimum(UNIT * 4.0**exponent, 2.0**40).astype(np.int64) + 1


@lru_cache(4)
def distances_from_all(network: Network) -> NDArray[np.int16]:
    """Return how many arcs lead from each rank (row) to each node, -1 where no way does: int16 (ranks, N)."""
    from treecast.kernels.routing import distances_from_all as fill_in

    arcs, far = arcs_of(network), np.empty((network.rank_count, network.nodes), np.int16)
    fill_in(arcs.first, arcs.head, network.ranks, far)
    return far
