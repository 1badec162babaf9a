"""One run of a plan of MSCCL++: rules ``pairs`` and ``deadlock``, and who signals, releases and writes packets for whom.

Counts only grow, and a wait consumes its own, so any order of turns comes to the same end. Only where several threadblocks
acquire one semaphore may it matter; there they go in the order in which they come.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

import numpy as np

from treecast.formats.mscclpp.program import PORT_SIGNALS, SIGNALS, WAITS, End, Op, note
from treecast.formats.mscclpp.unrolling import Step, Unrolled
from treecast.programs.verdict import Findings

JOINS = ("nop", "barrier")
At = tuple[int, int, int]
"""A threadblock of all GPUs, a step of it, and which of its channels or semaphores, which is the thread."""
Count = tuple[str, End | tuple[int, int]]


def signals_of(op: Op) -> tuple[End, ...]:
    """Return the channels on which an operation signals."""
    return op.ends if op.name in SIGNALS or op.name in PORT_SIGNALS else ()


def threads_of(op: Op) -> int:
    """Return how many threads do an operation, each its own part; 0 where all do it together."""
    return len(op.ends) or len(op.semaphores)


class Run:
    """A run of a plan.

    ``raised`` and ``lowered``: who raises and lowers each count; ``meetings``: who meets at a barrier; ``done``: the threadblock
    and place of each operation that moves something, in the order in which they did.
    """

    def __init__(self, plan: Unrolled, found: Findings) -> None:
        self.plan, self.found = plan, found
        self.done = list[tuple[int, int]]()
        self.arrived = [np.zeros(size if store % 3 == 2 else 0, bool) for store, size in enumerate(plan.sizes)]
        self.raised = defaultdict[Count, list[At]](list)
        self.lowered = defaultdict[Count, list[At]](list)
        self.counts = Counter[Count]()
        self.meetings = defaultdict[tuple[int, int, int], list[tuple[int, int]]](list)
        gpus = enumerate(plan.program.gpus)
        self.begins: dict[Count, int] = {("s", (g, k)): v for g, gpu in gpus for k, v in enumerate(gpu.semaphores)}
        self.counts.update(self.begins)
        self._first = [0] * len(plan.steps)  # of the present segment
        self._left: list[list[tuple[int, int]]] = [[] for _ in plan.steps]
        self._stop = [0] * len(plan.steps)
        self._met = Counter[tuple[int, int]]()
        self._waiting = defaultdict[Hashable, set[int]](set)
        self._check_barriers()
        self._go()

    def _check_barriers(self) -> None:
        users, sizes = defaultdict[tuple[int, int], set[int]](set), dict[tuple[int, int], list[Op]]()
        for j, steps in enumerate(self.plan.steps):
            for step in steps:
                if step.op.name == "barrier":
                    key = self.plan.owners[j], step.op.barrier
                    users[key].add(j)
                    sizes.setdefault(key, []).append(step.op)
        for key, ops in sizes.items():
            for op in ops:
                if op.blocks != len(users[key]):
                    text = f"barrier {key[1]} is for {op.blocks} threadblocks, and {len(users[key])} come to it"
                    note(self.found, "pairs", op.where, text)

    def _go(self) -> None:
        for j, _ in enumerate(self.plan.steps):
            self._load(j)
        todo = set(range(len(self.plan.steps)))
        while todo:
            block = todo.pop()
            for key in self._advance(block):
                todo |= self._waiting.pop(key, set())
        stuck = [j for j, steps in enumerate(self.plan.steps) if self._first[j] < len(steps)]
        for j in stuck:
            k = self._left[j][0][0] if self._left[j] else self._stop[j]
            op = self.plan.steps[j][k].op
            note(self.found, "deadlock", op.where, f"{op.name} waits for ever")
        if not stuck:
            self._check_counts()

    def _check_counts(self) -> None:
        for key, count in sorted(self.counts.items(), key=str):
            kind, place = key
            began = self.begins.get(key, 0)
            if count != began and kind == "s":
                text = f"semaphore {place[1]} begins at {began} and ends at {count}: the next launch begins there"
                note(self.found, "pairs", place[:1], text)
            elif count != began:
                text = (
                    f"{count} signals on {place[1]} channel {place[-1]} are never awaited: the next launch takes them"
                )
                note(self.found, "pairs", place[:1], text)

    def _load(self, j: int) -> None:
        """Take up the next segment of a threadblock: all up to where its threads meet again."""
        steps, first = self.plan.steps[j], self._first[j]
        stop = next((k for k in range(first, len(steps)) if steps[k].op.name in JOINS), len(steps))
        self._stop[j] = stop
        self._left[j] = [(k, slot) for k in range(first, stop) for slot in range(max(threads_of(steps[k].op), 1))]

    def _advance(self, j: int) -> Iterator[Hashable]:
        """Let a threadblock go as far as it can; yield what others may wait for."""
        steps = self.plan.steps[j]
        while self._first[j] < len(steps):
            yield from self._pass(j)
            if self._left[j]:
                return
            if self._stop[j] < len(steps) and steps[self._stop[j]].op.name == "barrier":
                key, op = (self.plan.owners[j], steps[self._stop[j]].op.barrier), steps[self._stop[j]].op
                meeting = self.meetings[*key, self._met[j, op.barrier]]
                if (j, self._stop[j]) not in meeting:
                    meeting.append((j, self._stop[j]))
                    yield key
                if len(meeting) < op.blocks:
                    self._waiting[key].add(j)
                    return
                self._met[j, op.barrier] += 1
            self._first[j] = min(self._stop[j] + 1, len(steps))
            self._load(j)

    def _pass(self, j: int) -> Iterator[Hashable]:
        """Do what can be done in the present segment: a thread waits, and what all do waits for all."""
        left, held = list[tuple[int, int]](), set[int]()
        for k, slot in self._left[j]:
            step = self.plan.steps[j][k]
            alone = threads_of(step.op) > 0
            if -1 in held or (held if not alone else slot in held):
                left.append((k, slot))
                held.add(slot if alone else -1)
                continue
            key = self._blocked(j, k, slot)
            if key is not None:
                self._waiting[key].add(j)
                left.append((k, slot))
                held.add(slot if alone else -1)
                continue
            yield from self._do(j, k, slot)
        self._left[j] = left

    def _blocked(self, j: int, k: int, slot: int) -> Hashable:
        """Return what a thread waits for, or None."""
        step = self.plan.steps[j][k]
        op = step.op
        if op.name in WAITS and not self.counts["c", op.ends[slot]]:
            return "c", op.ends[slot]
        if op.name == "sem_acquire" and not self.counts["s", op.semaphores[slot]]:
            return "s", op.semaphores[slot]
        if (op.flagged or op.name == "rppkt") and not self._ready(step):
            return "packets", self.plan.owners[j]
        return None

    def _ready(self, step: Step) -> bool:
        """Return whether all packets that an operation awaits have come."""
        return all(
            self.arrived[span.store][span.lo : span.hi].all() for place in step.reads for span in place if span.packed
        )

    def _do(self, j: int, k: int, slot: int) -> Iterator[Hashable]:
        step, here = self.plan.steps[j][k], (j, k, slot)
        op = step.op
        if op.name in WAITS or op.name == "sem_acquire":
            key: Count = ("c", op.ends[slot]) if op.name in WAITS else ("s", op.semaphores[slot])
            self.counts[key] -= 1
            self.lowered[key].append(here)
        elif op.name == "sem_release":
            yield from self._raise(("s", op.semaphores[slot]), here)
        elif op.form is not None and slot == 0:
            self.done.append((j, k))
            for span in (span for place in step.writes for span in place if span.packed):
                arrived = self.arrived[span.store][span.lo : span.hi]
                if arrived.any():
                    place = self.plan.name(span.store, span.lo + int(arrived.argmax()))
                    note(self.found, "race", op.where, f"packets are written to {place} twice")
                arrived[:] = True
                yield "packets", span.store // 3
        if signals_of(op):
            other = self.plan.program.other.get(op.ends[slot])
            if other is None:
                _, kind, number = op.ends[slot]
                note(
                    self.found, "pairs", op.where, f"its peer has no other end of {kind} channel {number} to await this"
                )
            else:
                yield from self._raise(("c", other), here)

    def _raise(self, key: Count, here: At) -> Iterator[Hashable]:
        self.counts[key] += 1
        self.raised[key].append(here)
        yield key
