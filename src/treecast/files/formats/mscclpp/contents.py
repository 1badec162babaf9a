"""The effect of a plan's operations on buffers, and their messages: rules ``undefined`` and ``delivered``."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treecast.collectives import COLLECTIVES
from treecast.errors import FormatError
from treecast.files.formats.mscclpp.plan import UnitRange, note
from treecast.files.formats.mscclpp.program import Laid
from treecast.files.programs.dataflow import Contents, Moves, Places, trace
from treecast.files.programs.judge import Judged
from treecast.files.programs.to_schedule import Sent
from treecast.ragged import Ints, places, starts
from treecast.verification.file_rules import rule

_MOST_MOVED = 2**22


class GpuMessage(NamedTuple):
    """A move of ``units`` units between two GPUs, which stand from ``slot`` on while under way, by an operation."""

    src: int
    dst: int
    slot: int
    units: int
    operation: int


class _Move(NamedTuple):
    """Part of an operation: the places that are read and added up, and those that are written."""

    operation: int
    units: int
    reads: list[int]
    writes: list[int]


class Dataflow:
    """The moves of operations. Buffers stand one behind the other, then the packets of each scratch, then messages under way."""

    def __init__(self, laid: Laid) -> None:
        self.laid, self.plan = laid, laid.plan
        plan = self.plan
        sizes = np.array(plan.sizes, np.int64)
        # store 3 g + b is buffer b of GPU g; each scratch, b = 2, has room for packets besides
        self.first = starts(np.concatenate([sizes, np.where(np.arange(len(sizes)) % 3 == 2, sizes, 0)]))
        self.messages = list[GpuMessage]()
        self._slots = int(self.first[-1])
        moving = {one for parts in laid.parts.values() for one in parts.moves if laid.step(one).op.form}
        steps = [plan.steps[j][k] for j, k in laid.parts if plan.steps[j][k].op.form]  # only what moves data
        moved = sum(span.hi - span.lo for step in steps for place in step.reads + step.writes for span in place)
        if moved > _MOST_MOVED:
            raise FormatError(f"{moved:,} pieces are moved: {_MOST_MOVED:,} can be judged")
        self.moves = [move for one in laid.order.run.tolist() if one in moving for move in self._lower(one)]
        # sums, maxima, minima: several ways make no one result
        ways = {step.op.adds for step in steps if step.op.form is not None and step.op.form.sums}
        self.mixed = len(ways) > 1
        self.places = self._lay_out()
        sides = [move.reads for move in self.moves], [move.writes for move in self.moves]
        begin = [starts([len(some) for some in side]) for side in sides]
        flat = [np.array([place for some in side for place in some], np.int64) for side in sides]
        one = np.array([move.operation for move in self.moves], np.int64)
        units = np.array([move.units for move in self.moves], np.int64)
        table = Moves(one, units, begin[0], flat[0], begin[1], flat[1])
        lanes, under_way = np.zeros(len(laid.at), np.int64), self._slots - self.places.total
        self.contents: Contents = trace(
            self.places, table, lanes, under_way, twins=self._twins(), sets=not ways <= {"sum"}
        )

    def _place(self, span: UnitRange) -> int:
        return int(self.first[span.store + len(self.plan.sizes) * span.packed]) + span.lo

    def _lower(self, one: int) -> Iterator[_Move]:
        """Yield the moves of an operation. One from or to another GPU is a message."""
        step, gpu = self.laid.step(one), int(self.laid.order.program.rank[one])
        form, thread = step.op.form, (self.laid.at[one] or (0, 0, -1))[2]
        if form is None:
            return
        pairs = [([span for place in step.reads for span in place], [span for place in step.writes for span in place])]
        if thread >= 0:  # one thread, one place: the last place to read serves all further ones
            pairs = [(step.reads[min(thread, len(step.reads) - 1)], step.writes[thread])]
        elif form.each:  # the k-th source to the k-th target
            pairs = zip(step.reads, step.writes, strict=True)
        for sources, targets in pairs:
            units = max((span.hi - span.lo for span in (*sources, *targets)), default=0)
            reads = list[int]()
            # of others all sources hold the same, so the first does
            for span in sources if form.sums or form.each else sources[:1]:
                reads.append(self._place(span))
                # it comes from another GPU: a message, which is read in its place
                if span.store // 3 != gpu:
                    slot = self._message(span.store // 3, gpu, units, one)
                    yield _Move(one, units, [reads[-1]], [slot])
                    reads[-1] = slot
            writes = [self._place(span) for span in targets]
            writes += [self._message(gpu, s.store // 3, units, one) for s in targets if s.store // 3 != gpu]
            yield _Move(one, units, reads, writes)

    def _message(self, src: int, dst: int, units: int, one: int) -> int:
        self.messages.append(GpuMessage(src, dst, self._slots, units, one))
        self._slots += units
        return self.messages[-1].slot

    def _lay_out(self) -> Places:
        plan, gpus = self.plan, self.plan.written.gpus
        stores = [[plan.place(g, buffer) for buffer in range(3)] for g, _ in enumerate(gpus)]
        base = np.array([[self.first[store] + lo for store, lo in own] for own in stores])
        size = np.array([[plan.sizes[store] - lo for store, lo in own] for own in stores])
        given = np.array([gpu.chunks[0] * plan.units for gpu in gpus])
        size[:, 0] = given
        return Places(
            ranks=len(gpus),
            units=plan.units,
            base=base,
            size=size,
            total=int(self.first[-1]),
            given=given,
            inplace=plan.written.inplace,
        )

    def _twins(self) -> Ints:
        """Return the places that each write wipes out: packets by plain ones, and the other way round."""
        twins, stores = np.full((self._slots, 2), -1, np.int64), len(self.plan.sizes)
        for store in range(2, stores, 3):
            size, plain, packed = self.plan.sizes[store], int(self.first[store]), int(self.first[stores + store])
            # a packet takes two plain places, and each of these wipes out the half of one packet
            every = np.arange(size)
            twins[plain + every, 0] = packed + every // 2
            half = every[: size // 2]
            twins[packed + half] = plain + 2 * half[:, None] + np.arange(2)
        return twins.reshape(-1)

    def name(self, place: int) -> str:
        """Return how a place is called."""
        store = int(np.searchsorted(self.first, place, side="right")) - 1
        return self.plan.name(store % len(self.plan.sizes), place - int(self.first[store]))

    @cached_property
    def early(self) -> tuple[list[int], Ints]:
        """The step in which each move and each message goes, as if that were alone on its arc: when its data is there."""
        return self._time(range(len(self.moves)), alone=True)

    def _time(self, order: Iterable[int], *, alone: bool) -> tuple[list[int], Ints]:
        """Return in which step each move and each message goes: when its data is there, and its threadblock is free.

        ``order``: that in which moves are looked at. ``alone``: whether an arc takes all at once; else it takes a unit a step.
        """
        came, lane, arc = np.zeros(self._slots, np.int64), dict[int, int](), dict[tuple[int, int], int]()
        under_way = {message.slot: number for number, message in enumerate(self.messages)}
        moved, began = [0] * len(self.moves), np.zeros(len(self.messages), np.int64)
        for one in order:
            move = self.moves[one]
            j = int(self.laid.order.program.lane[move.operation])
            # data has to be there, and the threadblock free
            begin = max([lane.get(j, 0), *(int(came[p : p + move.units].max(initial=0)) for p in move.reads)])
            moved[one], ends = begin, dict.fromkeys(move.writes, begin)
            for slot in [place for place in move.writes if place in under_way]:
                src, dst = self.messages[under_way[slot]][:2]
                start = begin if alone else max(begin, arc.get((src, dst), 0))  # else it waits until the arc is free
                began[under_way[slot]], arc[src, dst] = start, start + move.units
                lane[j] = max(lane.get(j, 0), start + move.units)
                # it is there when its last unit has come
                ends |= {p: start + move.units for p in move.writes if p == slot or self._owner(p) == dst}
            for place, end in ends.items():
                came[place : place + move.units] = end
        return moved, began

    @property
    def table(self) -> Ints:
        """The columns of all messages: int64 (5, messages)."""
        return np.array(self.messages, np.int64).reshape(-1, 5).T

    def sent(self) -> Sent:
        """Return all messages unit by unit, no two at once on an arc."""
        src, dst, slot, units, _ = self.table
        # messages in the order in which their data is there
        _, began = self._time(np.argsort(self.early[0], kind="stable").tolist(), alone=False)
        step = np.repeat(began, units) + places(units)
        value = self.contents.value[np.repeat(slot, units) + places(units)]
        return Sent(np.repeat(src, units), np.repeat(dst, units), step, value)

    def _owner(self, place: int) -> int:
        """Return whose buffer a place is in; -1 of a message under way."""
        store = int(np.searchsorted(self.first, place, side="right")) - 1
        return store % len(self.plan.sizes) // 3 if place < self.places.total else -1


def _loop_of(flow: Dataflow, kind: str) -> int:
    """Return how many units all blocks of a collective have."""
    row, given = COLLECTIVES[kind], flow.places.given
    if row.adds:
        return int(given.min(initial=2**62))
    return int(given.max(initial=0)) * (len(given) if row.starts == "own" and row.ends == "all" else 1)


@rule("undefined", of=("mscclpp",))
def judge_contents(file: Judged, flow: Dataflow, kind: str) -> None:
    """Judge ``undefined``, and ``delivered`` of a collective that is known."""
    plan, contents, found = flow.plan, flow.contents, file.found
    found.judged("undefined")
    bare: list[list[int]] = contents.bare[np.unique(contents.bare[:, 0], return_index=True)[1]].tolist()
    for at, place in bare:
        found.note("undefined", f"it reads {flow.name(place)}, which nothing has written", *flow.laid.where(at))
    if kind and flow.mixed:
        note(found, "delivered", (), "some operations add otherwise than others: one reduce_op is one result")
        kind = ""

    def name(rank: int, place: int, _: int) -> tuple[str, tuple[int, ...]]:
        return f"gpus[{rank}], chunk {place // plan.units} of its output", (rank,)

    file.judge_contents(contents, kind, _loop_of(flow, kind) if kind else 0, name, flow.laid.where)
