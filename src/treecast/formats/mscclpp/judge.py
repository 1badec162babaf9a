"""Plans of MSCCL++, whoever wrote them: judged for one, two and three turns of their pipelines, and read as schedules."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from treecast.errors import FormatError
from treecast.formats.mscclpp.contents import Flow, judge_contents
from treecast.formats.mscclpp.order import Order
from treecast.formats.mscclpp.plan import Plan, note, spell, unroll
from treecast.formats.mscclpp.reading import read_plan
from treecast.formats.registry import Told, judged
from treecast.programs.dataflow import kind_of
from treecast.programs.events import ORDERED, RELAXED, TOLD, Reach
from treecast.programs.judge import Judged, find_network
from treecast.programs.verdict import FileVerdict, Findings
from treecast.schedule import Schedule

_KEYS = (b'"gpus"', b'"collective"', b'"inplace"', b'"protocol"', b'"buffer_alignment"')
_NOUNS = ("gpu", "threadblock", "operation", "piece")
_MOST_PAIRS = 2**21
_FRAGMENTS = ("test",)  # collectives of plans that show single operations, and begin and end as they like
_GROUPS = ("gstore", "glres", "gstorepkt")


def _recognises(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and any(key in head for key in _KEYS)


@judged("mscclpp", recognises=_recognises)
def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a plan, and a function that makes its schedule: messages go when their data and arcs are there."""
    if told != Told(network=told.network, size=told.size, allow=told.allow):
        raise FormatError("an MSCCL++ plan says its job: only --network, --bytes and --allow are told besides")
    file = Judged(Findings("mscclpp", most=20, allowed=told.allow), "this plan of MSCCL++", _NOUNS)
    written = read_plan(data, file.found)
    if written is not None:
        _judge(file, written, told)
    return file.verdict(), file.schedule


def _judge(file: Judged, written: Plan, told: Told) -> None:
    """Judge a plan by every rule, for each number of turns, as far as it goes; its messages are those of the first."""
    found, file.where = file.found, find_network(told.network, len(written.gpus))
    kind, flow = kind_of(written.collective, written.name), None
    file.known |= {"name": written.name, "collective": kind or written.collective[:40], "ranks": len(written.gpus)}
    file.known |= {"lanes": sum(len(gpu.blocks) for gpu in written.gpus), "operations": len(written.ops)}
    for turns in _turns(written, told):
        plan = unroll(written, turns, found)
        if found.stop("bounds"):
            break
        order = Order(plan, found)
        found.judged("pairs")
        if found.stop("deadlock"):
            break
        _warn(written, found)
        found.judged("race", "begun", "ended", "relaxed", "executor")
        latest = Flow(order)
        check_uses(order)
        judge_contents(file, latest, kind)
        flow = flow or latest
        if found.broken:
            break
    if not kind and flow is not None:
        found.notes.append(f"collective {written.collective[:40]!r} has no known result, so delivery is not judged")
    if flow is None:
        return
    (src, dst, _, units, at), (_, begins) = flow.table, flow.early
    if told.network is not None:
        if any(flow.plan.steps[j][k].op.name in _GROUPS for j, k, _ in flow.order.done):
            raise FormatError("a plan that uses a switch is judged on a complete network: leave --network out")
        file.judge_links(at, (src, dst), (begins, units), flow.where, named=True)
    file.note_figures((src, dst), units, int((begins + units).max(initial=0)), flow.sent())


def _turns(written: Plan, told: Told) -> tuple[int, ...]:
    """Return for which numbers of turns a plan is judged: those of its bytes, if they are told."""
    if not any(op.inner for op in written.ops):
        return (1,)
    if told.size is None:
        return (1, 2, 3)
    chunks = max(max(gpu.chunks[:2]) for gpu in written.gpus)
    longest = max(Fraction(op.chunks, op.unit) for op in written.ops if op.inner)
    return (max(1, math.ceil(longest * told.size / max(chunks, 1))),)


def _warn(written: Plan, found: Findings) -> None:
    """Note operations that are right by the words of a plan, but not in the executor as it is."""
    for g, gpu in enumerate(written.gpus):
        for name, chunks in zip(("input_chunks", "output_chunks"), gpu.chunks, strict=False):
            if not chunks:
                note(found, "executor", (g,), f"{name} is 0, and the loader divides by it")
    for op in (one for outer in written.ops for one in (outer, *outer.inner)):
        if op.name == "flush":
            note(found, "executor", op.where, "flush waits for nothing in the executor of August 2026")
        places = zip(op.sources, op.targets, strict=False) if op.name == "get" else ()
        if any(source.first != target.first for source, target in places):
            note(
                found, "executor", op.where, "get from one index to another: the executor of August 2026 swaps the two"
            )


# -- whether uses of one place are ordered -----------------------------------------------------------------------------


class Use(NamedTuple):
    """A use of units ``lo`` to ``hi`` of a buffer: by which operation, and from which node to which.

    ``cell``: the first of the nodes of its packets, or -1. ``flagged``: it waits for flags of packets, or sets them.
    """

    at: tuple[int, int]
    writes: bool
    lo: int
    hi: int
    begin: int
    end: int
    cell: int
    flagged: bool
    segment: int

    def cells(self, unit: int) -> tuple[int, int]:
        """Return from which node to which it uses a unit."""
        cell = self.cell + unit - self.lo
        return (self.begin, self.end) if self.cell < 0 else (cell, cell)


def check_uses(order: Order) -> None:
    """Note the breaches of ``race``, ``begun``, ``ended`` and ``relaxed``."""
    uses, blocks = defaultdict[int, list[Use]](list), defaultdict[int, list[int]](list)
    for store, use in _uses(order):
        uses[store].append(use)
    for j, gpu in enumerate(order.plan.owners):
        blocks[gpu].append(j)
    for stores, reach in _in_parts(order, uses, blocks):
        for store in stores:
            own = blocks[store // 3]
            _check_store(order, reach, store, uses[store])
            begun, ends = 0, reach.bits(order.last[j] for j in own)
            for j in own:
                begun |= reach.follow(order.first[j], ORDERED)
            for use in uses[store] if order.plan.written.collective not in _FRAGMENTS else ():
                if not use.flagged and order.plan.owners[use.at[0]] != store // 3:
                    _check_times(order, reach, store, use, (begun, ends))


def _in_parts(
    order: Order, uses: Mapping[int, list[Use]], blocks: Mapping[int, list[int]]
) -> Iterator[tuple[list[int], Reach]]:
    """Yield buffers, as many as are best asked for together, and which of their uses, and ends of their GPUs, follow events."""
    stores, targets = list[int](), list[int]()
    for store in sorted(uses):
        own = [order.last[j] for j in blocks[store // 3]]
        for use in uses[store]:
            own += [use.begin, *(range(use.cell, use.cell + use.hi - use.lo) if use.cell >= 0 else ())]
        if stores and len(targets) + len(own) > order.events.at_once:
            yield stores, order.events.reach(targets)
            stores, targets = [], []
        stores.append(store)
        targets += own
    if stores:
        yield stores, order.events.reach(targets)


def _uses(order: Order) -> Iterator[tuple[int, Use]]:
    """Yield each use of a buffer, in plain places: packets take two of them."""
    for at, nodes in order.nodes.items():
        step = order.plan.steps[at[0]][at[1]]
        for writes, side in ((False, step.reads), (True, step.writes)):
            for slot, place in enumerate(side):
                own = min(slot, len(nodes.begin) - 1)
                for span in place:
                    flagged = span.packed and (writes or step.op.flagged or step.op.name == "rppkt")
                    cell, times = (-1, 2) if span.packed else (nodes.cell, 1)
                    units, ends = (span.lo * times, span.hi * times), (nodes.begin[own], nodes.end[own])
                    yield span.store, Use(at, writes, *units, *ends, cell, flagged, nodes.segment)


def _check_store(order: Order, reach: Reach, store: int, uses: list[Use]) -> None:
    """Judge the uses of a buffer, pair by pair, once for all units that the same operations use."""
    cuts = sorted({cut for use in uses for cut in (use.lo, use.hi)})
    opens = defaultdict[int, list[Use]](list)
    for use in uses:
        if use.hi > use.lo:
            opens[use.lo].append(use)
    active, judged, pairs = list[Use](), set[tuple[Use, Use]](), 0
    for lo, hi in pairwise(cuts):
        active = [use for use in active if use.hi > lo] + opens[lo]
        pairs += len(active) * (len(active) - 1) // 2
        if pairs > _MOST_PAIRS:
            raise FormatError(f"more than {_MOST_PAIRS:,} pairs of uses of one buffer are too many to judge")
        for k, one in enumerate(active):
            for other in active[:k]:
                if not (one.writes or other.writes) or (one.flagged and other.flagged):
                    continue
                if one.at == other.at and one.lo == other.lo and one.writes != other.writes:
                    continue  # each thread writes where it has read
                if (one, other) in judged and one.cell < 0 and other.cell < 0:
                    continue
                judged.add((one, other))
                _check_pair(order, reach, store, (one, other), range(lo, hi))


def _check_pair(order: Order, reach: Reach, store: int, pair: tuple[Use, Use], units: range) -> None:
    one, other = pair
    if _ordered(reach, one, other, units) or _ordered(reach, other, one, units):
        return
    ops = [order.plan.steps[use.at[0]][use.at[1]].op for use in pair]
    place = order.plan.name(store, units[0])
    if one.at[0] == other.at[0] and one.segment == other.segment and {len(op.ends) for op in ops} == {0}:
        text = f"{ops[0].name} uses {place} as {spell(ops[1].where)} does, and no nop stands between"
        note(order.found, "race", ops[0].where, text)
        return
    relaxed = any(reach.reaches(a.end, b.begin, RELAXED) for a, b in (pair, pair[::-1]))
    rule, why = ("relaxed", "only relaxed signals order them") if relaxed else ("race", "nothing orders them")
    note(order.found, rule, ops[0].where, f"{ops[0].name} uses {place} as {spell(ops[1].where)} does, and {why}")


def _ordered(reach: Reach, before: Use, after: Use, units: range) -> bool:
    """Return whether one use comes before another: a write must be published, a read only be over."""
    if reach.reaches(before.end, after.begin, TOLD if before.writes else ORDERED):
        return True
    if before.writes or (before.cell < 0 and after.cell < 0):
        return False
    return all(reach.reaches(before.cells(unit)[1], after.cells(unit)[0], ORDERED) for unit in units)


def _check_times(order: Order, reach: Reach, store: int, use: Use, times: tuple[int, int]) -> None:
    """Judge that another GPU's buffer is used after it has begun, and before it has ended.

    ``times``: the targets that come after the beginning of any of its threadblocks, and the ends of these, as bits.
    """
    begun, ends = times
    op = order.plan.steps[use.at[0]][use.at[1]].op
    place = order.plan.name(store, use.lo)
    cells = [use.cells(unit) for unit in range(use.lo, use.hi)] if use.cell >= 0 else []
    if not begun & reach.bits([use.begin]) and not (cells and all(begun & reach.bits([begin]) for begin, _ in cells)):
        note(order.found, "begun", op.where, f"{op.name} uses {place}, which may not have begun")
    if reach.follow(use.end, TOLD if use.writes else ORDERED) & ends:
        return
    if cells and not use.writes and all(reach.follow(end, ORDERED) & ends for _, end in cells):
        return
    if use.writes and reach.follow(use.end, RELAXED) & ends:
        text = f"{op.name} writes to {place}, and only relaxed signals tell gpu {store // 3}"
        note(order.found, "relaxed", op.where, text)
    else:
        note(order.found, "ended", op.where, f"{op.name} uses {place}, which may have ended")
