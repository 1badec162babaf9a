"""GOAL: sends and receives with what each requires, for LogGOPSim and ATLAHS.

Nothing is said of a node's CPUs or interfaces. So their simulator takes the messages of a node one after another: schedules for
one port take their own time there, and those for all ports are drawn out.
"""

from collections import defaultdict

import numpy as np

from treecast.formats.messages import Messages, chunk_places, messages_of
from treecast.formats.registry import exporter
from treecast.formats.settings import ADDING, BYTES
from treecast.ragged import Ints
from treecast.schedule import Schedule

_NUMBER = 8  # bytes of a number that is added


@exporter("goal", suffix=".goal", what="sends, receives and what they require, for LogGOPSim", settings=(BYTES, ADDING))
def encode(schedule: Schedule, *, size: int | None = None, adding: float = 0.0) -> bytes:
    """Return the messages of a schedule in GOAL. Raises FormatError when they cannot be listed one by one."""
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    nanoseconds = np.ceil(adding * -(-messages.added(begins) // _NUMBER)).astype(np.int64)
    lines = _lines(messages, np.maximum(messages.sizes(begins), 1), nanoseconds)
    ranks = schedule.network.nodes
    parts = (f"rank {u} {{\n{''.join(lines[u])}}}\n" for u in range(ranks))
    return (f"num_ranks {ranks}\n" + "".join(parts)).encode()


def _lines(messages: Messages, sizes: Ints, nanoseconds: Ints) -> "defaultdict[int, list[str]]":
    """Return the lines of each rank: message m is sent as sM, received as rM, and what it brings is added as cM."""
    lines = defaultdict[int, list[str]](list)
    last: dict[tuple[int, int], int] = {}  # the message before on the arc
    columns = (messages.src, messages.dst, messages.place, sizes, nanoseconds)
    adds = messages.added(np.arange(messages.schedule.part.chunks + 1)) > 0
    start, needs = messages.needs_start.tolist(), messages.needs.tolist()
    brings = np.where(adds, "c", "r").tolist()
    for m, (src, dst, place, size, long) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        lines[src].append(f"s{m}: send {size}b to {dst} tag {place}\n")
        before = [f"s{last[src, dst]}"] if (src, dst) in last else []
        for need in before + [f"{brings[need]}{need}" for need in needs[start[m] : start[m + 1]]]:
            lines[src].append(f"s{m} requires {need}\n")
        last[src, dst] = m
        lines[dst].append(f"r{m}: recv {size}b from {src} tag {place}\n")
        if brings[m] == "c":
            lines[dst] += [f"c{m}: calc {long}\n", f"c{m} requires r{m}\n"]
    return lines
