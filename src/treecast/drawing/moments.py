"""One step of a run: which arcs carry which chunks, and the data of each node at the beginning of the step."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.ragged import places
from treecast.simulation.replay import Trace
from treecast.steps import NEVER

NOTHING, SOME, ALL, DEAD = range(4)
"""The data of a node: none, a part of all that it gets, all that it wants; or it has died."""


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
