"""The events of a plan of MSCCL++, and one run of them: rules ``pairs`` and ``deadlock``.

Events are the beginnings and ends of segments, which are the operations of a threadblock between two places where its threads
meet; the work of single threads, and that of a proxy for them; barriers; and packets, each of which waits for the one that is
written there.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from treecast.description import count_of
from treecast.formats.mscclpp.plan import WAITS, End, Op, Step, Unrolled, note
from treecast.programs.events import ORDERED, TOLD, TURNS, Change, Events
from treecast.programs.verdict import Findings

_JOINS = ("nop", "barrier")
At = tuple[int, int, int]
"""A threadblock of all GPUs, a step of it, and the thread; -1: all threads."""


class Nodes(NamedTuple):
    """The events of an operation: its beginning and end, for each thread, or once where all threads do it.

    ``segment``: where in its threadblock. ``work``: when all threads have come to it, or -1. ``cell``: the first of the events of
    its packets, one for each unit, or -1.
    """

    begin: list[int]
    end: list[int]
    segment: int
    work: int = -1
    cell: int = -1


@dataclass
class _Lane:
    """A threadblock that is laid out: the beginning and end of the present segment, and its last events.

    ``work``: the last of all threads; ``threads``: the last of each; ``posted``: all that a proxy was given on each channel.
    """

    number: int
    begin: int
    end: int
    work: int
    segment: int = 0
    threads: dict[int, int] = field(default_factory=dict[int, int])
    posted: "defaultdict[End, list[int]]" = field(default_factory=lambda: defaultdict(list))


class Order:
    """The order of all that a plan does.

    ``nodes``: the events of each operation; ``first`` and ``last``: the beginning and end of each threadblock; ``done``: the
    moves of data in the order of the run, those of single threads one by one.
    """

    def __init__(self, plan: Unrolled, found: Findings) -> None:
        self.plan, self.found = plan, found
        gpus = enumerate(plan.written.gpus)
        self.events = Events({(g, k): value for g, gpu in gpus for k, value in enumerate(gpu.semaphores)})
        self.nodes = dict[tuple[int, int], Nodes]()
        self.first, self.last = list[int](), list[int]()
        self._at = dict[int, At]()
        self._barriers = defaultdict[tuple[int, int], list[tuple[int, Op]]](list)
        self._meetings = dict[tuple[int, int, int], int]()
        for lane, _ in enumerate(plan.steps):
            self._lay(lane)
        self._check_barriers()
        self._link_packets()
        order = self.events.run()
        self.done = [at for at in (self._at[event] for event in order if event in self._at) if self._op(at).form]
        self._check_end(order)

    def _op(self, at: At) -> Op:
        return self.plan.steps[at[0]][at[1]].op

    def _lay(self, number: int) -> None:
        """Lay out a threadblock: its segments one behind the other, and within them the work of its threads."""
        events = self.events
        begin = events.add()
        lane = _Lane(number, begin, events.add(begin), begin)
        self.first.append(begin)
        for k, step in enumerate(self.plan.steps[number]):
            op, threads = step.op, len(step.op.ends) or len(step.op.semaphores)
            if op.name in _JOINS:
                self._join(lane, k, op)
            elif threads:
                ends = [self._lay_thread(lane, (number, k, slot), op) for slot in range(threads)]
                self.nodes[number, k] = Nodes([begin for begin, _ in ends], [end for _, end in ends], lane.segment)
            elif op.form is not None:
                self._lay_all(lane, k, step)
        self._end(lane)
        self.last.append(lane.end)

    def _lay_all(self, lane: _Lane, k: int, step: Step) -> None:
        """Lay out an operation of all threads: they come to it in turn, and it may happen at any time in its segment."""
        events = self.events
        work = self._place((lane.number, k, -1), lane, events.add())
        for before in lane.threads.values():
            events.link(before, work, TURNS)
        events.link(work, lane.end, TURNS)
        lane.work = work
        spans = [span for place in step.reads + step.writes for span in place] if step.op.flagged else []
        cells = [events.add(lane.begin) for _ in range(spans[0].lo, spans[0].hi)] if spans else []
        for cell in cells:
            events.link(cell, lane.end)
            events.link(work, cell, TURNS)
        self.nodes[lane.number, k] = Nodes([lane.begin], [lane.end], lane.segment, work, cells[0] if cells else -1)

    def _lay_thread(self, lane: _Lane, at: At, op: Op) -> tuple[int, int]:
        """Lay out an operation of a single thread; return its beginning and end."""
        events, slot = self.events, at[2]
        begin = self._place(at, lane, events.add(lane.threads.get(slot, lane.begin)))
        lane.threads[slot] = end = arrive = begin
        if op.by == "port":
            own = lane.posted[op.ends[slot]]
            if op.by_proxy:
                end = events.add(begin)
                own.append(end)
            if op.signals:
                arrive = events.add(begin, *own)
            if op.name in ("flush", "pwsf"):
                done = lane.threads[slot] = events.add(begin)
                for before in own:
                    events.link(before, done, TOLD if op.name == "flush" else ORDERED)
        change = Change(arrive, lane.number, not op.name.startswith("rlx"))
        if op.name in WAITS:
            events.lowered[op.ends[slot]].append(change)
        elif op.semaphores:
            table = events.lowered if op.name == "sem_acquire" else events.raised
            table[op.semaphores[slot]].append(change)
        elif op.signals:
            other = self.plan.written.other.get(op.ends[slot])
            if other is None:
                words = f"{op.by} channel {op.ends[slot][2]}"
                note(self.found, "pairs", op.where, f"its peer has no other end of {words} to await this")
            else:
                events.raised[other].append(change)
        return begin, end

    def _place(self, at: At, lane: _Lane, event: int) -> int:
        """Note where an event is, which comes after the last work of all threads."""
        self._at[event] = at
        self.events.link(lane.work, event, TURNS)
        return event

    def _end(self, lane: _Lane) -> None:
        for event in lane.threads.values():
            self.events.link(event, lane.end)

    def _join(self, lane: _Lane, k: int, op: Op) -> None:
        """Let the threads of a block meet, and those of others at a barrier."""
        events, before = self.events, lane.end
        self._end(lane)
        if op.name == "barrier":
            place = self.plan.owners[lane.number], op.barrier
            users = self._barriers[place]
            meeting = *place, sum(number == lane.number for number, _ in users)
            users.append((lane.number, op))
            if meeting not in self._meetings:
                self._meetings[meeting] = events.add()
            before = self._meetings[meeting]
            events.link(lane.end, before)
        lane.begin = lane.work = events.add(before)
        self._at[lane.begin] = lane.number, k, -1
        lane.end, lane.segment, lane.threads = events.add(lane.begin), lane.segment + 1, {}

    def _check_barriers(self) -> None:
        """Judge that barriers are for those who come to them; where too few come, they wait for ever."""
        for place, users in self._barriers.items():
            came, most = Counter(number for number, _ in users), max(op.blocks for _, op in users)
            for op in [op for _, op in users if op.blocks != len(came)]:
                text = f"barrier {place[1]} is for {op.blocks} threadblocks, and {len(came)} come to it"
                note(self.found, "pairs", op.where, text)
            for turn in range(max(came.values())):
                if sum(times > turn for times in came.values()) < most:
                    self.events.block(self._meetings[*place, turn])

    def _link_packets(self) -> None:
        """Let who awaits a packet come after who writes it, packet by packet."""
        written = dict[tuple[int, int], int]()
        steps, events = self.plan.steps, self.events
        for (j, k), nodes in self.nodes.items():
            for slot, place in enumerate(steps[j][k].writes):
                for span in (span for span in place if span.packed):
                    units = range(span.lo, span.hi)
                    if twice := [unit for unit in units if (span.store, unit) in written]:
                        text = f"packets are written to {self.plan.name(span.store, twice[0])} twice"
                        note(self.found, "race", steps[j][k].op.where, text)
                    for unit in units:
                        event = nodes.end[slot] if nodes.cell < 0 else nodes.cell + unit - span.lo
                        written.setdefault((span.store, unit), event)
        for (j, k), nodes in self.nodes.items():
            step = steps[j][k]
            awaited = [span for place in step.reads for span in place if span.packed]
            for span in awaited if step.op.flagged or step.op.name == "rppkt" else ():
                for unit in range(span.lo, span.hi):
                    source = written.get((span.store, unit))
                    for event in nodes.begin if nodes.cell < 0 else (nodes.cell + unit - span.lo, nodes.work):
                        if source is None:
                            events.block(event)
                        else:
                            events.link(source, event, TURNS if event == nodes.work else ORDERED)

    def _too_few(self, at: At) -> str:
        """Return why an operation waits for ever, where a count is raised less often than it is lowered; else nothing."""
        op, counts = self._op(at), self.events
        keys = op.ends if op.name in WAITS else op.semaphores if op.name == "sem_acquire" else ()
        for key in keys[max(at[2], 0) :][:1]:
            raised, lowered = len(counts.raised[key]) + counts.begins[key], len(counts.lowered[key])
            if raised < lowered:
                whose = f"{key[1]} channel {key[2]}" if len(key) == 3 else f"semaphore {key[1]}"
                return f": {whose} gets {count_of(raised, 'signal')}, and has {count_of(lowered, 'wait')}"
        return ""

    def _check_end(self, order: list[int]) -> None:
        """Judge ``deadlock``, and where all comes to an end that every signal was awaited and semaphores are as they were."""
        events, happened, first = self.events, set(order), dict[int, At]()
        for at in sorted(at for event, at in self._at.items() if event not in happened):
            first.setdefault(at[0], at)
        for at in first.values():
            note(self.found, "deadlock", self._op(at).where, f"{self._op(at).name} waits for ever{self._too_few(at)}")
        for key in sorted({*events.raised, *events.lowered}, key=str) if not first else ():
            left, began = len(events.raised[key]) - len(events.lowered[key]), events.begins[key]
            if left and len(key) == 2:
                text = f"semaphore {key[1]} begins at {began} and ends at {began + left}: the next launch begins there"
                note(self.found, "pairs", key[:1], text)
            elif left:
                text = f"{left} signals on {key[1]} channel {key[2]} are never awaited: the next launch takes them"
                note(self.found, "pairs", key[:1], text)
