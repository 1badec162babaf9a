"""Allgather on tori of two axes by label sets: up to four copies.

The trees are those of plans/ways/trees/directions.py. Four copies use all of them, and every port is busy in every step. For
fewer a search finds the label sets (label_search.py), anew each time: that takes much less than a second for some hundred nodes.
It met the bound on all tori tried; that is not proved, and each schedule shows it. Source: treecast's own.
"""

from collections.abc import Iterator

import numpy as np

from treecast.networks import Network, Torus
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job, best_of
from treecast.plans.registry import builder, every_port
from treecast.plans.times.packing import Packed, pack
from treecast.plans.times.pipelines import rows_into
from treecast.plans.ways.label_search import find
from treecast.plans.ways.label_sets import Ranges, by_sets
from treecast.plans.ways.trees.directions import disjoint_trees
from treecast.schedule import Payloads, Rows
from treecast.schedule.trees import TreeSet

_TRIES, _MOVES, _HOT, _SEED = 12, 2_000_000, 0.5, 3


def _lacks_torus(network: Network) -> str:
    """Say that a search is for tori: a condition, so that builders without a search are tried before it."""
    return "" if network.grid and network.seen_alike else f"needs {Torus.described}"


def _lacks_axes(network: Network) -> str:
    sides = [side for side in network.grid.sides if side > 1] if network.grid else []
    return "" if len(sides) == 2 and min(sides) > 2 else "needs a torus of two axes of three or more nodes"


@builder(
    "label-sets",
    "allgather",
    on=(_lacks_torus, _lacks_axes),
    most_copies=every_port,
    summary="each node by trees chosen so that all ports are used alike",
)
def over_label_sets(job: Job[Torus]) -> Built:
    """All-port: each node receives by x of four disjoint trees, chosen node by node so that all ports are used alike.

    Of M messages those whose copies fill all trees go by whole trees, the others by label sets.
    """
    trees = disjoint_trees(job.network)

    def whole(carried: Ranges, each: int) -> tuple[Rows, int]:
        packed = pack(trees, np.full((1, job.network.nodes), (1 << len(trees)) - 1))
        step, table = packed.step * each, Payloads.of(carried)
        return rows_into(trees, table, packed.tree, packed.node, step, payload=packed.tree), packed.steps * each

    return by_sets(job, trees, whole, lambda rest: _find_sets(trees, job.copies, rest))


def _find_sets(trees: TreeSet, copies: int, messages: int) -> Packed:
    """Return the sends of some messages by label sets: the best of several searches; the first that meets the bound ends it.

    The search for the sets of each message starts from the uses of ports by those before it. One copy is exactly one, so that
    sums can go the same way back.
    """
    k, nodes = len(trees), trees.network.nodes
    sends = messages * copies * (nodes - 1)

    def tried() -> Iterator[Packed]:
        yield pack(trees, np.full((messages, nodes), (1 << copies) - 1))
        for attempt in range(_TRIES):
            first = sum(1 << (attempt + i) % k for i in range(copies))
            uses, sets = np.zeros(k, np.int64), list[Ints]()
            for seed in range(_SEED + attempt * messages, _SEED + (attempt + 1) * messages):
                masks = np.full(nodes, first, np.int64)
                sets.append(find(trees, masks, moves=_MOVES, hot=_HOT, seed=seed, uses=uses))
            packed = pack(trees, np.stack(sets))
            if copies > 1 or len(packed.step) == sends:
                yield packed

    return best_of(tried(), lambda packed: (packed.steps,), -(-sends // k))
