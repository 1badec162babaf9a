"""What happens before what in a plan of MSCCL++, whatever the speed of its threads.

Nodes are the beginnings and ends of segments, which are the operations of a threadblock between two places where its threads
meet; what single threads do; what a proxy does for them; barriers; and packets. A way is as strong as its weakest part: TOLD
publishes data, RELAXED has a relaxed signal or wait in it, and ORDERED has packets, which order what they do not publish.
"""

from typing import NamedTuple

from treecast.errors import FormatError
from treecast.formats.mscclpp.running import JOINS, At, Run, signals_of, threads_of

TOLD, RELAXED, ORDERED = range(3)
_MOST_NODES, _MOST_LINKS = 2**15, 2**20


class Nodes(NamedTuple):
    """The nodes of an operation.

    ``begin`` and ``end`` have an entry for each thread, or one where all threads do it. ``arrive``: when a thread's signal
    arrives. ``segment``: where in its threadblock. ``cell``: the first of the nodes of its packets, one for each unit, or -1.
    """

    begin: list[int]
    end: list[int]
    arrive: list[int]
    segment: int
    cell: int = -1


class Order:
    """The order of all that a plan does. ``first`` and ``last``: the beginning and end of each threadblock."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._next: list[list[tuple[int, int]]] = []
        self._reach = dict[int, list[int]]()
        self.nodes = dict[tuple[int, int], Nodes]()
        self.first, self.last = list[int](), list[int]()
        self._meeting = {where: number for number, met in enumerate(run.meetings.values()) for where in met}
        self._barriers = [self._node() for _ in run.meetings]
        for j, _ in enumerate(run.plan.steps):
            self._lay(j)
        for key, lowered in run.lowered.items():
            self._link(run.raised[key], lowered, run.begins.get(key, 0))
        self._link_packets()

    def _node(self) -> int:
        if len(self._next) >= _MOST_NODES:
            raise FormatError(f"this plan has more than {_MOST_NODES:,} parts to order: that is too many to judge")
        self._next.append([])
        return len(self._next) - 1

    def _after(self, before: int, after: int, level: int = TOLD) -> None:
        self._next[before].append((after, level))

    def _lay(self, j: int) -> None:
        """Lay out a threadblock: its segments one behind the other, and within them what each thread does."""
        begin, end, segment = self._node(), self._node(), 0
        self.first.append(begin)
        self._after(begin, end)
        threads = dict[int, int]()
        posted = dict[object, list[int]]()  # what a proxy has been given on each channel
        for k, step in enumerate(self.run.plan.steps[j]):
            op = step.op
            if op.name in JOINS:
                for node in threads.values():
                    self._after(node, end)
                threads, previous, segment = {}, end, segment + 1
                begin, end = self._node(), self._node()
                if op.name == "barrier":
                    barrier = self._barriers[self._meeting[j, k]]
                    self._after(previous, barrier)
                    previous = barrier
                self._after(previous, begin)
                self._after(begin, end)
            elif threads_of(op):
                self.nodes[j, k] = self._lay_threads(j, k, (begin, segment), threads, posted)
            elif op.form is not None:
                cell = -1
                if op.flagged:
                    spans = [span for place in step.reads + step.writes for span in place]
                    cells = [self._node() for _ in range(spans[0].lo, spans[0].hi)]
                    cell = cells[0] if cells else -1
                    for node in cells:
                        self._after(begin, node)
                        self._after(node, end)
                self.nodes[j, k] = Nodes([begin], [end], [], segment, cell)
        for node in threads.values():
            self._after(node, end)
        self.last.append(end)

    def _lay_threads(
        self, j: int, k: int, within: tuple[int, int], threads: dict[int, int], posted: dict[object, list[int]]
    ) -> Nodes:
        """Lay out what single threads do. ``within``: where the segment begins, and which it is."""
        op = self.run.plan.steps[j][k].op
        begins, ends, arrives = list[int](), list[int](), list[int]()
        for slot in range(threads_of(op)):
            node = self._node()
            self._after(threads.get(slot, within[0]), node)
            begins.append(node)
            threads[slot] = arrive = end = node
            if op.by == "port":
                own = posted.setdefault(op.ends[slot], [])
                if op.by_proxy:
                    end = self._node()
                    self._after(node, end)
                    own.append(end)
                if signals_of(op):
                    arrive = self._node()
                    for before in (node, *own):
                        self._after(before, arrive)
                if op.name in ("flush", "pwsf"):
                    threads[slot] = done = self._node()
                    self._after(node, done)
                    for before in own:
                        self._after(before, done, TOLD if op.name == "flush" else ORDERED)
            ends.append(end)
            arrives.append(arrive)
        return Nodes(begins, ends, arrives, within[1])

    def _link(self, raised: list[At], lowered: list[At], initial: int) -> None:
        """Let what lowers a count come after what raises it, wherever it cannot pass without that."""
        if len(raised) * len(lowered) > _MOST_LINKS:
            raise FormatError(f"{len(raised):,} signals to {len(lowered):,} waits of one channel are too many to judge")
        seen = dict[int, int]()
        behind = dict[At, int]()  # how many raise it behind each in its threadblock, itself included
        for at in sorted(raised, reverse=True):
            behind[at] = seen[at[0]] = seen.get(at[0], 0) + 1
        turns = dict[int, int]()
        for at in sorted(lowered):
            turns[at[0]] = need = turns.get(at[0], 0) + 1
            op = self.run.plan.steps[at[0]][at[1]].op
            for source, later in behind.items():
                if len(raised) - later < need - initial:
                    name = self.run.plan.steps[source[0]][source[1]].op.name
                    plain = not (name.startswith("rlx") or op.name.startswith("rlx"))
                    node = self.nodes[source[:2]].arrive[source[2]]
                    self._after(node, self.nodes[at[:2]].begin[at[2]], TOLD if plain else RELAXED)

    def _link_packets(self) -> None:
        """Let who awaits a packet come after who writes it, packet by packet."""
        written = dict[tuple[int, int], int]()
        steps = self.run.plan.steps
        for (j, k), nodes in self.nodes.items():
            for slot, place in enumerate(steps[j][k].writes):
                for span in place:
                    for unit in range(span.lo, span.hi) if span.packed else ():
                        written[span.store, unit] = nodes.cell + unit - span.lo if nodes.cell >= 0 else nodes.end[slot]
        for (j, k), nodes in self.nodes.items():
            step = steps[j][k]
            for place in step.reads if step.op.flagged or step.op.name == "rppkt" else ():
                for span in place:
                    for unit in range(span.lo, span.hi) if span.packed else ():
                        source = written.get((span.store, unit))
                        for node in nodes.begin if nodes.cell < 0 else (nodes.cell + unit - span.lo,):
                            if source is not None and source != node:
                                self._after(source, node, ORDERED)

    def follow(self, node: int, level: int) -> int:
        """Return the nodes that come after one by ways of which no part is weaker than ``level``, itself included, as bits."""
        if level not in self._reach:
            self._reach[level] = self._find_ways(level)
        return self._reach[level][node]

    def reaches(self, before: int, after: int, level: int) -> bool:
        """Return whether there is a way from one node to another, no part of it weaker than ``level``."""
        return bool(self.follow(before, level) >> after & 1)

    def _find_ways(self, level: int) -> list[int]:
        """Return for each node those that come after it, itself included, as bits."""
        left = [0] * len(self._next)
        for follows in self._next:
            for node, _ in follows:
                left[node] += 1
        ready = [node for node, count in enumerate(left) if not count]
        for node in ready:
            for other, _ in self._next[node]:
                left[other] -= 1
                if not left[other]:
                    ready.append(other)
        ways = [0] * len(self._next)
        for node in reversed(ready):
            found = 1 << node
            for other, kind in self._next[node]:
                if kind <= level:
                    found |= ways[other]
            ways[node] = found
        return ways
