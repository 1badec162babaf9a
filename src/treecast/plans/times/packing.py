"""When the sends of closed label sets go: a greedy list schedule, no port used twice in one step.

Of the sends that a port could do, the one with the most sends below it goes first. In all cases tried that takes as many steps as
the busiest port has sends; it is not proved, and each schedule shows it.
"""

from typing import NamedTuple

import numpy as np

from treecast.errors import PlanError
from treecast.models import model
from treecast.networks.core import Ints
from treecast.plans.times.timetable import listed, translated
from treecast.plans.ways.ways import Ways
from treecast.schedule import Payloads
from treecast.schedule.trees import TreeSet


class Packed(NamedTuple):
    """The sends of some label sets: which set, over which tree, to which node, in which step; int64 arrays of one length."""

    of: Ints
    tree: Ints
    node: Ints
    step: Ints
    steps: int


def pack(trees: TreeSet, masks: Ints) -> Packed:
    """Return the step of each send by which nodes receive over ``trees``, all from one root.

    ``masks``, int64 (sets, N): for each chunk that is sent, the labels of each node, bit t for tree t. The root's do not
    count. Raises PlanError when a set is not closed: a node receives by a tree by which its parent there does not.
    """
    has = (masks[:, None, :] >> np.arange(len(trees))[:, None] & 1 == 1) & (trees.parent >= 0)
    of, tree, node = np.nonzero(has)
    number = np.full(has.shape, -1)
    number[has] = np.arange(len(node))
    up = trees.parent[tree, node]
    above = number[of, tree, up]
    lacking = np.flatnonzero((above < 0) & (up != trees.root))
    if len(lacking):
        at, label = lacking[0], trees.network.label
        raise PlanError(
            f"labels that are not closed: {label(int(node[at]))} has tree {tree[at]}, its parent {label(int(up[at]))} has not"
        )
    after, nothing = np.flatnonzero(above >= 0), np.zeros_like(node)
    port, chunk = trees.port[tree, node].astype(np.int64), Payloads.of_ranges([0], [1])
    ways = Ways(trees.network, port, nothing, chunk, tree, nothing, above[after], after)
    timed = listed(ways, model("all-port"), [-ways.below], wanted=translated(trees.network))
    return Packed(of, tree, node, timed.step, timed.steps)
