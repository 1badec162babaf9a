"""Plans for nodes without buffers: paths and trees of which all hops up to who keeps the data are placed at once.

Communication model: bufferless, one port or all. A node keeps what it has at first, adds to, or wants; what it only passes on
leaves in the next step. Where every node keeps all data, that asks for nothing, and builders for one port or all ports plan.
Gathers, and sums past relays that add, run backwards.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from treecast.collectives import Kind
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import BUFFERLESS, builder
from treecast.plans.search import HOP, affordable, best_of, too_much
from treecast.plans.times.timetable import Timed
from treecast.plans.times.without_waiting import Units
from treecast.plans.ways.priced_trees import LATER, trees_by_price
from treecast.plans.ways.trees.spanning import breadth_first
from treecast.plans.ways.ways import Ways
from treecast.plans.whole.all_port.priced_paths import orders, shortest
from treecast.plans.whole.any_machine.known import least_steps
from treecast.ragged import starts
from treecast.takes import takes

_TRIES, _ROOMS = 8, (1, 2, 4)  # orders of the ways; the load at which a resource is full, beside the lower bound


def _copied(kind: Kind) -> bool:
    """Return whether data goes out, as it is: what comes in, or is added up, goes so backwards."""
    return not kind.adds and kind.direction == "from"


def _few_arcs(network: Network) -> str:
    return too_much(network.arcs, 1)  # as a condition of networks it comes behind the paper's own, which search less


def _fits(job: Job[Network]) -> str:
    collective, ranks = job.collective, job.network.rank_count
    if job.model.buffered:
        return "is for nodes without buffers"
    if collective.all_keep:
        return "is for data that some node passes on and does not keep"
    if collective.sums:
        return "adds nothing up in nodes that would have to wait for the other contributions, and keep none"
    blocks = len(collective.addressed()[0]) if collective.personal else collective.chunks * ranks
    return too_much(job.network.arcs, blocks)


@builder(
    "without-waiting",
    _copied,
    under=tuple(f"{name}{half}" for name in BUFFERLESS for half in ("", ",half")),
    on=_few_arcs,
    fits=_fits,
    orbit=False,
    summary="whole paths, each at the earliest place that is free for all of its hops, in the best of some orders",
)
def without_waiting(job: Job[Network]) -> Built:
    """Bufferless: the fewest steps of shortest paths, or trees by price, that are placed whole one after the other.

    It is not proved how near the bound this is: each schedule shows it.
    """
    if not len(job.collective.classes[0]):
        return NOTHING
    least = least_steps(job)

    def timed() -> Iterator[Timed]:
        for ways, seed in affordable(_ways(job, least), lambda each: 8 * HOP * len(each[0])):
            units = Units.of(ways, job.collective, job.model)
            for key in _keys(job, ways, seed):
                yield units.placed(key)
                yield units.placed(key, soonest=True)

    return best_of(timed(), lambda each: each.cost, least).built()


def _ways(job: Job[Network], least: int) -> Iterator[tuple[Ways, int]]:
    """Yield ways, and a number for orders of their units."""
    collective, network = job.collective, job.network
    if not collective.personal:
        for seed, times, later in product(range(_TRIES), _ROOMS, LATER):
            room = times * max(1, least)
            yield trees_by_price(collective, network, job.model, room=room, later=later, seed=seed)[1], seed
        return
    if not collective.all_source:
        yield _down_tree(job), 0
    longest = int(collective.sizes().max())
    for seed in range(_TRIES):
        yield shortest(job, longest, max(least, longest), seed), seed


def _down_tree(job: Job[Network]) -> Ways:
    """Return the ways of all blocks down the breadth-first tree, as the paper's scatter has them."""
    collective, tree = job.collective, breadth_first(job.network, job.collective.root)
    block, _, at = collective.addressed()
    into, first = np.zeros(job.network.nodes, np.int64), starts(tree.depth[at])
    below = np.flatnonzero(tree.parent >= 0)
    into[below] = arcs_of(job.network).number(tree.parent[below], tree.port[below])
    arc, end = np.empty(first[-1], np.int64), first[1:].copy()
    while len(left := np.flatnonzero(end > first[:-1])):
        end[left] -= 1
        arc[end[left]] = into[at[left]]
        at[left] = tree.parent[at[left]]
    return Ways.of_paths(job.network, first, arc, chunk=collective.begins()[block], size=collective.sizes()[block])


def _keys(job: Job[Network], ways: Ways, seed: int) -> Iterator[list[Ints]]:
    """Yield orders of units, as keys of hops: those farthest from their ends first, or as paths ask for."""
    left = ways.heights
    if job.collective.personal:
        yield [-left, -ways.lengths]
        yield [-left - ways.lengths]
        yield from orders(ways, takes(job.model, job.network), seed)
        return
    # who needs another comes behind it: so farthest first in any case
    yield [-left, -ways.below]
    yield [-left, np.random.default_rng(seed).permutation(len(ways))]
