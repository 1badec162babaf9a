"""Allgather on any network down trees at every rank: in several copies, by price, or at the optimal rate past relays.

Each root deals its messages over its trees. An arc that is free begins the send that has most sends below it: a list schedule.

- Several copies go down *independent* trees: the ways to each node share no other node, and each message goes down x trees. Where
  the network looks the same from every node, node 0's trees stand for all, its ports for the arcs.
- *Balanced* trees pass relays, which send each chunk on over several arcs. Arcs have prices that grow with the trees they are in,
  and trees are grown anew until the prices have done their work. For many messages the steps are M times the trees in the
  busiest arc for each tree of a rank, and some more.
- Of trees *split off* each rank has k, and no arc is in more than s of all, where 1/U = k/s is the optimum
  (plans/ways/trees/split_off.py). They carry their chunks in turns (plans/times/timetable.py). So M messages take M U steps and
  a number of steps that does not grow with M, as long as a block is a chunk; where chunks are too many for that, blocks are
  longer.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from treecast.against import Against, apart
from treecast.collectives.traits import all_to_all, of_any_length
from treecast.description import Description
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.lower_bounds.cuts import optimum
from treecast.models import model
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.networks.flows import arc_connectivity, connectivity, fewest_apart, least_cut
from treecast.plans.built import Built, Job
from treecast.plans.registry import Option, builder, looks_different, whole_number
from treecast.plans.search import HOP, WORK, best_of
from treecast.plans.times.pipelines import streams
from treecast.plans.times.timetable import Timed, in_orbits, in_turns, listed
from treecast.plans.ways.trees import axes
from treecast.plans.ways.trees.balanced import PASSES, balanced_trees
from treecast.plans.ways.trees.disjoint import known_trees
from treecast.plans.ways.trees.independent import independent_trees
from treecast.plans.ways.trees.pairs import has_thin_links, priced_pairs
from treecast.plans.ways.trees.split_off import takes_long, trees_split_off
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.allgather import least_crowded
from treecast.schedule import Claims, Schedule
from treecast.schedule.trees import TreeSet
from treecast.takes import Takes

_MOST_SENDS = 2**21  # arcs of all trees of all roots
_MOST_TREES = 2**10  # of all roots that are looked for where fewer would do
_SHOWN = 5  # nodes of a cut
_PASSES = 12  # of choosing which trees carry more
_MOST_GROWN = 2**24  # trees that are grown, times arcs
_ARC = 4 * HOP  # units of work for an arc of a tree that is tried; growing trees counts, too
_DEEPER = (0, 256)  # the costs of depth to try, beside a price of 1024 for an arc that is as full as it should be
_TREES_OF_EACH = (32, 16, 8, 4, 2)  # ranks, beside 1 and those that the optimum asks for
_MOST_RANKS = 144  # some two seconds of packing, which grows with their fourth power

SEED = Option(
    name="tree-seed",
    summary="The seed of the search for packed trees: the same seed gives the same trees.",
    read=whole_number("seed", 0, 999_999_999),
)


def seed_of(job: Job[Any]) -> int:
    """Return the seed of a job, by default 1."""
    return int(job.options.get(SEED.keyword, 1))


def _looks_different_over_ports(network: Network) -> str:
    if not network.seen_alike:
        return "has other trees at every root of networks that do not look the same from it"
    return "needs a network whose ports do not look alike; on this one use disjoint-trees" * network.ports_alike


def _lacks_need(job: Job[Network]) -> str:
    network = job.network
    if network.relays is not None and job.copies == 1:
        return "is for several copies where there are relays: builder priced-trees sends one"
    sources = 1 if network.seen_alike and job.collective.alike else network.rank_count
    if sources * network.nodes * job.copies > _MOST_SENDS:
        return f"has trees of up to {_MOST_SENDS:,} arcs in all, and {network.spec} needs more"
    # one way leads everywhere: whoever asks for an allgather has checked that, and connectivity takes long to count
    return _cut_off(job) if job.copies > 1 and job.copies > _most(network, job.against) else ""


def _most(network: Network, against: Against) -> int:
    return connectivity(network) if against == "nodes" else arc_connectivity(network, against)


def _cut_off(job: Job[Network]) -> str:
    """Return between which nodes there are fewer ways than copies, and the least cut between them."""
    network = job.network
    if network.rank_count == 1:
        return f"sends nothing on {network.spec}, which has one node: one copy, then"
    asked = f"needs {job.copies} {apart(job.against)} paths between any two nodes"
    for root in network.views:
        found = fewest_apart(network, root, job.against)
        if found.ways < job.copies:
            cut = least_cut(network, root, found.node, job.against)
            names = f" (cut by {', '.join(cut[:_SHOWN])}{' …' if len(cut) > _SHOWN else ''})" if cut else ""
            return f"{asked}, but {network.label(root)} has {found.ways} to {network.label(found.node)}{names}"
    return asked


_TREES: dict[str, Any] = {
    "most_copies": connectivity,
    "weaker": {"links": arc_connectivity, "arcs": partial(arc_connectivity, against="arcs")},
    "by_root": True,
    "fits": _lacks_need,
    "backwards": False,
}


def _lacks_roots(job: Job[Network]) -> str:
    if job.network.seen_alike and job.collective.lengths is None:
        return "has translated trees for networks that look the same from every node"
    return _lacks_need(job)


_EVERY_ROOT: dict[str, Any] = _TREES | {
    "fits": _lacks_roots,
    "orbit": False,
    "summary": "trees at every root with node-disjoint paths; an arc first sends the chunk with most sends below it",
}


@builder("packed-trees", of_any_length(all_to_all), **_EVERY_ROOT)
def over_trees_of_every_root(job: Job[Network]) -> Built:
    """All-port: each root's messages go down x trees of its own with node-disjoint paths: to N - 1 nodes x times each.

    The bound is ⌈M x (N - 1) / least in-degree⌉ steps. It is met where the arcs into each node are used alike and the list
    schedule leaves no gaps; each schedule shows how far it is from it.
    """
    roots, network = _roots(job).tolist(), job.network
    found: list[Sequence[TreeSet]] = [[_trees(job, root) for root in roots]]
    if job.copies == 2 and has_thin_links(network, job.against):
        found += [pairs] if (pairs := priced_pairs(network, tuple(roots), job.against)) else []
    tried = (_evenly_dealt(job, sets) for sets in found)
    # any tree may take any cable of its link; but against arcs a link may have two ways to a node
    any_cable = network.parallel_arcs and job.against != "arcs" and roots
    times = (in_turns(ways, ways.payload) if any_cable else list_of_trees(ways) for ways in tried)
    return min(times, key=lambda timed: timed.steps).built()


@builder(
    "packed-trees",
    all_to_all,
    on=_looks_different_over_ports,
    summary="trees with node-disjoint paths, translated to every root; a port first sends the chunk with most sends below it",
    **_TREES,
)
def over_translated_trees(job: Job[Network]) -> Built:
    """All-port: node 0's messages go down x trees with node-disjoint paths, and all others' down the translates of these.

    The bound is ⌈M x (N - 1) / k⌉ steps. It is met where all ports are used alike and the list schedule leaves no gaps.
    """
    network = job.network
    found = [_trees(job, 0)] if network.nodes > 1 else []
    longer = [least_crowded(trees, _left_over(job, trees)) for trees in found]
    built = list_of_trees(_dealt(job, found, longer), in_orbits(network)).built()
    return built._replace(claims=Claims(built.claims.steps, built.claims.transmissions * network.nodes))


def _trees(job: Job[Network], root: int) -> TreeSet:
    """Return x trees of a root or more, any two of which have node-disjoint paths to each node. Raises PlanError."""
    network, copies = job.network, job.copies
    if copies > 1 and network.grid is not None and not network.grid.wraps:
        return axes.axis_trees(network, root)
    known = known_trees().get(network.family)
    if copies > 1 and known is not None:
        return known.disjoint_trees(network, root)
    roots = 1 if network.seen_alike else network.rank_count
    most, against = _most(network, job.against) if copies > 1 else 1, job.against
    found = independent_trees(network, root, most, against=against) if most * roots <= _MOST_TREES else None
    found = independent_trees(network, root, copies, against=against) if found is None else found
    if found is None:
        raise PlanError(
            f"no {copies} trees to all ranks with {apart(against)} paths were found on {network.spec} from {network.label(root)}"
        )
    return found


def _roots(job: Job[Network]) -> Ints:
    """Return the ranks that have something to send to others."""
    ranks = job.network.ranks
    return ranks[job.collective.sizes()[ranks] > 0] if len(ranks) > 1 else ranks[:0]


def _left_over(job: Job[Network], trees: TreeSet) -> int:
    """Return how many trees carry one chunk more than the others."""
    return _size(job, trees) * job.copies % len(trees)


def _size(job: Job[Network], trees: TreeSet) -> int:
    """Return how many chunks the root of some trees has."""
    return int(job.collective.sizes()[trees.root])


def _evenly_dealt(job: Job[Network], found: Sequence[TreeSet]) -> Ways:
    """Return the ways of each root's messages down its trees, of which such carry a chunk more that all arcs are used alike.

    No arc is in two trees of a root. So each root takes the trees that cost least beside those of the others, a few times over.
    """
    load, every = np.zeros(job.network.arcs, np.int64), arcs_of(job.network)
    arcs = [
        [every.number(up[up >= 0], port[up >= 0]) for up, port in zip(trees.parent, trees.port, strict=True)]
        for trees in found
    ]
    longer: list[list[int]] = [[] for _ in found]
    for root, trees in enumerate(found):
        for used in arcs[root]:
            load[used] += _size(job, trees) * job.copies // len(trees)
    for _ in range(_PASSES):
        for root, trees in enumerate(found):
            for tree in longer[root]:
                load[arcs[root][tree]] -= 1
            least = load.min()
            costs = [int(((load[used] - least + 1) ** 4).sum()) for used in arcs[root]]
            longer[root] = sorted(range(len(trees)), key=lambda tree: costs[tree])[: _left_over(job, trees)]
            for tree in longer[root]:
                load[arcs[root][tree]] += 1
    return _dealt(job, found, longer)


def _dealt(job: Job[Network], found: Sequence[TreeSet], longer: list[list[int]]) -> Ways:
    """Return the ways of each root's messages down its trees; those of ``longer`` carry a chunk more than others, if some do."""
    begin, parts = job.collective.begins(), list[tuple[TreeSet, list[list[tuple[int, int]]]]]()
    for trees, more in zip(found, longer, strict=True):
        carried = streams(_size(job, trees), len(trees), job.copies)
        ordered = sorted(carried, key=lambda ranges: sum(b - a for a, b in ranges))
        last, base = len(ordered) - len(more), int(begin[trees.root])
        short, long = iter(ordered[:last]), iter(ordered[last:])
        ranges = [next(long if tree in more else short) for tree in range(len(trees))]
        parts.append((trees, [[(base + a, base + b) for a, b in each] for each in ranges]))
    return Ways.of_trees(job.network, parts, apart=job.network.parallel_arcs)


def list_of_trees(ways: Ways, wanted: Takes | None = None) -> Timed:
    """Return a list schedule of ways down trees for all ports: those go first that have most sends below them.

    ``wanted``: the resources of arcs, where those are not the arcs themselves.
    """
    return listed(ways, model("all-port"), [-ways.below * ways.lengths], wanted=wanted)


def _outgrown(job: Job[Network]) -> str:
    network = job.network
    if network.rank_count * network.nodes > _MOST_SENDS or network.rank_count * network.arcs > _MOST_GROWN:
        return f"has trees of up to {_MOST_SENDS:,} arcs in all, and {network.spec} needs more"
    return ""


def _facts_of_rate(job: Job[Network], schedule: Schedule, depth: int) -> Description:
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
    "priced-trees",
    of_any_length(all_to_all),
    on=looks_different,
    fits=_outgrown,
    orbit=False,
    summary="trees at every rank, past relays, chosen by price such that arcs are used alike; a list schedule",
    facts=_facts_of_rate,
)
def over_balanced_trees(job: Job[Network]) -> Built:
    """All-port: each rank's messages go down trees of its own, which pass relays; arcs are used alike as far as prices lead.

    It is not proved how near the bound this is: each schedule shows it.
    """
    network, sizes, roots = job.network, job.collective.sizes(), _roots(job)
    if not len(roots):
        return list_of_trees(_dealt(job, [], [])).built()
    least, longest = best(bounds(job.collective, network, 1, job.model), "steps").value, int(sizes[roots].max())

    def made(trees: int, deeper: int) -> Timed:
        each, alike = -(-longest // trees), job.collective.lengths is None  # chunks down a tree
        most = float(trees / optimum(network)) if alike else least / each
        found = balanced_trees(network, roots.tolist(), trees if alike else -(-sizes[roots] // each), most, deeper)
        return list_of_trees(_evenly_dealt(job, found))

    tried = (made(*attempt) for attempt in _attempts(network, longest))
    return best_of(tried, lambda timed: (timed.steps,), least).built()


def _attempts(network: Network, messages: int) -> list[tuple[int, int]]:
    """Return how many trees for each rank are worth trying, with the cost of depth: as many pairs as the work allowed."""
    most, left = optimum(network).numerator, WORK // _ARC
    counts = dict.fromkeys(count for count in (1, 4 * most, 2 * most, most, *_TREES_OF_EACH) if count <= messages)
    found = list[tuple[int, int]]()
    for deeper, count in product(_DEEPER, counts):
        work = count * network.rank_count * (network.nodes + PASSES * network.arcs // 64)
        if not found or work <= left:
            found.append((count, deeper))
            left -= work
    return found


def _needless(network: Network) -> str:
    """Return why nobody needs such trees on a network: where all links are alike, matchings are as good."""
    if network.relays is None and not network.parallel_arcs:
        return "is for networks with relays or capacities: builder spread is for others"
    return ""


def _too_large(job: Job[Network]) -> str:
    network = job.network
    if network.rank_count > _MOST_RANKS:
        return f"packs trees of up to {_MOST_RANKS} ranks, which takes seconds, and {network.spec} has {network.rank_count}"
    return takes_long(network)


@builder(
    "packed-trees",
    all_to_all,
    on=_needless,
    fits=_too_large,
    orbit=False,
    options=(SEED,),
    summary="trees of every rank at the optimal rate, by splitting off relays; sent in turns",
    facts=_facts_of_rate,
)
def over_split_off_trees(job: Job[Network]) -> Built:
    """All-port: k trees of each rank, no arc in more than s of all, where k/s messages in a step are the most there can be.

    M s / k steps, and a number that does not grow with M. Raises PlanError where a relay cannot be split off: more arcs lead to
    it than from it, or fewer.
    """
    if job.network.rank_count == 1:
        return list_of_trees(_dealt(job, [], [])).built()
    ways = _evenly_dealt(job, list(trees_split_off(job.network, seed_of(job))))
    return in_turns(ways, ways.payload).built()
