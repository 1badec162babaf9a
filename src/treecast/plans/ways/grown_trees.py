"""Trees that grow arc by arc under any machine, each beside all others: even loads, and nodes that hear early.

The cheapest arc that leads out of a tree is its next one. It costs more, the more sends take its resources, and the later its
head hears; over one port a node tells its children one after the other. Each tree grows anew a few times.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from treecast.collectives import Collective
from treecast.networks import Network
from treecast.networks.arcs import arcs_of
from treecast.plans.built import Job
from treecast.plans.ways.even_trees import of_one_chunk, roots_of, ways_over
from treecast.plans.ways.ways import Ways
from treecast.takes import takes

_TREES, _LATER = (1, 2, 4, 8), (0.125, 0.5)  # of each root, and the cost of a step later beside that of a send more
_PASSES, _TIE = 4, 2.0**-10


def grown_ways(job: Job[Network]) -> Iterator[tuple[Collective, Ways]]:
    """Yield the ways of grown trees, of data that everybody wants in one copy, and the collective of a message for each tree."""
    for trees, later in product(_TREES, _LATER):
        if roots := roots_of(job, trees):
            yield of_one_chunk(job, trees, _grown(job, roots, later))


def _grown(job: Job[Network], roots: list[int], later: float) -> Ways:
    from treecast.kernels.plans.growing import grow

    network, wanted = job.network, takes(job.model, job.network)
    arcs, top = arcs_of(network), np.array(roots, np.int64)
    up = np.full((len(top), network.nodes), -1, np.int64)
    ties, load = _TIE * np.random.default_rng(1).random((len(top), network.arcs)), np.zeros(wanted.resources, np.int64)
    ends = (arcs.first.astype(np.int64), arcs.head.astype(np.int64))
    table = (wanted.resource, wanted.room, wanted.ports, wanted.gap, wanted.delay)
    grow(top, *ends, *table, later, _PASSES, ties, load, up)
    return ways_over(network, roots, up.astype(np.int32))
