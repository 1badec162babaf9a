"""Rules of data that spreads: a node holds the chunks that it sends, and gets those that it wants."""

import numpy as np

from treecast.steps import NEVER
from treecast.verification.case import BLOCK, Case
from treecast.verification.report import SHOWN, Broken, Violation


def holds(case: Case) -> Broken:
    """Rule ``holds``: a node has received a chunk, by an earlier row, before it sends it on."""
    from treecast.kernels.compiled import in_parallel
    from treecast.kernels.rules import not_held

    rows, atoms = case.rows, case.atoms
    missing = np.empty(len(rows), np.int32)
    by_row = (rows.step, case.rows.streaming, rows.src, rows.payload)
    tables = (atoms.start, atoms.atom, atoms.place, case.arrival)
    in_parallel(lambda a, b: not_held(*(column[a:b] for column in by_row), *tables, missing[a:b]), len(rows), BLOCK)

    def why(row: int) -> str:
        atom = int(missing[row])
        first = int(case.arrival[rows.src[row], atom])
        when = "never receives it" if first == NEVER else f"first holds it at step {first}"
        return f"carries chunk {atoms.bounds[atom]}, but {case.label(rows.src[row])} {when}"

    return case.broken("holds", missing >= 0, why)


def delivered(case: Case) -> Broken:
    """Rule ``delivered``: after the last step every node holds all that the collective wants it to hold."""
    from treecast.kernels.rules import undelivered

    wanted = case.schedule.part.wanted()
    first, stop = case.atoms.spans(wanted)
    found = np.empty((SHOWN, 2), np.int64)
    count = int(undelivered(wanted.node, first, stop, case.arrival, NEVER, found))
    return count, [_not_delivered(case, node, atom) for node, atom in found[:count].tolist()]


def _not_delivered(case: Case, node: int, atom: int) -> Violation:
    first, stop = int(case.atoms.bounds[atom]), int(case.atoms.bounds[atom + 1])
    what = f"chunk {first}" if stop == first + 1 else f"chunks {first}-{stop - 1}"
    return Violation("delivered", f"{case.label(node)} never receives {what}", -1, (node,), first)
