"""A plan of MSCCL++ as a program: rules ``pairs`` and ``deadlock``.

A threadblock is a lane. What a single thread does is an operation of a thread of it, and what all threads do one of no thread:
it goes at any time between two places where the threads meet, which are operations, too. A proxy's moves, and the packets of an
operation, each of which waits for the one that is written there, are operations that follow the one that hands them over.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from treecast.description import count_of
from treecast.files.formats.mscclpp.plan import WAITS, End, GpuOp, Step, Unrolled, note, spell
from treecast.files.programs.order import find_order, find_pairs
from treecast.files.programs.program import ORDERED, TOLD, TURNS, Counts, Place, Program
from treecast.files.programs.races import Use
from treecast.files.programs.verdict import Findings
from treecast.verification.file_rules import rule

_JOINS = ("nop", "barrier")
At = tuple[int, int, int]
"""A threadblock of all GPUs, a step of it, and the thread; -1: all threads."""
_Count = tuple[int, ...] | tuple[int, str, int]
"""Whose count it is, and which; the empty one is never raised."""


class _Parts(NamedTuple):
    """The operations of a step: what its threads begin, or all of them, and what moves data. ``packets``: the first of those of
    its packets, one for each unit, or -1. ``between``: the meeting before it where all threads do it, or -1.
    """

    begins: list[int]
    moves: list[int]
    packets: int = -1
    between: int = -1


@dataclass
class _Lane:
    """A threadblock that is laid out: where its threads met last, and what they have done since.

    ``work``: the last of all threads, ``since`` all of those; ``threads``: the last of each; ``posted``: all that a proxy was
    given on each channel.
    """

    number: int
    met: int
    work: int
    since: list[int] = field(default_factory=list[int])
    threads: dict[int, int] = field(default_factory=dict[int, int])
    posted: "defaultdict[End, list[int]]" = field(default_factory=lambda: defaultdict(list))

    @property
    def last(self) -> list[int]:
        """All that must be over when its threads meet."""
        return [self.met, *self.since, *self.threads.values()]


class Laid:
    """The operations of a plan and their order; ``at``: which step and thread each is of.

    ``launches``: the operations with which each GPU begins and ends. ``parts``: the operations of each step.
    """

    def __init__(self, plan: Unrolled, found: Findings) -> None:
        self.plan, self.found = plan, found
        self.at, self.launches, self.parts = list[At | None](), list[tuple[int, int]](), dict[tuple[int, int], _Parts]()
        self._rows, self._waits = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
        self._raised, self._lowered = defaultdict[_Count, list[int]](list), defaultdict[_Count, list[int]](list)
        self._came = defaultdict[tuple[int, int], list[tuple[int, GpuOp]]](list)
        self._meetings = defaultdict[tuple[int, int, int], list[tuple[int, int]]](list)
        self._rank, self._lane = 0, 0
        blocks = iter(enumerate(plan.steps))
        # each GPU begins with a launch, and ends with one that waits for all its blocks
        for self._rank, gpu in enumerate(plan.written.gpus):
            begin, ends = self._add(None), list[int]()
            for _, (number, steps) in zip(gpu.blocks, blocks, strict=False):
                self._lane += 1
                ends += self._lay(number, steps, begin)
            self._lane += 1
            self.launches.append((begin, self._add(None, *ends)))
        self._meet()
        self._link_packets()
        program = self._program()
        self.order = find_order(program, find_pairs(program))
        self._check_end()

    def _add(self, at: At | None, *after: int, thread: int = -1) -> int:
        """Add an operation that comes after others; return its number."""
        self._rows.append((self._rank, self._lane, thread))
        self.at.append(at)
        for early in after:
            self._wait(len(self.at) - 1, early)
        return len(self.at) - 1

    def _wait(self, late: int, early: int, strength: int = TOLD) -> None:
        self._waits.append((late, early, strength))

    def step(self, operation: int) -> Step:
        """Return the step that an operation is part of."""
        j, k, _ = self.at[operation] or (0, 0, 0)
        return self.plan.steps[j][k]

    def where(self, operation: int) -> Place:
        """Return where an operation stands in the file."""
        place = self.step(operation).op.where
        return spell(place), place

    def _lay(self, number: int, steps: list[Step], begin: int) -> list[int]:
        """Lay out a threadblock, and return what must be over at its end."""
        met = self._add(None, begin)
        lane = _Lane(number, met, met)
        for k, step in enumerate(steps):
            op, of_threads = step.op, step.op.ends or step.op.semaphores
            if op.name in _JOINS:
                self._join(lane, k, op)
            elif of_threads:
                both = [self._lay_thread(lane, (number, k, slot), op) for slot, _ in enumerate(of_threads)]
                self.parts[number, k] = _Parts([begin for begin, _ in both], [move for _, move in both])
            elif op.form is not None:
                self._lay_all(lane, (number, k, -1), step)
        return lane.last

    def _lay_all(self, lane: _Lane, at: At, step: Step) -> None:
        """Lay out an operation of all threads: they come to it in turn, and it may happen at any time until they meet."""
        # after the last meeting, and in turn behind what its threads did
        work = self._add(at, lane.met)
        for before in (lane.work, *lane.threads.values()):
            self._wait(work, before, TURNS)
        # packets are awaited one by one
        spans = [span for place in step.reads + step.writes for span in place] if step.op.flagged else []
        packets = [self._add(at, lane.met) for _ in range(spans[0].lo, spans[0].hi)] if spans else []
        for packet in packets:
            self._wait(packet, work, TURNS)
        lane.work = work
        lane.since += [work, *packets]
        self.parts[at[:2]] = _Parts([work], [work], packets[0] if packets else -1, lane.met)

    def _lay_thread(self, lane: _Lane, at: At, op: GpuOp) -> tuple[int, int]:
        """Lay out an operation of a single thread; return that, and what moves its data."""
        slot, key = at[2], (op.ends or op.semaphores)[at[2]]
        begin = move = arrives = lane.threads[slot] = self._add(at, lane.met, thread=slot)
        self._wait(begin, lane.work, TURNS)
        if op.by == "port":
            own = lane.posted[op.ends[slot]]
            if op.by_proxy:  # the proxy moves it later
                move = self._add(at, begin)
                own.append(move)
            if op.signals:  # its signal goes behind all that the proxy was given
                arrives = self._add(at, begin, *own)
            if op.name in ("flush", "pwsf"):
                done = lane.threads[slot] = self._add(at, begin, thread=slot)
                # flush waits until it is done; pwsf only keeps the order
                for before in own:
                    self._wait(done, before, TOLD if op.name == "flush" else ORDERED)
        other = self.plan.written.other.get(op.ends[slot]) if op.signals else None
        if op.name in (*WAITS, "sem_acquire"):
            self._lowered[key].append(begin)
        elif op.name == "sem_release":
            self._raised[key].append(begin)
        elif other is not None:
            self._raised[other].append(arrives)
        elif op.signals:
            words = f"{op.by} channel {op.ends[slot][2]}"
            # a signal that no wait can ever take
            note(self.found, "pairs", op.where, f"its peer has no other end of {words} to await this")
        return begin, move

    def _join(self, lane: _Lane, k: int, op: GpuOp) -> None:
        """Let the threads of a block meet, and those of others at a barrier."""
        at = lane.number, k, -1
        if op.name == "barrier":
            place = self._rank, op.barrier
            turn = sum(number == lane.number for number, _ in self._came[place])
            self._came[place].append((lane.number, op))
            came, met = self._add(at, *lane.last), self._add(at)
            self._meetings[*place, turn].append((came, met))
        else:
            met = self._add(at, *lane.last)
        # from here on nothing earlier need be looked at
        lane.met = lane.work = met
        lane.since, lane.threads = [], {}

    def _meet(self) -> None:
        """Let threadblocks meet at barriers, and judge that all come for whom these are; else those who come wait for ever."""
        for place, users in self._came.items():
            came, most = Counter(number for number, _ in users), max(op.blocks for _, op in users)
            for op in [op for _, op in users if op.blocks != len(came)]:
                text = f"barrier {place[1]} is for {op.blocks} threadblocks, and {len(came)} come to it"
                note(self.found, "pairs", op.where, text)
            for turn in range(max(came.values())):
                ends, begins = zip(*self._meetings[*place, turn], strict=True)  # all that came, then all that go on
                meeting = self._add(None, *ends)
                for begin in begins:
                    self._wait(begin, meeting)
                if len(ends) < most:
                    self._lowered[()].append(meeting)  # the empty count is never raised: it waits for ever

    def _link_packets(self) -> None:
        """Let who awaits a packet come after who writes it, packet by packet."""
        written, steps = dict[tuple[int, int], int](), self.plan.steps
        for (j, k), parts in self.parts.items():
            for slot, place in enumerate(steps[j][k].writes):
                for span in (span for span in place if span.packed):
                    units = range(span.lo, span.hi)
                    if twice := [unit for unit in units if (span.store, unit) in written]:
                        text = f"packets are written to {self.plan.name(span.store, twice[0])} twice"
                        note(self.found, "race", steps[j][k].op.where, text)
                    for unit in units:
                        one = parts.moves[slot] if parts.packets < 0 else parts.packets + unit - span.lo
                        written.setdefault((span.store, unit), one)  # the first write is what readers wait for
        for (j, k), parts in self.parts.items():
            step = steps[j][k]
            awaited = [span for place in step.reads for span in place if span.packed]
            for span in awaited if step.op.flagged or step.op.name == "rppkt" else ():
                for unit in range(span.lo, span.hi):  # each packet is awaited by its own reader
                    source = written.get((span.store, unit))
                    packet = [] if parts.packets < 0 else [parts.packets + unit - span.lo]
                    for one in (*packet, *parts.begins):
                        if source is None:
                            self._lowered[()].append(one)
                        else:
                            # a packet orders its own unit; other threads only take turns
                            self._wait(one, source, TURNS if packet and one != packet[0] else ORDERED)

    def _program(self) -> Program:
        """Return the operations as a program."""
        rank, lane, thread = np.array(self._rows, np.int64).T
        # each count once, in a fixed order
        waiting, wait, strength = np.array(sorted(self._waits), np.int64).reshape(-1, 3).T
        counts = list(dict.fromkeys([*self._raised, *self._lowered]))
        raises, lowers = np.full((2, len(self.at)), -1)
        for number, count in enumerate(counts):
            raises[self._raised[count]], lowers[self._lowered[count]] = number, number
        began = [self._began(count) for count in counts]
        relaxed = np.array(
            [at is not None and self.step(one).op.name.startswith("rlx") for one, at in enumerate(self.at)]
        )
        return Program(
            ranks=len(self.launches),
            rank=rank,
            lane=lane,
            thread=thread,
            waiting=waiting,
            wait=wait,
            strength=strength,
            counts=Counts(raises, lowers, relaxed, np.array(began, np.int64)),
            where=self.where,
        )

    def _began(self, count: _Count) -> int:
        """Return a count at the beginning: that of a semaphore, else 0."""
        # two numbers: a semaphore; three: a channel
        return self.plan.written.gpus[count[0]].semaphores[count[1]] if len(count) == 2 else 0

    def _too_few(self, at: At) -> str:
        """Return why an operation waits for ever, where a count is raised less often than it is lowered; else nothing."""
        op = self.plan.steps[at[0]][at[1]].op
        keys = op.ends if op.name in WAITS else op.semaphores if op.name == "sem_acquire" else ()
        for key in keys[max(at[2], 0) :][:1]:  # all threads together have no count of their own
            raised, lowered = len(self._raised[key]) + self._began(key), len(self._lowered[key])
            if raised < lowered:
                whose = f"{key[1]} channel {key[2]}" if len(key) == 3 else f"semaphore {key[1]}"
                return f": {whose} gets {count_of(raised, 'signal')}, and has {count_of(lowered, 'wait')}"
        return ""

    @rule("pairs", of=("mscclpp",))
    @rule("deadlock", "nothing waits for ever", of=("mscclpp",))
    def _check_end(self) -> None:
        """Judge ``deadlock``, and where all comes to an end that every signal was awaited and semaphores are as they were."""
        first = dict[int, At]()
        # never ended
        for at in sorted(at for one, at in enumerate(self.at) if at is not None and self.order.ends[one] < 0):
            first.setdefault(at[0], at)  # the first of each block: later ones wait for it
        for at in first.values():
            op = self.plan.steps[at[0]][at[1]].op
            note(self.found, "deadlock", op.where, f"{op.name} waits for ever{self._too_few(at)}")
        for key in sorted({*self._raised, *self._lowered}, key=str) if not first else ():  # only where all else ends
            left, began = len(self._raised[key]) - len(self._lowered[key]), self._began(key)
            if left and len(key) == 2:
                text = f"semaphore {key[1]} begins at {began} and ends at {began + left}: the next launch begins there"
                note(self.found, "pairs", key[:1], text)
            elif left:
                text = f"{left} signals on {key[1]} channel {key[2]} are never awaited: the next launch takes them"
                note(self.found, "pairs", key[:1], text)

    def uses(self) -> dict[int, list[Use]]:
        """Return the uses of each buffer, in plain places: packets take two of them."""
        found = defaultdict[int, list[Use]](list)
        for at, parts in self.parts.items():
            step = self.plan.steps[at[0]][at[1]]
            for writes, side in ((False, step.reads), (True, step.writes)):
                for slot, place in enumerate(side):
                    for span in place:
                        flagged = span.packed and (writes or step.op.flagged or step.op.name == "rppkt")
                        # a packet takes two plain places
                        each, times = parts.packets >= 0 and not span.packed, 1 + span.packed
                        one = parts.packets if each else parts.moves[min(slot, len(parts.moves) - 1)]
                        units = span.lo * times, span.hi * times
                        found[span.store].append(Use(one, at, writes, *units, each, flagged, parts.between))
        return found
