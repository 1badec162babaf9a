"""Data on its way, for pictures: the chunks that rows of a run deliver, and the passages of messages of any length, hop by hop.

Of a run: which row delivers how many chunks during which steps, and each step by itself. A *passage* is a message, or a part of
one, on one link: consecutive flits in consecutive steps, from a root or to it. The link belongs to the node *below*, the end of
it that is farther from the root.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.collectives import Lengths
from treecast.drawing.registry import View
from treecast.errors import TreecastError
from treecast.lower_bounds import best, schedule_bounds
from treecast.ragged import Ints, places
from treecast.schedule import Pieces, Schedule
from treecast.schedule.tree_of_rows import link_ends, tree_of
from treecast.simulation.faults import Faults
from treecast.simulation.replay import Trace
from treecast.steps import NEVER

NOTHING, SOME, ALL, DEAD = range(4)
"""The data of a node: none, a part of all that it gets, all that it wants; or it has died."""


def fewest_steps(schedule: Schedule, faults: Faults | None) -> int | None:
    """Return the lower bound of steps; None under faults.

    The parts that fail may be those that take longest: the bounds are those of the intact network.
    """
    if faults:
        return None
    return best(schedule_bounds(schedule), "steps").value


class Received(NamedTuple):
    """The chunks that nodes receive, as runs of steps: row ``row[i]`` delivers ``chunks[i]`` in ``start[i] … stop[i]-1``.

    A paced row delivers in one of every so many of these steps. int64, sorted by row and then by step. The runs of a row do not
    touch; without faults each row has one.
    """

    row: Ints
    start: Ints
    stop: Ints
    chunks: Ints


def find_received(trace: Trace) -> Received:
    """Return the chunks that arrive: sent by a node that had them, to a node that was alive."""
    moves, atoms = trace.moves, trace.atoms
    arrived = np.flatnonzero(trace.arrived)
    atom = moves.atom[arrived]
    row, start, length = moves.row[arrived], moves.time[arrived], atoms.lengths[atom]
    stop = start + atoms.steps[atom]
    order = np.lexsort((start, row))
    row, start, stop, length = row[order], start[order], stop[order], length[order]
    begins = np.ones(len(row), bool)
    # a run goes on where the next atom comes no later than the pace of the row says
    begins[1:] = (row[1:] != row[:-1]) | (start[1:] >= stop[:-1] + np.maximum(trace.schedule.rows.pace[row[1:]], 1))
    run = np.flatnonzero(begins)
    if not len(run):
        return Received(row, start, stop, length)
    return Received(row[run], start[run], np.maximum.reduceat(stop, run), np.add.reduceat(length, run))


def find_spare(trace: Trace) -> tuple[Ints, Ints, Ints]:
    """Return when rows deliver only chunks that their receivers have already: the row, from which step, until which.

    int64 (runs,) each. Sums are never spare: each contribution counts.
    """
    moves, atoms, rows = trace.moves, trace.atoms, trace.schedule.rows
    atom = moves.atom
    there = np.flatnonzero(trace.arrived & (atoms.bounds[atom] >= trace.schedule.part.sums))
    row, start, atom = moves.row[there], moves.time[there], atom[there]
    fresh = trace.via[atom, rows.dst[row]] == row  # the first arrival at its receiver
    stop = start + atoms.steps[atom]
    key, of = np.unique(np.column_stack([row, start, stop]), axis=0, return_inverse=True)
    spare = np.bincount(of.ravel(), fresh, len(key)) == 0 if len(key) else np.zeros(0, np.bool_)
    row, start, stop = key[spare].T
    return row, start, stop


class Moment(NamedTuple):
    """The sends of a step: chunk ``chunk[i]`` by row ``row[i]``, or a control flit where it is -1, and whether it arrives.

    int64 and bool (sends,). ``has``: the state of each node at the beginning of the step, int64 (N,).
    """

    step: int
    row: Ints
    chunk: Ints
    arrives: NDArray[np.bool_]
    has: Ints


def moment_of(trace: Trace, step: int) -> Moment:
    """Return the moment of a step of a run; behind the last step, the state of the nodes in the end."""
    moves = trace.moves
    atom, size = moves.atom, trace.atoms.lengths
    shift, gone = trace.atoms.shift[atom], step - moves.time
    apart = np.maximum(shift, 1)
    now = np.flatnonzero((gone >= 0) & (gone < trace.atoms.steps[atom]) & (gone % apart == 0) & trace.moved)
    count = np.where(shift[now] > 0, 1, size[atom[now]])  # of a stream one chunk, else all at once
    which = np.repeat(now, count)
    first = trace.atoms.bounds[atom[which]] + gone[which] // apart[which]
    rows = trace.schedule.rows
    control = np.flatnonzero(rows.control & (rows.step == step))
    return Moment(
        step,
        np.concatenate([moves.row[which], control]),
        np.concatenate([first + places(count), np.full(len(control), -1)]),
        np.concatenate([trace.arrived[which], np.ones(len(control), np.bool_)]),
        _has(trace, step),
    )


def _has(trace: Trace, step: int) -> Ints:
    """Return the state of each node at the beginning of a step: int64 (N,)."""
    done = trace.completion
    has = np.where(trace.arrival.min(axis=0, initial=NEVER) <= step, SOME, NOTHING)
    has[(done > 0) & (done <= step)] = ALL
    dies = np.full(len(has), NEVER)  # beyond all steps: it lives
    dies[list(trace.faults.nodes)] = list(trace.faults.nodes.values())
    has[dies <= step] = DEAD
    return has.astype(np.int64)


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

    They pass during ``step … step+steps-1``, all at once where messages combine. ``depth`` is the distance of ``below`` from the
    root in its tree, ``branch`` the child of the root above it (or itself). int64, sorted by step.
    """

    message: Ints
    first: Ints
    flits: Ints
    step: Ints
    below: Ints
    depth: Ints
    branch: Ints
    steps: Ints


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
        # which messages each piece meets: several where a range goes over their ends
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
        steps, order = np.where(columns.pace[row] == 0, 1, flits), np.lexsort((first, step))
        return Passages(
            *(column[order].astype(np.int64) for column in (message, first, flits, step, below, depth, branch, steps))
        )

    def controls(self) -> Controls:
        """Return the control flits. From above, the first tells a node that there is a gather, the second that it begins."""
        rows = self.schedule.rows
        control = np.flatnonzero(rows.control)
        below, step = self.ends[1][control], rows.step[control].astype(np.int64)
        down, tree = rows.dst[control] == below, rows.tree[control].astype(np.int64)
        order = np.lexsort((step, below, tree))
        again = np.zeros(len(control), bool)
        mine = order[down[order]]
        # told once more over the same link, in the same tree
        again[mine[1:]] = (below[mine[1:]] == below[mine[:-1]]) & (tree[mine[1:]] == tree[mine[:-1]])
        told = TOKEN if not down.all() or again.any() else WAKE_UP  # reports or orders: the first word is a token
        kind = np.where(~down, CERTIFICATE, np.where(again, ORDER, told))
        depth, branch = self._where(tree, below)
        return Controls(step, below, depth, branch, kind)

    def _where(self, tree: Ints, below: Ints) -> tuple[Ints, Ints]:
        depth, branch = np.zeros_like(below), np.zeros_like(below)
        for number, walk in self.tree.items():
            mine = tree == number
            depth[mine], branch[mine] = walk.depth[below[mine]], walk.branch[below[mine]]
        return depth, branch
