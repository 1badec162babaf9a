"""GOAL: sends and receives with what each requires, for LogGOPSim and ATLAHS.

Nothing is said of a node's CPUs or interfaces. So their simulator takes the messages of a node one after another: schedules for
one port take their own time there, and those for all ports are drawn out. Comments say what each message carries.
"""

from collections.abc import Iterator

import numpy as np

from treecast.formats.messages import Messages, chunk_places, messages_of
from treecast.formats.operations.comments import comments_of, comments_of_job
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
    adds = (messages.added(np.arange(messages.schedule.part.chunks + 1)) > 0).astype(np.int64)
    parts = [f"num_ranks {schedule.network.nodes}\n".encode()]
    parts += ["".join(f"// {line}\n" for line in comments_of_job(messages, begins)).encode()]
    columns = np.maximum(messages.sizes(begins), 1), nanoseconds, adds
    parts += ["".join(_lines(messages, node, some, columns)).encode() for node, some in messages.at_each_node()]
    return b"".join(parts)


def _lines(messages: Messages, node: int, some: Ints, columns: tuple[Ints, Ints, Ints]) -> Iterator[str]:
    """Yield the lines of a rank: message m is sent as sM, received as rM, and what it brings is added as cM."""
    yield f"rank {node} {{\n"
    last = dict[int, int]()  # the message before on the arc
    sizes, nanoseconds, adds = columns
    sent = some[messages.src[some] == node]
    said = dict(zip(sent.tolist(), comments_of(messages, sent), strict=True))
    shown = (some, messages.src[some], messages.dst[some], messages.place[some], sizes[some], nanoseconds[some])
    for m, src, dst, place, size, long in zip(*(column.tolist() for column in shown), strict=True):
        if src == node:
            yield f"// {said[m]}\ns{m}: send {size}b to {dst} tag {place}\n"
            for need in messages.needs_of(m):
                yield f"s{m} requires {'c' if adds[need] else 'r'}{need}\n"
            if dst in last:
                yield f"s{m} requires s{last[dst]}\n"
            last[dst] = m
        else:
            yield f"r{m}: recv {size}b from {src} tag {place}\n"
            if adds[m]:
                yield f"c{m}: calc {long}\nc{m} requires r{m}\n"
    yield "}\n"
