"""How a gather tells its nodes when to begin: the figures B, C, M and H of its tree, read off its control flits."""

from typing import NamedTuple

import numpy as np

from treecast.schedule import Schedule
from treecast.schedule.tree_of_rows import first_controls


class Waking(NamedTuple):
    """The figures of a gather that tells its nodes when to begin, in the letters of Bhatt, Pucci, Ranade & Rosenberg.

    ``broadcast``: B, the steps in which tokens or wake-ups go down. ``collection``: C, the steps from then until the root has all
    certificates; 0 where nodes do not certify. ``flits``: M, of all messages. ``height``: H, of the tree.
    """

    broadcast: int
    collection: int
    flits: int
    height: int

    def __str__(self) -> str:
        return f"B = {self.broadcast:,}, C = {self.collection:,}, M = {self.flits:,}, H = {self.height:,}"


def waking_of(schedule: Schedule) -> Waking | None:
    """Return the figures of a gather that tells its nodes when to begin; None where no node is told, or none has to be."""
    rows, part = schedule.rows, schedule.part
    if part.direction != "to" or part.lengths is None or not rows.control.any():
        return None
    parent, row = first_controls(schedule)
    broadcast = int(rows.step[row[parent >= 0]].max()) + 1
    up = rows.control & (parent[rows.src] == rows.dst)
    done = int(rows.step[up].max(initial=broadcast - 1)) + 1
    above = np.where(parent >= 0, parent, part.root)
    depth = (parent >= 0).astype(np.int64)  # arcs to the node ``above``, which is twice as far each time
    while (depth[above] > 0).any():
        depth, above = depth + depth[above], above[above]
    return Waking(broadcast, done - broadcast, part.lengths.total, int(depth.max()))
