"""A trace for each node, which SimGrid replays: step by step what it awaits, what it sends, and that it waits for both.

All that a node does in a step begins together and ends before the next. Were all messages posted at once, they would share the
links and take several times as long.
"""

from collections import Counter, defaultdict
from itertools import groupby
from typing import Any

import numpy as np

from treecast.formats.messages import Messages, chunk_places, messages_of, parcels
from treecast.formats.registry import Setting, exporter
from treecast.formats.settings import BANDWIDTH, BYTES, LATENCY, read_number
from treecast.formats.simgrid.hosts import network_file
from treecast.ragged import Ints
from treecast.schedule import Schedule

_LEAST = 65_472  # bytes of a chunk: SimGrid sends shorter ones in another regime
_TAGS = 30_000
_NUMBER = 8  # bytes of a number that is added

_SPEED = Setting(
    name="additions",
    keyword="additions",
    what="How many numbers of 8 bytes a node adds in a second, as in 1e9; by default adding takes no time.",
    read=read_number,
)


def _advise(schedule: Schedule, size: int | None = None, **others: Any) -> str:
    """Return a sentence on chunks that are too short, or an empty text."""
    begins = chunk_places(schedule, size)
    shortest = int(np.diff(begins).min())
    if shortest >= _LEAST:
        return ""
    collective = schedule.collective
    total = int(begins[collective.sums or -1])
    blocks = (collective.sums or collective.chunks) // collective.messages
    return (
        f"chunks have {shortest:,} bytes; below {_LEAST:,} SimGrid takes another regime: "
        + (f"plan with --messages {total // blocks // _LEAST} or " if total >= blocks * _LEAST else "")
        + f"give --bytes {len(begins[: collective.sums or -1]) * _LEAST} or more"
    )


@exporter(
    "simgrid",
    suffix=".simgrid",
    what="a folder of traces and the network, to replay with SimGrid",
    settings=(BYTES, BANDWIDTH, LATENCY, _SPEED),
    advise=_advise,
)
def encode(
    schedule: Schedule,
    *,
    size: int | None = None,
    bandwidth: float = 125e6,
    latency: float = 1e-6,
    additions: float | None = None,
) -> dict[str, bytes]:
    """Return the files of a folder for SimGrid: ``platform.xml``, ``hosts``, ``list.txt`` and a trace for each node."""
    nodes = schedule.network.nodes
    files = {
        "platform.xml": network_file(
            schedule.network, schedule.model, bandwidth=bandwidth, latency=latency, speed=additions or 1e9
        ),
        "hosts": "".join(f"h{u}\n" for u in range(nodes)).encode(),
        "list.txt": "".join(f"rank{u}.txt\n" for u in range(nodes)).encode(),
    }
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    numbers = -(-messages.added(begins) // _NUMBER) if additions else np.zeros(len(messages), np.int64)
    lines = _lines(messages, messages.sizes(begins), numbers)
    return files | {f"rank{u}.txt": "".join(trace).encode() for u, trace in enumerate(lines)}


def _lines(messages: Messages, sizes: Ints, numbers: Ints) -> list[list[str]]:
    """Return the lines of the trace of each node, from the bytes of each message and the numbers that are added with it."""
    traces = [[f"{u} init\n"] for u in range(messages.schedule.network.nodes)]
    one = parcels(messages)
    first = np.unique(one, return_index=True)[1]
    sizes, numbers = (np.bincount(one, each, len(first)).astype(np.int64) for each in (sizes, numbers))
    columns = (messages.step[first], messages.src[first], messages.dst[first], sizes, numbers)
    every = zip(*(column.tolist() for column in columns), strict=True)
    for step, sends in groupby(every, key=lambda message: message[0]):
        awaited, sent, added = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list), Counter[int]()
        for _, src, dst, size, count in sends:
            awaited[dst].append(f"{dst} irecv {src} {step % _TAGS} {size}\n")
            sent[src].append(f"{src} isend {dst} {step % _TAGS} {size}\n")
            added[dst] += count
        for u in {*awaited, *sent}:
            traces[u] += [*awaited[u], *sent[u], f"{u} waitall\n"]
            if added[u]:
                traces[u].append(f"{u} compute {added[u]}\n")
    for u, trace in enumerate(traces):
        trace.append(f"{u} finalize\n")
    return traces
