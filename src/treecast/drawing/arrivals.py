"""The arrivals of a run, for its pictures: which row delivers how many chunks during which steps."""

from typing import NamedTuple

import numpy as np

from treecast.lower_bounds import best, schedule_bounds
from treecast.networks.core import Ints
from treecast.schedule import Schedule
from treecast.simulation.faults import Faults
from treecast.simulation.replay import Trace


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
