"""The rows of a schedule in words: a line each, as text files have them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from treecast.description import Description, describe, spell_range
from treecast.schedule.rows import COLUMNS
from treecast.schedule.schedule import Schedule

NOTHING = "-"
"""The chunks of a control flit."""


def lines(schedule: Schedule, most: int | None = None) -> Iterator[str]:
    """Yield the rows of a schedule as they stand in a file, a line each, without line ends: the first ``most``, default all."""
    rows = schedule.rows if most is None else schedule.rows.take(slice(0, most))
    table = rows.payloads
    chunks = [",".join(spell_range(a, b) for a, b in table.ranges(p)) or NOTHING for p in range(len(table))]
    nodes = np.union1d(rows.src, rows.dst)
    label = dict(zip(nodes.tolist(), schedule.network.labels(nodes), strict=True))
    columns = [column.tolist() for column in rows.columns().values()]
    for step, steps, src, dst, port, tree, payload in zip(*columns, strict=True):
        of_tree = f" tree={tree}" if tree >= 0 else ""
        yield f"{step}+{steps} {label[src]}>{label[dst]} port={port}{of_tree} {chunks[payload]}"


@dataclass(frozen=True)
class Listing:
    """The rows of a schedule, to be shown, or as data; in words only the first ``most`` of them, default all.

    In words the command that plans the schedule comes first, if it is known, as a comment of a file.
    """

    schedule: Schedule
    most: int | None = None

    @property
    def left_out(self) -> int:
        """How many rows are not shown in words."""
        return max(0, len(self.schedule) - (len(self.schedule) if self.most is None else self.most))


@describe.register
def _(listing: Listing) -> Description:
    schedule = listing.schedule
    command = [f"# {schedule.command}"] if schedule.command else []
    return Description(_figures(schedule), notes=chain(command, lines(schedule, listing.most)))


def _figures(schedule: Schedule) -> Iterator[dict[str, object]]:
    rows, label = schedule.rows, schedule.network.label
    chunks = [rows.payloads.ranges(payload) for payload in range(len(rows.payloads))]
    for row in zip(*(column.tolist() for column in rows.columns().values()), strict=True):
        said: dict[str, object] = dict(zip(COLUMNS, row[:-1], strict=False))
        yield said | {"src": label(row[2]), "dst": label(row[3]), "chunks": chunks[row[-1]]}
