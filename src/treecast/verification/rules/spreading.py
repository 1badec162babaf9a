"""Rules of data that spreads: a node holds the chunks that it sends, and gets those that it wants."""

import numpy as np
from numpy.typing import NDArray

from treecast.networks.core import Ints
from treecast.steps import NEVER
from treecast.verification.case import BLOCK, Case
from treecast.verification.report import SHOWN, Broken


def holds(case: Case) -> Broken:
    """Rule ``holds``: a node has received a chunk, by an earlier row, before it sends it on."""
    rows, atoms, missing = case.rows, case.atoms, first_missing(case, case.arrival)

    def why(row: int) -> str:
        atom = int(missing[row])
        first = int(case.arrival[rows.src[row], atom])
        when = "never receives it" if first == NEVER else f"first holds it at step {first}"
        return f"carries chunk {atoms.bounds[atom]}, but {case.label(rows.src[row])} {when}"

    return case.broken("holds", missing >= 0, why)


Places = tuple[NDArray[np.int32], Ints, Ints, Ints]
"""The payload of each row, and where the atoms lie in payloads: ``start``, ``atom`` and ``place``, as Atoms has them."""


def first_missing(case: Case, since: NDArray[np.int32], places: Places | None = None) -> NDArray[np.int32]:
    """Return the first atom of each row that its source does not have by then, -1 for none: int32 (rows,).

    ``since``: the step from which each node has the first chunk of each atom, int32 (N, atoms). ``places``: those of other
    payloads and atoms.
    """
    from treecast.compiled import in_parallel
    from treecast.verification.kernels.rules import not_held

    rows, atoms = case.rows, case.atoms
    payload, *tables = places or (rows.payload, atoms.start, atoms.atom, atoms.place)
    missing, by_row = np.empty(len(rows), np.int32), (rows.step, rows.pace, rows.src, payload)

    def look(a: int, b: int) -> None:
        not_held(*(column[a:b] for column in by_row), *tables, since, missing[a:b])

    in_parallel(look, len(rows), BLOCK)
    return missing


def delivered(case: Case) -> Broken:
    """Rule ``delivered``: after the last step every node holds all that the collective wants it to hold."""
    from treecast.verification.kernels.rules import undelivered

    wanted, judged = case.schedule.part.wanted(), case.is_judged(case.atoms.bounds[:-1])
    first, stop = case.atoms.spans(wanted)
    found = np.empty((SHOWN, 2), np.int64)
    arrival = case.arrival if judged.all() else np.where(judged, case.arrival, np.int32(0))
    count = int(undelivered(wanted.node, first, stop, arrival, NEVER, found))
    return count, [case.missed(node, atom) for node, atom in found[:count].tolist()]
