"""The judge of lists of sends and receives.

Where comments say the chunks of messages, the file is a schedule, and the verifier judges that as well. Where they do not, the
rest is judged: matching, circles, links, and whether any contents at all could carry out a collective.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from treecast.collectives import Collective
from treecast.description import count_of
from treecast.errors import FormatError
from treecast.files.formats.header import number, rows_of, schedule_of
from treecast.files.formats.operations import NO_PORT, Listed
from treecast.files.formats.registry import Judge, Told, judged
from treecast.files.programs.flows import judge_flows
from treecast.files.programs.judge import Judged, figures_of, find_network
from treecast.files.programs.messages import chunk_places, cut_data, sizes_of
from treecast.files.programs.order import (
    ExecutionOrder,
    Pairs,
    find_order,
    find_pairs,
    judge_order,
    judge_pairs,
    receives_before,
    waits_of,
)
from treecast.files.programs.to_schedule import bounds_of, find_contents
from treecast.files.programs.verdict import FileVerdict, Findings
from treecast.networks import Network
from treecast.ragged import Ints
from treecast.schedule import Payloads, Rows, Schedule
from treecast.steps import NEVER
from treecast.verification.bits import bits_of_plan
from treecast.verification.file_rules import rule
from treecast.verification.verifier import verify

_MOST_VISITS = 10_000_000
_NOUNS = ("rank", "lane", "operation", "message")


def judge_lists(name: str, read: Callable[[bytes], Listed], **more: Any) -> Judge:
    """Register what reads lists of sends and receives as a format, and return its judge; ``more``: as ``judged`` takes it."""
    return judged(name, like="goal", **more)(lambda data, told: judge_listed(read(data), told))


def judge_listed(listed: Listed, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a file, and a function that makes its schedule.

    Raises FormatError or TreecastError when the facts that are told do not fit the file, or it is too large to judge.
    """
    # 1. What the file says of its job, or what is told of it.
    program = listed.program
    file = Judged(Findings(listed.format, allowed=told.allow), f"this file of {listed.format}", _NOUNS)
    found, pairs = file.found, find_pairs(program)
    schedule = None if len(pairs.alone) else schedule_said(listed, pairs)
    order: ExecutionOrder | None = None
    if schedule is not None and told != Told(allow=told.allow):
        raise FormatError("the comments of this file say its job: leave out all other facts of it")
    file.where = where = find_network(told.network, program.ranks) if schedule is None else schedule.network
    collective = schedule.part if schedule is not None else _collective_of(where, told)
    file.known = {"collective": _spell(collective, where), "ranks": program.ranks, "operations": len(program)}
    file.known |= figures_of(
        program.ranks, (program.rank[pairs.send], program.to[pairs.send]), program.units[pairs.send]
    )
    # 2. Rules, each only where those before are kept.
    if judge_pairs(found, program, pairs, "bytes"):
        order = _find_order(found, listed, pairs)
        if judge_order(found, order):
            file.known["steps"] = order.steps
            if schedule is not None:
                _judge_schedule(file, listed, order, schedule)
            else:
                _judge_messages(file, order, collective, told)

    def schedule_of() -> Schedule:
        file.check()
        if schedule is not None and order is not None:
            return schedule
        if collective is None or order is None:
            raise FormatError(
                f"{file.title} does not say the contents of its messages, so it is no schedule: name --collective, "
                "and contents that they could have are looked for; 'treecast verify' judges the rest"
            )
        begins = cut_data(collective, told.size, 1) if told.size is not None else None
        return find_contents(order, collective, where, begins)

    return file.verdict(), schedule_of


def _find_order(found: Findings, listed: Listed, pairs: Pairs) -> ExecutionOrder:
    """Return the order of a program: that in which sends end with their receives, if there is one."""
    order = find_order(listed.program, pairs, together=True)
    # some never end if a send waits for its receive; short messages need not wait, so these may end
    if order.ends.min(initial=0) < 0 and listed.eager:
        short = find_order(listed.program, pairs)
        if short.ends.min(initial=0) >= 0:
            found.notes.append(
                "some ranks wait for one another in a circle if a send ends only when its receive has begun, as with long "
                "messages"
            )
            return short
    return order


def _judge_schedule(file: Judged, listed: Listed, order: ExecutionOrder, schedule: Schedule) -> None:
    """Judge a file that says the chunks of its messages."""
    found, program = file.found, listed.program
    early = dict(find_early(listed, order))
    found.these("order", np.array(list(early), np.int64), early.__getitem__, program.where)
    report = verify(schedule)
    if not early and not report.counts.get("chunks", 0):
        missing = dict(find_missing(listed, order, schedule))
        found.these("waits", np.array(list(missing), np.int64), missing.__getitem__, program.where)
    for name, count in report.counts.items():
        texts = [each.text for each in report.violations if each.rule == name]
        # only the first breaches of a rule are described
        found.these(name, np.arange(count), lambda k, texts=texts: texts[min(k, len(texts) - 1)], lambda _: ("", ()))
    bits = bits_of_plan(schedule) if report else None
    file.known |= {"steps": report.steps, "bounds": report.bounds, "bits": bits}


def _judge_messages(file: Judged, order: ExecutionOrder, collective: Collective | None, told: Told) -> None:
    """Judge a file that does not say the chunks of its messages."""
    program, pairs = order.program, order.pairs
    begins = order.begins[pairs.send]
    if order.together:  # then a send begins when both are there
        begins = np.maximum(begins, order.begins[pairs.receive])
    ends, named = (program.rank[pairs.send], program.to[pairs.send]), told.network is not None
    file.judge_links(pairs.send, ends, (begins, program.units[pairs.send]), program.where, named=named)
    if collective is None:
        file.found.notes.append(
            "the contents of the messages are not said: name --collective, and --bytes of its data, and it is judged whether any "
            "contents would do"
        )
        return
    judge_flows(file.found, program, pairs, collective, cut_data(collective, told.size, 1), sized=told.size is not None)
    file.found.notes.append(
        "the contents of the messages are not said: it was judged whether any contents would do"
        + ("" if told.size else ", of messages as long as need be: --bytes says how long the data is")
    )
    if told.messages is None:
        file.found.notes.append(
            "the data is taken for one chunk, and sends of more are left out: --messages says how many"
        )
    if named and file.where is not None:
        file.known["bounds"] = bounds_of(collective, file.where, "shouting")  # a message may carry several chunks


def _collective_of(where: Network, told: Told) -> Collective | None:
    from treecast.plans import collective_of

    if told.collective is None:
        if told.root is not None or told.size is not None or told.messages is not None:
            raise FormatError("--root, --messages and --bytes are of a collective: name it by --collective")
        return None
    return collective_of(told.collective, where, root=told.root, messages=told.messages or 1)


def _spell(collective: Collective | None, where: Network) -> str:
    if collective is None:
        return ""
    root = "" if collective.all_source else f", root {where.label(collective.root)}"
    return f"{collective.kind} of {count_of(collective.messages, 'message')}{root}"


# -- whether ranks hold the chunks that they send ------------------------------------------------------------------------


def schedule_said(listed: Listed, pairs: Pairs) -> Schedule | None:
    """Return the schedule that the comments of a file say, which is not verified; None where they say none.

    Raises FormatError when they say nothing of some send, or name a thing that is not there.
    """
    said, program = listed.said, listed.program
    if not listed.header and not len(said.operation):
        return None
    header = dict(listed.header)
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
        columns = {name: getattr(said, name).copy() for name in ("payload", "step", "port", "tree")}
        columns |= {"src": program.rank[said.operation], "dst": program.to[said.operation]}
        return rows_of(network, said.payloads, NO_PORT, columns, lines=said.lines)

    schedule = schedule_of(header, rows)
    if schedule.orbit or schedule.sparing:
        raise FormatError("a file of single messages says neither orbit nor sparing")
    if size is not None:
        _check_sizes(listed, pairs, chunk_places(schedule, number({"bytes": size}, "bytes", least=1)))
    return schedule


def _check_sizes(listed: Listed, pairs: Pairs, begins: Ints) -> None:
    """Raise FormatError when a message has not the bytes of its chunks."""
    carried, size = listed.said, listed.program.size
    said, table, last = np.zeros(len(size), np.int64), carried.payloads, len(begins) - 1
    inside = Payloads(table.start, np.minimum(table.first, last), np.minimum(table.stop, last))
    np.add.at(said, carried.operation, sizes_of(inside, begins)[carried.payload])
    # a message without bytes is written as one of 1
    wrong = pairs.send[(said != size)[pairs.send] & ((size != 1) | (said != 0))[pairs.send]]
    for send in wrong[:1].tolist():
        raise FormatError(f"{listed.program.spell(send)} has {size[send]:,} bytes, and its chunks {said[send]:,}")


def find_early(listed: Listed, order: ExecutionOrder) -> Iterator[tuple[int, str]]:
    """Yield (send, why) for each whose said step is not behind all that it waits for. There are no circles.

    Where messages combine, one may go in the step of the send before it.
    """
    said, pairs, step = listed.said, order.pairs, np.full(len(listed.program), NEVER)
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


@rule("waits", "the messages a send waits for have brought its contents", of=("goal",))
def find_missing(listed: Listed, order: ExecutionOrder, schedule: Schedule) -> Iterator[tuple[int, str]]:
    """Yield (send, why) for each send that is not sure to have its chunks: nothing that it waits for has brought them."""
    program, part, pairs = listed.program, schedule.part, order.pairs
    receives, before = receives_before(order)
    place = {one: k for some in receives.values() for k, one in enumerate(some)}
    chunks = defaultdict[int, list[int]](list)
    said = listed.said
    for send, ranges in said.each():
        chunks[send] += [chunk for first, stop in ranges for chunk in range(first, stop)]
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
                brought[int(program.rank[receive]), chunk] |= 1 << place[receive]  # a bit for each receive of the rank
            came += 1
        for chunk in carried:
            finished = part.results and chunk >= part.sums
            told = bool(brought[rank, chunk]) if part.shared else int(part.source_of(chunk)) != rank
            name = chunk - part.sums if finished and not told else chunk
            sources = brought[rank, name]
            # receives that bring it, and that this send does not wait for
            missing = sources & ~before[send]
            if name < part.sums and missing:  # all that add to a sum are needed
                other = program.spell(receives[rank][missing.bit_length() - 1])  # the last of them
                yield send, f"it does not wait for {other}, which adds to chunk {chunk}"
                break
            if name >= part.sums and (rank, chunk) not in own and not sources & before[send]:
                yield send, f"nothing that it waits for has brought chunk {chunk}"
                break
