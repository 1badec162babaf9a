"""A run, for its pictures: which row delivers how many chunks during which steps, and each step by itself."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.lower_bounds import best, schedule_bounds
from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.schedule import Schedule
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
    fresh = trace.via[atom, rows.dst[row]] == row
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
    count = np.where(shift[now] > 0, 1, size[atom[now]])
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
    dies = np.full(len(has), NEVER)
    dies[list(trace.faults.nodes)] = list(trace.faults.nodes.values())
    has[dies <= step] = DEAD
    return has.astype(np.int64)
