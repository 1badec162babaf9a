"""The judge of lists of sends and receives.

Where comments say the chunks of messages, the file is a schedule, and the verifier judges that as well. Where they do not, the
rest is judged: matching, circles, links, and whether any contents at all could carry out a collective.
"""

from collections.abc import Callable

import numpy as np

from treecast.collectives import Collective
from treecast.description import count_of
from treecast.errors import FormatError
from treecast.formats.operations.holding import find_early, find_missing, schedule_said
from treecast.formats.operations.reading import Listed
from treecast.formats.registry import Told
from treecast.networks import Network
from treecast.programs.flows import judge_flows
from treecast.programs.judge import Judged, figures_of, find_network
from treecast.programs.messages import cut_data
from treecast.programs.order import Order, Pairs, find_order, find_pairs, judge_order, judge_pairs
from treecast.programs.program import Program
from treecast.programs.to_schedule import bounds_of, find_contents
from treecast.programs.verdict import FileVerdict, Findings
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.verification.verifier import verify

_NOUNS = ("rank", "lane", "operation", "message")


def judge_listed(listed: Listed, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a file, and a function that makes its schedule.

    Raises FormatError or TreecastError when the facts that are told do not fit the file, or it is too large to judge.
    """
    program = listed.program
    file = Judged(Findings(listed.format, allowed=told.allow), f"this file of {listed.format}", _NOUNS)
    found, pairs = file.found, find_pairs(program)
    schedule = None if len(pairs.alone) else schedule_said(listed, pairs)
    order: Order | None = None
    if schedule is not None and told != Told(allow=told.allow):
        raise FormatError("the comments of this file say its job: leave out all other facts of it")
    file.where = where = find_network(told.network, program.ranks) if schedule is None else schedule.network
    collective = schedule.part if schedule is not None else _collective_of(where, told)
    file.known = {"collective": _spell(collective, where), "ranks": program.ranks, "operations": len(program)}
    file.known |= figures_of(program.ranks, _ends(program, pairs), program.units[pairs.send])
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
        return find_contents(
            order, collective, where, cut_data(collective, told.size, 1) if told.size is not None else None
        )

    return file.verdict(), schedule_of


def _ends(program: Program, pairs: Pairs) -> tuple[Ints, Ints]:
    return program.rank[pairs.send], program.to[pairs.send]


def _find_order(found: Findings, listed: Listed, pairs: Pairs) -> Order:
    """Return the order of a program: that in which sends end with their receives, if there is one."""
    order = find_order(listed.program, pairs, together=True)
    if order.ends.min(initial=0) < 0 and listed.eager:
        short = find_order(listed.program, pairs)
        if short.ends.min(initial=0) >= 0:
            found.notes.append(
                "some ranks wait for one another in a circle if a send ends only when its receive has begun, as with long "
                "messages"
            )
            return short
    return order


def _judge_schedule(file: Judged, listed: Listed, order: Order, schedule: Schedule) -> None:
    """Judge a file that says the chunks of its messages."""
    found, program = file.found, listed.program
    early = dict(find_early(listed, order))
    found.these("order", np.array(list(early), np.int64), early.__getitem__, program.where)
    report = verify(schedule)
    if not early and not report.counts.get("chunks", 0):
        missing = dict(find_missing(listed, order, schedule))
        found.these("waits", np.array(list(missing), np.int64), missing.__getitem__, program.where)
    for rule, count in report.counts.items():
        texts = [each.text for each in report.violations if each.rule == rule]
        found.these(rule, np.arange(count), lambda k, texts=texts: texts[min(k, len(texts) - 1)], lambda _: ("", ()))
    file.known |= {"steps": report.steps, "bounds": report.bounds}


def _judge_messages(file: Judged, order: Order, collective: Collective | None, told: Told) -> None:
    """Judge a file that does not say the chunks of its messages."""
    program, pairs = order.program, order.pairs
    begins = order.begins[pairs.send]
    if order.together:
        begins = np.maximum(begins, order.begins[pairs.receive])
    when, named = (begins, program.units[pairs.send]), told.network is not None
    file.judge_links(pairs.send, _ends(program, pairs), when, program.where, named=named)
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
