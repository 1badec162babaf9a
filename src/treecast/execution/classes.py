"""Where the classes of a demand lie in the memory of one rank, entry by entry: MPI, sockets and PyTorch carry plans out there.

Each class may be as long as it likes; its chunks are as equal as whole entries allow. A rank has no place for what it neither
has, wants, nor passes on. Finished sums take the place of the sums, which are over by then.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from treecast.collectives import Collective, Demand
from treecast.errors import PlanError
from treecast.execution.layout import Layout
from treecast.ragged import cut_evenly, starts
from treecast.schedule import Schedule
from treecast.verification.verifier import verify


@lru_cache(16)
def digest_of(plan: Schedule) -> str:
    """Return the SHA-256, in hexadecimal, of a plan's collective and rows: ranks that carry it out compare it."""
    rows, piece, what = plan.rows, plan.rows.pieces, plan.collective
    columns = (rows.step, rows.steps, rows.src, rows.dst, rows.tree, piece.row, piece.first, piece.stop)
    said = f"{what!r} {what.demand} {what.owners}".encode()
    return hashlib.sha256(b"".join(column.tobytes() for column in columns) + said).hexdigest()


@lru_cache(16)
def check_plan(plan: Schedule, ranks: int) -> Demand:
    """Return the demand of a plan that so many ranks are to carry out. Raises PlanError when they cannot."""
    demand = plan.collective.demand
    if demand is None or plan.sparing:
        raise PlanError(f"this is a plan of {plan.collective.kind}: ranks give their own data to plans of demands")
    if plan.network.nodes != ranks:
        raise PlanError(f"the plan is for {plan.network.nodes} ranks, and here are {ranks}")
    if not (report := verify(plan)).holds:
        raise PlanError(f"the plan is wrong: {', '.join(dict.fromkeys(each.rule for each in report.violations))}")
    return demand


def chunks_of(collective: Collective, number: int) -> tuple[int, int]:
    """Return the first chunk of a class, and the one behind its last; of a sum, before it is finished."""
    demand, first = collective.classes
    return int(first[number]), int(first[number] + demand.size[number])


def layout_at(program: Schedule, rank: int, entries: Sequence[int]) -> Layout:
    """Return where each chunk lies in a rank's memory, in entries; finished sums are left out.

    ``program``: the rows of the rank. ``entries``: of each class. Raises PlanError when they are not as many.
    """
    collective, sums = program.collective, program.collective.sums
    demand, piece = collective.demand, program.rows.pieces
    if demand is None or len(entries) != len(demand):
        raise PlanError(f"{len(entries)} lengths are none of the {len(demand or ())} classes of the plan")
    widths, used = np.zeros(collective.chunks, np.int64), np.zeros(collective.chunks, np.bool_)
    here = {*demand.given_by(rank), *demand.wanted_by(rank)}
    for number, size in enumerate(entries):
        first, stop = chunks_of(collective, number)
        widths[first:stop] = np.diff(cut_evenly(size, stop - first))
        used[first:stop] = number in here
    for first, stop in zip(piece.first.tolist(), piece.stop.tolist(), strict=True):
        used[first:stop] = True
    used[:sums] |= used[sums : 2 * sums]
    widths[sums : 2 * sums] = 0
    return Layout(starts(np.where(used, widths, 0)))
