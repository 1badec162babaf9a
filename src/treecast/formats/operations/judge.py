"""The judge of lists of sends and receives.

Where comments say what messages carry, the file is a schedule, and the verifier judges that as well. Where they do not, what
can be told is judged: matching, circles, links, and whether any contents at all could do what a collective asks.
"""

import time
from collections.abc import Callable

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError
from treecast.formats.operations.holding import find_early, find_missing, schedule_said
from treecast.formats.operations.reading import Listed
from treecast.formats.registry import Told
from treecast.lower_bounds import Bound
from treecast.networks import Network
from treecast.programs.arcs import figures_of, find_network, judge_arcs, judge_links
from treecast.programs.contents import find_contents
from treecast.programs.flows import judge_flows
from treecast.programs.messages import with_results
from treecast.programs.order import Order, find_order, judge_order
from treecast.programs.pairing import Pairs, find_pairs, judge_pairs
from treecast.programs.to_schedule import bounds_of
from treecast.programs.verdict import FileVerdict, Findings, as_told
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.schedule.sizes import blocks_of, chunk_bounds
from treecast.verification.verifier import verify

_NOUNS = ("rank", "lane", "operation", "message")


def judge_listed(listed: Listed, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a file, and what makes its schedule.

    Raises
    ------
    FormatError, TreecastError
        When what is told does not fit the file, or it is too large to judge.
    """
    clock = time.perf_counter()
    program, found = listed.program, Findings(listed.format, allowed=told.allow)
    pairs = find_pairs(program)
    schedule = None if len(pairs.alone) else schedule_said(listed, pairs)
    order: Order | None = None
    if schedule is not None and told != Told(allow=told.allow):
        raise FormatError("the comments of this file say its job: leave out what else is said of it")
    where = find_network(told.network, program.ranks) if schedule is None else schedule.network
    collective = schedule.part if schedule is not None else _collective_of(where, told)
    steps: int | None = None
    bounds: tuple[Bound, ...] = ()
    if judge_pairs(found, program, pairs, "bytes"):
        order = _find_order(found, listed, pairs)
        if judge_order(found, order):
            steps = order.steps
            if schedule is not None:
                steps, bounds = _judge_schedule(found, listed, order, schedule)
            else:
                bounds = _judge_messages(found, order, where, collective, told)
    ends = program.rank[pairs.send], program.to[pairs.send]
    verdict = FileVerdict(
        **as_told(found),
        nouns=_NOUNS,
        collective=_spell(collective, where),
        network=where.spec,
        ranks=program.ranks,
        operations=len(program),
        **figures_of(program.ranks, ends, program.units[pairs.send]),
        steps=steps,
        bounds=bounds,
        seconds=time.perf_counter() - clock,
    )

    def schedule_of() -> Schedule:
        if found.broken or order is None:
            raise FormatError(f"this file of {listed.format} is wrong: {found.first()}")
        if schedule is not None:
            return schedule
        if collective is None:
            raise FormatError(
                f"this file of {listed.format} does not say what its messages carry, so it is no schedule: name --collective, "
                "and what they could carry is looked for; 'treecast verify' judges the rest"
            )
        return find_contents(order, collective, where, _begins(collective, told) if told.size is not None else None)

    return verdict, schedule_of


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


def _judge_schedule(found: Findings, listed: Listed, order: Order, schedule: Schedule) -> tuple[int, tuple[Bound, ...]]:
    """Judge a file that says what its messages carry; return its steps and their bounds."""
    program = listed.program
    early = dict(find_early(listed, order))
    found.these("order", np.array(list(early), np.int64), early.__getitem__, program.where)
    report = verify(schedule)
    if not early and not report.counts.get("chunks", 0):
        missing = dict(find_missing(listed, order, schedule))
        found.these("waits", np.array(list(missing), np.int64), missing.__getitem__, program.where)
    for rule, count in report.counts.items():
        texts = [each.text for each in report.violations if each.rule == rule]
        found.these(rule, np.arange(count), lambda k, texts=texts: texts[min(k, len(texts) - 1)], lambda _: ("", ()))
    return report.steps, report.bounds


def _judge_messages(
    found: Findings, order: Order, where: Network, collective: Collective | None, told: Told
) -> tuple[Bound, ...]:
    """Judge a file that does not say what its messages carry; return the bounds of its steps."""
    program, pairs = order.program, order.pairs
    ends = program.rank[pairs.send], program.to[pairs.send]
    room = judge_arcs(found, where, pairs.send, ends, program.where)
    if told.network is not None:
        begins = order.begins[pairs.send]
        if order.together:
            begins = np.maximum(begins, order.begins[pairs.receive])
        when = begins, program.units[pairs.send], room
        judge_links(found, pairs.send, ends, program.where, when=when)
    if collective is None:
        found.notes.append(
            "nobody says what the messages carry: name --collective, and --bytes of its data, and it is judged whether any "
            "contents would do"
        )
        return ()
    judge_flows(found, program, pairs, collective, _begins(collective, told), sized=told.size is not None)
    found.notes.append(
        "nobody says what the messages carry: it was judged whether any contents would do"
        + ("" if told.size else ", of messages as long as need be: --bytes says how long the data is")
    )
    return bounds_of(collective, where) if told.network is not None else ()


def _begins(collective: Collective, told: Told) -> Ints:
    """Return where each chunk begins in the data that is told, or in a byte for each chunk."""
    chunks = blocks_of(collective) * collective.messages
    if told.size is not None and told.size < chunks:
        raise FormatError(f"{told.size:,} bytes cannot be cut into {chunks:,} chunks: give more, or fewer messages")
    return with_results(collective, chunk_bounds(collective, told.size or chunks))


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
    return f"{collective.kind} of {collective.messages:,} messages{root}"
