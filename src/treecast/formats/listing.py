"""The rows of a schedule, as they stand in a file, or as data."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from treecast.description import Description, describe
from treecast.formats.native import text
from treecast.schedule import Schedule


@dataclass(frozen=True)
class Listing:
    """The rows of a schedule, to be shown; in words only the first ``most`` of them, default all.

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
    shown = schedule.select(slice(0, listing.most)) if listing.left_out else schedule
    command = [f"# {schedule.command}"] if schedule.command else []
    return Description(_figures(schedule), notes=chain(command, text.lines(shown)))


def _figures(schedule: Schedule) -> Iterator[dict[str, object]]:
    rows, label = schedule.rows, schedule.network.label
    chunks = [rows.payloads.ranges(payload) for payload in range(len(rows.payloads))]
    for step, steps, src, dst, port, tree, payload in zip(
        *(column.tolist() for column in rows.columns().values()), strict=True
    ):
        yield {
            "step": step,
            "steps": steps,
            "src": label(src),
            "dst": label(dst),
            "port": port,
            "tree": tree,
            "chunks": chunks[payload],
        }
