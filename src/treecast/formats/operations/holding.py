"""Whether each rank is sure to have the chunks that it sends, by the operations it waits for; and the schedule of a file."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from treecast.errors import FormatError
from treecast.formats.native.header import number, schedule_of
from treecast.formats.operations.reading import Listed
from treecast.networks import Network
from treecast.programs.messages import chunk_places, sizes_of
from treecast.programs.order import Order, Pairs, receives_before, waits_of
from treecast.ragged import Ints
from treecast.schedule import Payloads, Rows, Schedule
from treecast.steps import NEVER

_MOST_VISITS = 10_000_000


def schedule_said(listed: Listed, pairs: Pairs) -> Schedule | None:
    """Return the schedule that the comments of a file say, which is not verified; None where they say none.

    Raises FormatError when they say nothing of some send, or name a thing that is not there.
    """
    said, program = listed.comments.said, listed.program
    if not listed.comments.header and not len(said.operation):
        return None
    header = dict(listed.comments.header)
    size = header.pop("bytes", None)
    if not {"network", "collective"} <= set(header):
        raise FormatError("the comments of this file say the contents of messages, but not the network and collective")
    if sum(stop - first for _, ranges in said.each() for first, stop in ranges) > _MOST_VISITS:
        raise FormatError(f"more than {_MOST_VISITS:,} chunks are moved: that is too many to judge one by one")
    silent = np.setdiff1d(pairs.send, said.operation)
    if len(silent):
        raise FormatError(f"the comments of this file do not say the contents of {program.spell(int(silent[0]))}")

    def rows(network: Network) -> Rows:
        if network.nodes != program.ranks:
            raise FormatError(f"{network.spec} has {network.nodes:,} nodes, and the file {program.ranks:,} ranks")
        columns = {name: getattr(said, name) for name in ("payload", "step", "port", "tree")}
        columns |= {"src": program.rank[said.operation], "dst": program.to[said.operation]}
        return Rows.of(said.payloads, steps=np.ones_like(said.step), **columns)

    schedule = schedule_of(header, rows)
    if schedule.orbit or schedule.sparing:
        raise FormatError("a file of single messages says neither orbit nor sparing")
    if size is not None:
        _check_sizes(listed, pairs, chunk_places(schedule, number({"bytes": size}, "bytes", least=1)))
    return schedule


def _check_sizes(listed: Listed, pairs: Pairs, begins: Ints) -> None:
    """Raise FormatError when a message has not the bytes of its chunks."""
    carried, size = listed.comments.said, listed.program.size
    said, table, last = np.zeros(len(size), np.int64), carried.payloads, len(begins) - 1
    inside = Payloads(table.start, np.minimum(table.first, last), np.minimum(table.stop, last))
    np.add.at(said, carried.operation, sizes_of(inside, begins)[carried.payload])
    wrong = pairs.send[(said != size)[pairs.send] & ((size != 1) | (said != 0))[pairs.send]]
    for send in wrong[:1].tolist():
        raise FormatError(f"{listed.program.spell(send)} has {size[send]:,} bytes, and its chunks {said[send]:,}")


def find_early(listed: Listed, order: Order) -> Iterator[tuple[int, str]]:
    """Yield (send, why) for each whose said step is not behind all that it waits for. There are no circles.

    Where messages combine, one may go in the step of the send before it.
    """
    said, pairs, step = listed.comments.said, order.pairs, np.full(len(listed.program), NEVER)
    np.minimum.at(step, said.operation, said.step)
    half = dict[int, int]()  # half steps: sends begin in the first half, receives end with the second
    for send, receive in zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True):
        half[send] = 2 * int(step[send])
        half[receive] = half[send] + 1
    waits, latest = waits_of(listed.program), dict[int, int]()  # the latest of those awaited, also by way of work
    for one in order.ended.tolist():
        latest[one] = max((half.get(other, latest[other]) for other in waits.get(one, ())), default=-1)
    for send in pairs.send.tolist():
        if latest[send] > half[send]:
            yield send, f"it goes at step {half[send] // 2}, and waits for a message of step {latest[send] // 2}"


def find_missing(listed: Listed, order: Order, schedule: Schedule) -> Iterator[tuple[int, str]]:
    """Yield (send, why) for each send that is not sure to have its chunks: nothing that it waits for has brought them."""
    program, part, pairs = listed.program, schedule.part, order.pairs
    receives, before = receives_before(order)
    place = {one: k for some in receives.values() for k, one in enumerate(some)}
    chunks = defaultdict[int, list[int]](list)
    for send, ranges in listed.comments.said.each():
        chunks[send] += [chunk for first, stop in ranges for chunk in range(first, stop)]
    said = listed.comments.said
    step = dict(zip(said.operation.tolist(), said.step.tolist(), strict=True))
    brought = defaultdict[tuple[int, int], int](int)
    arrivals = sorted(zip(pairs.send.tolist(), pairs.receive.tolist(), strict=True), key=lambda ends: step[ends[0]])
    came = 0  # how many of these
    own = {(node, chunk) for node, first, stop in part.given() for chunk in range(first, stop)}
    for send, carried in sorted(chunks.items(), key=lambda item: step[item[0]]):
        rank = int(program.rank[send])
        while came < len(arrivals) and not (part.shared and step[arrivals[came][0]] >= step[send]):
            sent, receive = arrivals[came]  # where nobody owns a sum, only those of earlier steps are in the sum so far
            for chunk in chunks[sent]:
                brought[int(program.rank[receive]), chunk] |= 1 << place[receive]
            came += 1
        for chunk in carried:
            finished = part.results and chunk >= part.sums
            told = bool(brought[rank, chunk]) if part.shared else int(part.source_of(chunk)) != rank
            name = chunk - part.sums if finished and not told else chunk
            sources = brought[rank, name]
            missing = sources & ~before[send]
            if name < part.sums and missing:  # all that add to a sum are needed
                other = program.spell(receives[rank][missing.bit_length() - 1])
                yield send, f"it does not wait for {other}, which adds to chunk {chunk}"
                break
            if name >= part.sums and (rank, chunk) not in own and not sources & before[send]:
                yield send, f"nothing that it waits for has brought chunk {chunk}"
                break
