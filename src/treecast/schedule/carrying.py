"""Rows of an orbit, as the symmetry of its network carries them."""

from typing import TYPE_CHECKING

import numpy as np

from treecast.errors import ScheduleError
from treecast.networks.symmetry import Symmetry
from treecast.ragged import Ints, explode, starts
from treecast.schedule.payloads import Payloads
from treecast.schedule.rows import Rows

if TYPE_CHECKING:
    from treecast.schedule.schedule import Schedule


def carry_chunks(schedule: "Schedule", element: Ints, chunk: Ints) -> Ints:
    """Return the chunks of the whole collective to which elements carry chunks of an orbit's rows."""
    symmetry, (root, chunk) = _symmetry_of(schedule), np.divmod(chunk, schedule.part.chunks)
    source = symmetry.carry(element, symmetry.representatives[root])
    return schedule.collective.of_source(source, chunk, lambda _, block: symmetry.carry(element, block))


def carry_rows(schedule: "Schedule", element: Ints, row: Ints) -> Rows:
    """Return rows of an orbit, each carried by the element beside it: of all ``plain`` makes, where all are carried by all."""
    base, symmetry = schedule.rows, _symmetry_of(schedule)
    numbers = element * len(base.payloads) + base.payload[row]
    used, payload = np.unique(numbers, return_inverse=True)
    by, old = np.divmod(used, max(len(base.payloads), 1))
    table = base.payloads.within_blocks(schedule.collective.messages)
    used, part = explode(table.start, old)
    first = carry_chunks(schedule, by[used], table.first[part])
    payloads = Payloads(starts(np.diff(table.start)[old]), first, first + (table.stop - table.first)[part])
    columns = {name: column[row] for name, column in base.columns().items()}
    columns["port"] = symmetry.carry_port(element, columns["src"], columns["port"])
    columns |= {end: symmetry.carry(element, columns[end]) for end in ("src", "dst")}
    return Rows.of(payloads, **columns | {"payload": payload.reshape(-1)})


def carry_onto(schedule: "Schedule", node: int) -> Rows:
    """Return the rows that are carried to where a node sends or receives."""
    rows, symmetry = schedule.rows, _symmetry_of(schedule)
    found = [symmetry.onto(end.astype(np.int64), node) for end in (rows.src, rows.dst)]
    row, element = (np.concatenate(column) for column in zip(*found, strict=True))
    key = np.unique(row * symmetry.order + element)  # a row from a node to itself, wrong as it is, counts once
    return carry_rows(schedule, key % symmetry.order, key // symmetry.order)


def _symmetry_of(schedule: "Schedule") -> Symmetry:
    if schedule.symmetry is None:
        raise ScheduleError("a schedule that is no orbit has no symmetry")
    return schedule.symmetry
