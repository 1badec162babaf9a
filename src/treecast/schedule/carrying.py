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

_MOST_ROWS = 2**23  # that are written out


def carry_chunks(schedule: "Schedule", element: Ints, chunk: Ints) -> Ints:
    """Return the chunks of the whole collective to which elements carry chunks of an orbit's rows."""
    symmetry, (root, chunk) = symmetry_of(schedule), np.divmod(chunk, schedule.part.chunks)
    source = symmetry.carry(element, symmetry.representatives[root])
    return schedule.collective.of_source(source, chunk, lambda _, block: symmetry.carry(element, block))


def carry_rows(schedule: "Schedule", element: Ints, row: Ints) -> Rows:
    """Return rows of an orbit, each carried by the element beside it: of all ``plain`` makes, where all are carried by all."""
    base, symmetry = schedule.rows, symmetry_of(schedule)
    numbers = element * len(base.payloads) + base.payload[row]  # element and payload in one
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


def written_out(schedule: "Schedule", node: int | None = None) -> Rows:
    """Return the rows of an orbit as all elements carry them; or those at a node. Raises ScheduleError for too many."""
    base, order = schedule if schedule.torn is None else schedule.torn.moves, symmetry_of(schedule).order
    if node is None and order * len(base.rows) > _MOST_ROWS:
        raise ScheduleError(
            f"{order:,} x {len(base.rows):,} rows of an orbit are too many to write out; verify() and at() do without"
        )
    keys = np.arange(order * len(base.rows)) if node is None else _keys_onto(base, node)
    if schedule.torn is None:
        return carry_keys(base, keys)
    rows = schedule.torn.sent(keys)
    return rows if node is None else rows.take((rows.src == node) | (rows.dst == node))


def _keys_onto(schedule: "Schedule", node: int) -> Ints:
    """Return what is carried to where a node sends or receives: row · order + element, ascending."""
    rows, symmetry = schedule.rows, symmetry_of(schedule)
    found = [symmetry.onto(end.astype(np.int64), node) for end in (rows.src, rows.dst)]
    row, element = (np.concatenate(column) for column in zip(*found, strict=True))
    return np.unique(row * symmetry.order + element)  # a row from a node to itself, wrong as it is, counts once


def carry_keys(schedule: "Schedule", keys: Ints) -> Rows:
    """Return rows of an orbit as they are carried, by numbers row · order + element."""
    row, element = np.divmod(keys, symmetry_of(schedule).order)
    return carry_rows(schedule, element, row)


def symmetry_of(schedule: "Schedule") -> Symmetry:
    """Return the symmetry of an orbit. Raises ScheduleError where it is none."""
    if schedule.symmetry is None:
        raise ScheduleError("a schedule that is no orbit has no symmetry")
    return schedule.symmetry
