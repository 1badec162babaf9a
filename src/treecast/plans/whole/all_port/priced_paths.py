"""Alltoall and scatter over paths chosen by price: on any network, by any demands, each pair of nodes by itself.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step; or any other model.
A resource of an arc on the machine, itself, a link or a port, costs more, the more ways use it: 4^(12 (n+1-B)/B) for n ways, if
none of it need be used by more than B. Pairs choose anew, one after the other, until nothing is used by more than B or they have
chosen 12 times. Then a list schedule: of the chunks that wait for an arc, the one that has farthest to go, or the most waiting
ahead, goes first.

*Paths*: each pair takes the cheapest of its shortest ways. Where blocks differ in length, a way counts by its length. Where
messages combine, ways over the same ports in the same order are tried, too: hops that go together take one step.

*Ways*: each pair takes x ways that share no node between the ends (or no link, or no arc) and are cheapest together: a flow of
least cost, in which an arc has a price for its length, too. At least one of the ways avoids any x - 1 nodes or links, whenever
they fail. One copy may go round arcs that all shortest paths use: 26 steps of an alltoall on debruijn:2,4 instead of 29.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.against import apart
from treecast.collectives import Collective
from treecast.collectives.traits import each_to_each, of_any_length, one_to_each, one_with_each
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.lower_bounds.doors import flight
from treecast.lower_bounds.job import Problem
from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.flows import arc_connectivity, connectivity, fewest_apart, split
from treecast.networks.kept import kept
from treecast.networks.separators import best_separator
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import ALL_PORT, builder
from treecast.plans.search import HOP, affordable, best_of
from treecast.plans.times.timetable import Timed, in_orbits, in_turns, list_orbits, listed, there_and_back
from treecast.plans.ways.trees.packed import number_of_seed
from treecast.plans.ways.ways import Ways, grouped
from treecast.ragged import places, starts
from treecast.takes import Takes, takes

_TURNS, _TRIES = 12, 6
_MOST_HOPS, _MOST_OF_ORBIT = 2**22, 2**17  # of all ways; where every node has the same part, orbits do as well
_HOP = HOP // 4  # units of work for a hop that is chosen by price
_NOWHERE = 2**14  # arcs: more than any way has
_ALIGNED = -1  # in place of a seed: ways that are not chosen by price
_MANY_HOPS, _MOST_LOAD = 2**16, 2**12  # of blocks of different lengths: hops of runs; how finely loads are told apart
_UNIT = 2**20  # the price of an arc with the load that it should have
_LENGTH = _UNIT // 8  # the price of a hop beside that, where ways are no shortest ones
_TRIES_APART = 8
_MOST_WORK_APART = 2**26  # arcs, pairs and copies, multiplied
_SHARE_OF_ONE = 2**5  # … of one copy, which has shortest ways, too


def _too_many_hops(job: Job[Network]) -> str:
    network = job.network
    orbits = network.seen_alike or (network.symmetric is not None and job.model.name == ALL_PORT[0])
    most = _MOST_OF_ORBIT if orbits and job.collective.alike else _MOST_HOPS
    pairs = network.rank_count * (network.rank_count - 1)
    if pairs > most or pairs * (network.diameter if network.diameter_is_cheap else 1) // 2 > most:
        return f"finds a way for each pair of nodes, up to about {most:,} hops"
    return ""


@builder(
    "priced-paths",
    of_any_length(each_to_each),
    any_model=True,
    fits=_too_many_hops,
    orbit=False,
    summary="a shortest way for each pair of nodes, chosen by price so that arcs are used alike",
)
def over_priced_paths(job: Job[Network]) -> Built:
    """All-port, or any other model: each message goes a shortest way; those of a pair in up to 4 streams of equal length. x = 1.

    As few transmissions as there can be: M times the sum of all distances.
    """
    if not job.collective.demands().any():
        return NOTHING
    least = _least(job)
    share = _least_load(job, least)

    tries, one_way_each = _tries(job), job.network.arcs == 2 * (job.network.nodes - 1)
    if one_way_each and job.collective.lengths is None:  # a tree: other prices change nothing
        tries = tries[:1]
    tried = ((shortest(job, size, share, seed), max(0, seed)) for size, seed in tries)
    return _listed(job, affordable(tried, lambda each: _HOP * len(each[0])), least)


def _least(job: Job[Network]) -> int:
    known = bounds(job.collective, job.network, job.copies, job.model, against=job.against)
    return best(known, "steps").value


def _listed(job: Job[Network], tried: Iterable[tuple[Ways, int]], least: int) -> Built:
    """Return the list schedule of the fewest steps of ways and their seeds, which are tried until ``least`` steps do."""
    found = list[Timed]()
    for ways, seed in tried:
        for keys in orders(ways, takes(job.model, job.network), seed):
            found.append(listed(ways, job.model, keys))
            if found[-1].steps == least:
                return found[-1].built()
        any_cable = job.network.parallel_arcs and (job.copies == 1 or job.against != "arcs")
        if any_cable and job.model == model("all-port"):  # and no arc takes longer
            found.append(in_turns(ways, ways.tree))
    return there_and_back(*found, least=least).built()


def _least_load(job: Job[Network], least: int) -> int:
    """Return how many chunks some arc has to carry, by the bound ``least`` of steps, less those in which a cut is idle."""
    cut = best_separator(job.network) if job.collective.lengths is None else None
    chunks = job.copies * job.collective.messages
    return least - (cut.late if cut is not None and -(-chunks * cut.pairs // cut.arcs) + cut.late == least else 0)


def _tries(job: Job[Network]) -> list[tuple[int, int]]:
    """Return for each attempt how many chunks a run has at most, and the seed of the ways.

    Runs of a block are alike. Those of blocks of different lengths are short first, as they get past each other.
    """
    messages, flits = job.collective.messages, job.collective.demands()
    if job.collective.lengths is None:
        some = [
            (messages // parts, seed) for parts in (2, 3, 4) if messages % parts == 0 for seed in range(_TRIES // 3)
        ]
        together = [(messages, _ALIGNED)] if job.model.combining else []
        return [*together, *((messages, seed) for seed in range(_TRIES)), *some]
    far, size = _distances_from_all(job.network).astype(np.int64), 1
    while (hops := int((-(-flits[job.network.ranks] // size) * far).sum())) > _MANY_HOPS and size < flits.max():
        size *= 2
    sizes = {size, *(-(-int(flits.max()) // parts) for parts in (4, 2, 1) if hops <= _MOST_HOPS)}
    return [(each, seed) for each in sorted(sizes) for seed in range(_TRIES // 3)]


def orders(ways: Ways, wanted: Takes, seed: int) -> Iterator[list[Ints]]:
    """Yield the keys of orders in which hops of paths may go: those farthest from the end, or with the most waiting ahead.

    Of those equally far from the end the first are, in one order, those whose targets are fewest numbers behind their sources: so
    all nodes send to different ones at a time.
    """
    chance = np.random.default_rng(seed).permutation(len(ways)) if seed else np.zeros_like(ways.arc)
    left = ways.heights
    yield [-left, chance]
    taken = wanted.resource[ways.arc]
    load = (-(-np.bincount(taken.ravel(), minlength=wanted.resources) // wanted.room))[taken].max(axis=1, initial=0)
    ahead = load + left
    for hop in range(1, int(left.max(initial=1))):  # the most that anything ahead has to carry
        later = np.flatnonzero(left > hop)
        ahead[later] = np.maximum(ahead[later], load[later + hop] + left[later] - hop)
    yield [-ahead, -left, chance]
    if seed:
        return
    arcs, run, number = arcs_of(ways.network), ways.payload, np.zeros(ways.network.nodes, np.int64)
    number[ways.network.ranks] = np.arange(ways.network.rank_count)
    source = arcs.tail[ways.arc[np.searchsorted(run, run)]]
    target = arcs.head[ways.arc[np.searchsorted(run, run, side="right") - 1]]
    yield [-left, (number[target] - number[source]) % ways.network.rank_count]


def shortest(job: Job[Network], size: int, share: int, seed: int) -> Ways:
    """Return shortest ways of runs of at most so many chunks of each pair; no more than ``share`` chunks are to take anything."""
    network, sizes, equal = job.network, job.collective.sizes(), job.collective.lengths is None
    block, of, to = job.collective.addressed()
    of, parts = np.searchsorted(network.ranks, of), -(-sizes[block] // size)
    part = places(parts) * size
    of, goal, block = (np.repeat(column, parts) for column in (of, to, block))
    chunk, lasts = job.collective.begins()[block] + part, np.minimum(sizes[block] - part, size)
    unit = size if equal else -(-share // _MOST_LOAD)  # of loads
    weight, share = -(-lasts // unit), -(-share // unit)
    pairs = WeightedPairs(network, takes(job.model, network), _distances_from_all(network), of, goal, weight)
    routed = pairs.aligned() if seed == _ALIGNED else pairs.routed(share, seed)
    return Ways.of_paths(network, *routed, chunk=chunk, size=lasts)


class WeightedPairs(NamedTuple):
    """Pairs of nodes: ``of`` is a row of ``far``, the distances from some nodes, ``goal`` a node, ``weight`` the load of a way.

    int64 (pairs,) each.
    """

    network: Network
    wanted: Takes
    far: NDArray[np.int16]
    of: Ints
    goal: Ints
    weight: Ints

    def routed(self, share: int, seed: int, turns: int = _TURNS) -> tuple[Ints, Ints]:
        """Return shortest ways chosen by price: where that of each pair begins, and the arcs of all, one way behind the other.

        They are chosen anew so many times, or until nothing takes more than ``share``.
        """
        from treecast.plans.kernels.priced_paths import route

        arcs, first = arcs_of(self.network), starts(self.far[self.of, self.goal])
        arc, load = np.full(first[-1], -1, np.int64), np.zeros(self.wanted.resources, np.int64)
        chance, state = np.random.default_rng(seed), number_of_seed(seed)
        columns = (*arcs[1:5], self.wanted.resource, self.wanted.room, self.far, self.of, self.goal, self.weight, first)
        for _ in range(turns):
            order = chance.permutation(len(self.of))
            state = np.uint64(route(*columns, order, _prices(share), state, load, arc))
            if (-(-load // self.wanted.room)).max() <= share:
                break
        return first, arc

    def walked(self, seed: int, mixed: bool = False) -> tuple[Ints, Ints]:
        """Return the same, chosen arc by arc, of ways of load 1: in less time where there are very many shortest ways.

        ``mixed``: of arcs that take the same, each way takes one by chance.
        """
        from treecast.plans.kernels.priced_paths import walk

        arcs, first = arcs_of(self.network), starts(self.far[self.of, self.goal])
        arc, load = np.full(first[-1], -1, np.int64), np.zeros(self.wanted.resources, np.int64)
        chance = np.random.default_rng(seed)
        order = chance.permutation(len(self.of))
        mix = chance.integers(8191, size=len(arc)) if mixed else np.zeros_like(arc)
        walk(
            arcs.into,
            arcs.entering,
            arcs.tail,
            self.wanted.resource,
            self.far,
            self.of,
            self.goal,
            first,
            order,
            load,
            mix,
            arc,
        )
        return first, arc

    def of_roots(self, share: int, mixed: bool = False) -> Iterator[tuple[tuple[Ints, Ints], int]]:
        """Yield ways and their seeds: 0 and 1 are those of runs of all pairs, as list schedules try the builders of both."""
        hops, alike = int(self.far[self.of, self.goal].sum()), self.network.seen_alike
        if not alike:
            yield self.walked(2, mixed), 2
        for seed in range(2, 2 + max(int(alike), min(_TRIES, _MOST_OF_ORBIT // hops))):
            yield self.routed(share, seed), seed

    def aligned(self) -> tuple[Ints, Ints]:
        """Return shortest ways of which those of a node make a tree, over ports of low numbers first: many go together."""
        arcs, first = arcs_of(self.network), starts(self.far[self.of, self.goal])
        up, arc = np.full(self.far.shape, -1), np.empty(first[-1], np.int64)
        for a in np.lexsort((arcs.tail, arcs.port))[::-1].tolist():
            near = self.far[:, arcs.tail[a]] + 1 == self.far[:, arcs.head[a]]
            up[near, arcs.head[a]] = a
        here, at = self.goal.copy(), first[1:].copy()
        while len(left := np.flatnonzero(at > first[:-1])):
            at[left] -= 1
            arc[at[left]] = up[self.of[left], here[left]]
            here[left] = arcs.tail[arc[at[left]]]
        return first, arc


def paths_of_roots(network: Network, runs: int, mixed: bool = False) -> Timed:
    """Return ways of the ranks that represent all to all others, for several runs of a chunk each, and when their hops begin.

    The ways are shortest ones, chosen by price so that orbits of arcs are used alike: all other ranks do the same, carried by the
    network's symmetry. Run i of the j-th of all ways, by roots and then by nodes, is chunk j · runs + i.
    ``mixed``: what goes over an arc comes from many ranks, not from few, where ways can be so chosen at no cost.
    """
    roots = np.array(network.views)
    of, goal = (np.repeat(end, runs) for end in np.nonzero(roots[:, None] != network.ranks))
    far, goal = network.distance(roots[:, None], np.arange(network.nodes)).astype(np.int16), network.ranks[goal]
    wanted = in_orbits(network)
    pairs = WeightedPairs(network, wanted, far, of, goal, np.ones_like(goal))
    chunk, hops = np.arange(len(goal)), int(far[of, goal].sum())
    # some orbit of arcs has to carry so much
    degree = max(network.degree_at(v) for v in network.views)
    share = max(-(-hops // wanted.resources), -(-runs * (network.rank_count - 1) // degree))
    known = flight(Problem(Collective.over(network, "alltoall", runs), network, 1, model("all-port")), [])
    least = max(share, int(far.max()), *(bound.value for bound in known))

    def tried() -> Iterator[Timed]:
        for routed, seed in pairs.of_roots(share, mixed):
            ways = Ways.of_paths(network, *routed, chunk=chunk, size=np.ones_like(chunk))
            for keys in orders(ways, wanted, seed):
                yield list_orbits(ways, keys)

    return best_of(affordable(tried(), lambda timed: HOP * len(timed.ways)), lambda timed: timed.cost, least)


def _prices(share: int) -> Ints:
    """Return the prices of an arc that 0, 1, 2 … ways use already, if no arc is to carry more than ``share``: int64."""
    used = np.arange(2 * share + 2)
    exponent = 12 * (used + 1 - share) / max(share, 1)
    return np.minimum(_UNIT * 4.0**exponent, 2.0**40).astype(np.int64) + 1


@kept(4)
def _distances_from_all(network: Network) -> NDArray[np.int16]:
    """Return how many arcs lead from each rank (row) to each node, very many where no way does: int16 (ranks, N)."""
    far = network.distance(network.ranks[:, None], np.arange(network.nodes))
    return np.where(far < 0, _NOWHERE, far).astype(np.int16)


def _why_not(job: Job[Network]) -> str:
    """Return why there are no such copies: who has better schedules of one copy, or which node has too few ways."""
    network, copies = job.network, job.copies
    if copies == 1 and (network.seen_alike or not job.collective.all_source):
        return "is for several copies, or an alltoall on a network that does not look the same from every node"
    if network.rank_count == 1:
        return ""
    count, most = (network.rank_count - 1) * (network.rank_count if job.collective.all_source else 1), _MOST_WORK_APART
    if copies == 1:
        most //= _SHARE_OF_ONE
    if network.nodes * network.degree * count * copies > most:
        return f"finds paths where arcs, pairs of nodes and copies, multiplied, are at most {most:,}"
    sources, targets = map(np.unique, job.collective.addressed()[1:])
    back = len(targets) < len(sources)  # all ways lead to few nodes: on the network turned round they lead from them
    for node in (targets if back else sources)[: 1 if network.seen_alike else None].tolist():
        few = fewest_apart(network.reversed() if back else network, node, job.against)
        if few.ways < copies:
            start, end = network.labels([few.node, node] if back else [node, few.node])
            if back:
                return f"needs {copies} {apart(job.against)} paths from every node to {end}, but {start} has {few.ways}"
            return f"needs {copies} {apart(job.against)} paths from {start} to every node, but {end} has {few.ways}"
    return ""


_WAYS: dict[str, Any] = {
    "most_copies": connectivity,
    "any_model": True,
    "weaker": {"links": arc_connectivity, "arcs": arc_connectivity},
    "by_root": True,
    "orbit": False,
    "fits": _why_not,
    "summary": "disjoint paths to each node, chosen by price so that arcs, links or ports are used alike",
}


@builder("priced-paths", one_to_each, of_any_length(each_to_each), **_WAYS)
@builder("priced-paths", one_with_each, under=(), **_WAYS)
def over_priced_disjoint_paths(job: Job[Network]) -> Built:
    """All-port, or any other model: each message goes over x disjoint paths, as a stream over each, and survives any x-1 faults.

    Raises PlanError when there are not so many ways.
    """
    least, tries = _least(job), _TRIES_APART if job.network.rank_count > 1 else 1
    return _listed(job, ((_apart(job, least, seed), seed) for seed in range(tries)), least)


def _apart(job: Job[Network], least: int, seed: int) -> Ways:
    """Return a run of all messages for each way of each pair; no more are to take anything than ``least`` steps allow."""
    from treecast.networks.kernels.disjoint_paths import priced_disjoint_paths

    network, copies, (block, source, target) = job.network, job.copies, job.collective.addressed()
    chunk, size = job.collective.begins()[block], job.collective.sizes()[block]
    share = -(-_least_load(job, least) // int(size.max(initial=1)))
    arcs, count, inner = arcs_of(network, single=job.against == "links"), len(source), 0
    if job.against == "nodes":
        arcs, inner = split(arcs), network.nodes
    wanted, table = takes(job.model, network), _prices(share) + _LENGTH
    number = arcs_of(network).number(arcs.tail[inner:] - inner, arcs.port[inner:])
    taken = wanted.resource[number]
    load, price = np.zeros(wanted.resources, np.int64), np.full(len(arcs.head), table[0] * taken.shape[1])
    room = wanted.room
    sharing = grouped(taken.reshape(-1), np.repeat(np.arange(len(taken)), taken.shape[1]), len(load))
    price[:inner] = 0
    most_arcs = network.nodes + copies if inner else network.nodes * copies
    way, length = np.zeros((count, most_arcs), np.int32), np.zeros((count, copies), np.int32)
    kept, most, chance = (way, length), 1 << 62, np.random.default_rng(seed)
    for turn in range(_TURNS):
        order = chance.permutation(count)
        ends = (source + inner, target)
        if not priced_disjoint_paths(
            arcs[:5], ends, order, copies, table, taken, room, sharing, load, price, way, length, inner
        ):
            raise PlanError(
                f"there are no {copies} {apart(job.against)} paths from each node to each on {network.spec}"
            )
        if (busiest := int((-(-load // room)).max(initial=0))) < most:
            kept, most = (way.copy(), length.copy()), busiest
        elif turn > 3:
            break
        if most <= share:
            break
    way, length = kept
    total = length.sum(axis=1)
    arc = number[way[np.arange(way.shape[1]) < total[:, None]] - inner]
    chunk, size, tree = np.repeat(chunk, copies), np.repeat(size, copies), np.tile(np.arange(copies), count)
    return Ways.of_paths(network, starts(length.reshape(-1)), arc, chunk=chunk, size=size, tree=tree)
