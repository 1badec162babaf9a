"""The passages of messages of any length from a root or to it, hop by hop, for the pictures of them.

A *passage* is a message, or a part of one, on one link: consecutive flits in consecutive steps. The link belongs to the
node *below*, the end of it that is farther from the root.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecast.collectives import Lengths
from treecast.drawing.registry import View
from treecast.errors import TreecastError
from treecast.ragged import Ints, places
from treecast.schedule import Pieces, Schedule
from treecast.schedule.tree_of_rows import link_ends, tree_of

WAKE_UP, TOKEN, CERTIFICATE, ORDER = range(4)
"""The messages of control flits."""
CONTROLS = ("wake-up", "token", "certificate", "order to begin")
_MOST_PASSAGES = 2_000_000


def why_no_passages(schedule: Schedule, view: View) -> str:
    """Return why the messages of a schedule cannot be drawn on their way, or an empty text."""
    if schedule.collective.lengths is None:
        return "its messages have no lengths of their own"
    if not schedule.collective.traits.one_way:
        return "its messages do not all come from a root, or go to it"
    return "messages on their way show no faults" if view.faults else ""


class Passages(NamedTuple):
    """Passages of ``flits`` flits, from flit ``first`` on, of the message of node ``message`` on the link above ``below``.

    They pass during ``step … step+flits-1``, ``depth`` is the distance of ``below`` from the root in its tree, ``branch`` the
    child of the root above it (or itself). int64, sorted by step.
    """

    message: Ints
    first: Ints
    flits: Ints
    step: Ints
    below: Ints
    depth: Ints
    branch: Ints


class Controls(NamedTuple):
    """The control flits: in which step, on the link above which node, and their messages (``TOKEN`` …). int64, by step."""

    step: Ints
    below: Ints
    depth: Ints
    branch: Ints
    kind: Ints


@dataclass(frozen=True, eq=False)
class Walk:
    """How far each node is from the root, and below which child of it, in one tree; ``order``: the nodes, by branches.

    Nodes outside the tree have their distance in the network, are their own branch, and are not in ``order``.
    """

    depth: Ints
    branch: Ints
    order: list[int]

    @staticmethod
    def of(schedule: Schedule, rows: Ints, ends: tuple[Ints, Ints]) -> "Walk":
        """Walk down the links that rows use; where a node has two above it, the earlier row counts."""
        tree, every = tree_of(schedule, rows, ends), np.arange(schedule.network.nodes)
        depth = schedule.network.distance(tree.root, every).astype(np.int64)
        depth[tree.order] = tree.depth[tree.order]
        branch = every.copy()
        branch[tree.order] = tree.branch[tree.order]
        return Walk(depth, branch, tree.preorder().tolist())


@dataclass(frozen=True, eq=False)
class MessageStreams:
    """A schedule of messages of any length, a scatterv or gatherv, as pictures see it."""

    schedule: Schedule

    @property
    def lengths(self) -> Lengths:
        """The lengths of the messages."""
        lengths = self.schedule.part.lengths
        if lengths is None:
            raise TreecastError(f"a {self.schedule.part.kind} has no messages of different lengths")
        return lengths

    @property
    def flits(self) -> Ints:
        """The length of each node's message: int64 (N,)."""
        return self.lengths.flits

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """The node above and the node below of the link of each row: int64 (rows,) both."""
        return link_ends(self.schedule)

    @cached_property
    def tree(self) -> dict[int, Walk]:
        """A walk for each tree, -1 for control flits."""
        rows = self.schedule.rows
        return {int(t): Walk.of(self.schedule, np.flatnonzero(rows.tree == t), self.ends) for t in np.unique(rows.tree)}

    def walk(self) -> Walk:
        """Return the walk that says most: where control flits go, or else all trees in one."""
        return (
            self.tree[-1] if -1 in self.tree else Walk.of(self.schedule, np.arange(len(self.schedule.rows)), self.ends)
        )

    def passages(self, rows: Ints | None = None) -> Passages:
        """Return the passages of all rows, or of some. Raises TreecastError where there are too many to draw."""
        schedule, lengths = self.schedule, self.lengths
        columns, piece = schedule.rows, schedule.rows.runs
        if rows is not None:
            shown = np.zeros(len(columns), np.bool_)
            shown[rows] = True
            piece = Pieces(*(column[shown[piece.row]] for column in piece))
        some = lengths.sequence[lengths.flits[lengths.sequence] > 0]  # in the order of their flits
        low = np.searchsorted(lengths.stop[some], piece.first, side="right")
        count = np.searchsorted(lengths.first[some], piece.stop, side="left") - low
        if (total := int(count.sum())) > _MOST_PASSAGES:
            raise TreecastError(
                f"{total:,} passages of messages over links cannot be drawn, {_MOST_PASSAGES:,} at most: "
                "plan it on a smaller network, or with fewer messages that are not null"
            )
        of = np.repeat(np.arange(len(count)), count)
        message = some[low[of] + places(count)]
        first = np.maximum(piece.first[of], lengths.first[message])
        flits = np.minimum(piece.stop[of], lengths.stop[message]) - first
        row = piece.row[of]
        step = columns.leaves(row, piece.place[of] + first - piece.first[of])
        below = self.ends[1][row]
        depth, branch = self._where(columns.tree[row].astype(np.int64), below)
        order = np.lexsort((first, step))
        return Passages(
            *(column[order].astype(np.int64) for column in (message, first, flits, step, below, depth, branch))
        )

    def controls(self) -> Controls:
        """Return the control flits. From above, the first tells a node that there is a gather, the second that it begins."""
        rows = self.schedule.rows
        control = np.flatnonzero(rows.control)
        below, step = self.ends[1][control], rows.step[control].astype(np.int64)
        down = rows.dst[control] == below
        order = np.lexsort((step, below))
        again = np.zeros(len(control), bool)
        mine = order[down[order]]
        again[mine[1:]] = below[mine[1:]] == below[mine[:-1]]
        told = TOKEN if not down.all() or again.any() else WAKE_UP
        kind = np.where(~down, CERTIFICATE, np.where(again, ORDER, told))
        depth, branch = self._where(rows.tree[control].astype(np.int64), below)
        return Controls(step, below, depth, branch, kind)

    def _where(self, tree: Ints, below: Ints) -> tuple[Ints, Ints]:
        depth, branch = np.zeros_like(below), np.zeros_like(below)
        for number, walk in self.tree.items():
            mine = tree == number
            depth[mine], branch[mine] = walk.depth[below[mine]], walk.branch[below[mine]]
        return depth, branch
