"""Fraigniaud's broadcast and gossip on the hypercube, the baseline of Chau & Fu: down k + 1 arc-disjoint trees.

Communication model: store-and-forward, full duplex, messages combine; *whispering*: one dimension after the other; *shouting*:
all at once.
Source: Fraigniaud, "Asymptotically optimal broadcasting and gossiping in faulty hypercube multicomputers" (1992), as Chau &
Fu cite it.
"""

import numpy as np

from treecast.networks import Hypercube
from treecast.networks.core import Ints
from treecast.plans.built import Built, Job
from treecast.plans.order import ORDER, check_order
from treecast.plans.registry import builder
from treecast.plans.ways.trees.calling_paths import calling_trees
from treecast.plans.whole.combining.dimension_order import CUBE
from treecast.schedule import Claims, Payloads, Rows
from treecast.schedule.trees import TreeSet


@builder(
    "fraigniaud",
    "broadcast",
    "allgather",
    options=(ORDER,),
    baseline=True,
    summary="Fraigniaud: arc-disjoint trees, one dimension after the other (whispering) or all at once (shouting)",
    **CUBE,
)
def fraigniaud(job: Job[Hypercube]) -> Built:
    """Combining: Fraigniaud's scheme under the model's ports, the baseline."""
    return (fraigniaud_whispering if job.model.ports == "one" else fraigniaud_shouting)(job)


def fraigniaud_whispering(job: Job[Hypercube]) -> Built:
    """Whispering: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, a dimension a step.

    d + k + 1 steps, (k+1)(n-1) messages.
    """
    cube, collective, order = job.network, job.collective, job.options.get("order")
    trees, place = calling_trees(cube, order, collective.root), np.argsort(check_order(cube.d, order))
    every = np.flatnonzero(np.arange(cube.nodes) != collective.root)
    steps: list[Ints] = []
    for tree in range(min(job.copies, cube.d)):
        at = place[trees.port[tree][every]]
        wrapped = (at < tree) | ((at == tree) & (trees.parent[tree][every] != collective.root))
        steps.append(at + cube.d * wrapped)
    return _down(trees, job, steps, cube.d + job.copies if cube.d > 1 else cube.d)


def fraigniaud_shouting(job: Job[Hypercube]) -> Built:
    """Shouting: the baseline, Fraigniaud's scheme: down k + 1 = ``copies`` arc-disjoint trees, all at once: d + 1 steps."""
    trees = calling_trees(job.network, job.options.get("order"), job.collective.root)
    every = np.flatnonzero(np.arange(job.network.nodes) != job.collective.root)
    depth = trees.depths[: job.copies, every].astype(np.int64)
    return _down(trees, job, list(depth - 1), int(depth.max(initial=0)))


def _down(trees: TreeSet, job: Job[Hypercube], steps: list[Ints], length: int) -> Built:
    """Return the schedule in which each arc of the first trees carries everything, at the step given for its lower end."""
    collective, copies = job.collective, job.copies
    every = np.flatnonzero(np.arange(trees.network.nodes) != trees.root)
    tree = np.repeat(np.arange(copies if len(every) else 0), len(every))
    dst = np.tile(every, copies) if len(tree) else tree
    step, src, port = np.concatenate([tree[:0], *steps]), trees.parent[tree, dst], trees.port[tree, dst]
    table = Payloads.of([[(0, collective.messages)]])
    rows = Rows.of(table, step=step, steps=1, src=src, dst=dst, port=port, tree=tree, payload=0)
    sources = trees.network.nodes if collective.all_source else 1
    return Built(rows, Claims(length if len(tree) else 0, copies * len(every) * sources * collective.messages))
