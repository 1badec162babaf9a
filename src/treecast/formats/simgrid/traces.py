"""A trace for each node, which SimGrid replays: step by step its receives, its sends, and a wait for both.

All that a node does in a step begins together and ends before the next. Were all messages posted at once, they would share the
links and take several times as long.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from treecast.formats.operations.comments import comments_of, comments_of_job
from treecast.formats.registry import Setting, exporter
from treecast.formats.settings import BYTES, LATENCY, RATE, link_cost, read_number
from treecast.formats.simgrid.hosts import network_file
from treecast.programs.messages import Messages, chunk_places, messages_of, parcels
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.schedule.sizes import blocks_of

_LEAST = 65_472  # bytes of a chunk: SimGrid sends shorter ones in another regime
_TAGS = 30_000

_SPEED = Setting(
    name="additions",
    summary="How many numbers of 8 bytes a node adds in a second, as in 1e9; by default adding takes no time.",
    read=read_number,
)


def _advise(schedule: Schedule, size: int | None = None, **others: Any) -> str:
    """Return a sentence on chunks that are too short, or an empty text."""
    begins, collective = chunk_places(schedule, size), schedule.collective
    lengths = np.diff(begins)
    shortest = int(lengths[lengths > 0].min(initial=_LEAST))  # chunks of relays have none
    if shortest >= _LEAST:
        return ""
    total, blocks = int(begins[collective.sums or -1]), blocks_of(collective)
    return (
        f"chunks have {shortest:,} bytes; below {_LEAST:,} SimGrid takes another regime: "
        + (f"plan with --messages {total // blocks // _LEAST} or " if total >= blocks * _LEAST else "")
        + f"give --bytes {blocks * collective.messages * _LEAST} or more"
    )


@exporter(
    "simgrid",
    suffix=".simgrid",
    summary="a folder of traces and the network, to replay with SimGrid",
    settings=(BYTES, RATE, LATENCY, _SPEED),
    advise=_advise,
)
def encode(
    schedule: Schedule,
    *,
    size: int | None = None,
    rate: float | None = None,
    latency: float | None = None,
    additions: float | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Return the files of a folder for SimGrid: ``platform.xml``, ``hosts``, ``list.txt`` and a trace for each node."""
    nodes = schedule.network.nodes
    cost = link_cost(schedule, latency, rate)
    where = network_file(schedule.network, schedule.model, cost=cost, speed=additions or 1e9)
    messages, begins = messages_of(schedule), chunk_places(schedule, size)
    numbers = messages.numbers(begins) if additions else np.zeros(len(messages), np.int64)
    job = "".join(f"# {line}\n" for line in comments_of_job(messages, begins))
    traces = _traces(messages, messages.sizes(begins), numbers)

    def files() -> Iterator[tuple[str, bytes]]:
        yield "platform.xml", where
        yield "hosts", "".join(f"h{u}\n" for u in range(nodes)).encode()
        yield "list.txt", "".join(f"rank{u}.txt\n" for u in range(nodes)).encode()
        for node, lines in traces:
            yield f"rank{node}.txt", f"{node} init\n{'' if node else job}{lines}{node} finalize\n".encode()

    return files()


def _traces(messages: Messages, sizes: Ints, numbers: Ints) -> Iterator[tuple[int, str]]:
    """Yield the trace of each node without its first and last line, one at a time: all of them together may be gigabytes.

    ``sizes`` are the bytes of each message, ``numbers`` the numbers that are added with it.
    """
    one = parcels(messages)
    together = [np.bincount(one, each).astype(np.int64) for each in (sizes, numbers)] if len(one) else [sizes, numbers]
    for node, some in messages.at_each_node():
        yield node, "".join(_lines(messages, node, some, one[some], together))


def _lines(messages: Messages, node: int, some: Ints, one: Ints, together: list[Ints]) -> Iterator[str]:
    """Yield the lines of a node, step by step: its receives, its sends, a wait for both, and its additions.

    ``one`` says which messages go together, and ``together`` the bytes and additions of those.
    """
    sends = messages.src[some] == node
    said = iter(comments_of(messages, some[sends]))
    columns = (messages.step[some], sends, messages.src[some], messages.dst[some], one)
    every = list(zip(*(column.tolist() for column in columns), strict=True))
    for step, moves in groupby(every, key=lambda move: move[0]):
        awaited, sent, comments, added = dict[int, str](), dict[int, str](), dict[int, list[str]](), 0
        for _, out, src, dst, parcel in moves:
            size, tag = int(together[0][parcel]), step % _TAGS
            if out:
                comments.setdefault(parcel, []).append(f"# {next(said)}\n")
                sent[parcel] = f"{node} isend {dst} {tag} {size}\n"
            elif parcel not in awaited:
                awaited[parcel] = f"{node} irecv {src} {tag} {size}\n"
                added += int(together[1][parcel])
        yield from awaited.values()
        yield from ("".join(comments[parcel]) + line for parcel, line in sent.items())
        yield f"{node} waitall\n"
        if added:
            yield f"{node} compute {added}\n"
