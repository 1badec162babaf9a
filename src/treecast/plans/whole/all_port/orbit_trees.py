"""Allgather on a network with a symmetry: a tree of one rank of each orbit, which the symmetry carries to all others.

Communication model: store-and-forward, all-port, full duplex, one message of fixed length per arc and step. By Lemma 7 of the
star paper, for any group, rows of a step may go over arcs of different orbits: an orbit is one resource of the list schedule.
Where few arcs are gone, what they would carry goes other ways, behind all else.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treecast.collectives.traits import all_to_all
from treecast.lower_bounds import is_least
from treecast.networks import Graph, Network
from treecast.networks.arcs import arcs_of
from treecast.networks.core import Ints
from treecast.plans.built import NOTHING, Built, Job
from treecast.plans.registry import builder, has_symmetry, lacks_few_arcs, looks_different
from treecast.plans.search import best_of
from treecast.plans.times.timetable import in_orbits, list_orbits
from treecast.plans.ways.even_trees import ways_over
from treecast.plans.whole.all_port.torn_orbits import torn_orbit
from treecast.ragged import read_only
from treecast.schedule import Claims, Payloads


@builder(
    "orbits",
    all_to_all,
    on=(Graph, looks_different, has_symmetry),
    summary="a tree of shortest ways from one rank of each orbit, past few relays, whose arcs use orbits of arcs alike",
)
def over_orbit_trees(job: Job[Network]) -> Built:
    """All-port: no orbit of arcs is to carry more than the arcs into a rank do; then a list schedule of streams. x = 1.

    As few transmissions as trees of shortest ways allow; each relay is passed where it is on the way of a rank.
    """
    return _of_representatives(job)


@builder(
    "orbits",
    all_to_all,
    on=(Network, lacks_few_arcs),
    backwards=False,
    summary="the trees of the network with all its arcs, which a symmetry carries to all ranks, and trees for what is cut off",
)
def over_torn_trees(job: Job[Network]) -> Built:
    """All-port: the plan of the whole network as far as it gets; behind it trees from who has a chunk to who lacks it. x = 1."""
    whole = job.network.mended
    return NOTHING if whole is None else torn_orbit(job, _of_representatives(replace(job, network=whole)))


def _of_representatives(job: Job[Network]) -> Built:
    network, messages, roots = job.network, job.collective.messages, list(job.network.views)
    if network.rank_count == 1:
        return NOTHING
    root = np.arange(len(roots))
    ways = ways_over(network, roots, _trees(network, roots, in_orbits(network).resource[:, 0]))
    ways = replace(ways, payloads=Payloads.of_ranges(root * messages, (root + 1) * messages))
    chance = np.random.default_rng(1).permutation(len(ways))
    orders = ([-ways.heights, chance], [-ways.below, chance])
    timed = best_of(
        (list_orbits(ways, keys) for keys in orders),
        lambda timed: timed.cost,
        lambda steps: is_least(steps, job.collective, network, job.model),
    )
    built = timed.built()
    return built._replace(claims=Claims(timed.steps, timed.transmissions * (network.rank_count // len(roots))))


def _trees(network: Network, roots: list[int], orbit: Ints) -> NDArray[np.int32]:
    """Return the arcs by which nodes hear in a tree of each root, -1 where they need not: int32 (roots, N)."""
    from treecast.plans.kernels.hanging import hang

    arcs, every = arcs_of(network), np.arange(network.nodes)
    load, up = np.zeros(int(orbit.max()) + 1, np.int64), np.full((len(roots), network.nodes), -1, np.int32)
    most = -(-(network.rank_count - 1) // max(network.degree_at(root) for root in roots))
    columns = read_only(arcs.into, np.int64), arcs.entering, arcs.tail, orbit
    for root, own in zip(roots, up, strict=True):
        far, needed = network.distance(root, every), np.zeros(network.nodes, np.bool_)
        needed[network.ranks] = True
        hang(np.argsort(far, kind="stable"), far, *columns, most, load, needed, own)
    return up
