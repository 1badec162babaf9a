"""The part that all judges of files share: links, the delivery of a job, one verdict, and the schedule of a right file."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import FormatError, TreecastError
from treecast.files.programs.dataflow import Contents, Name, bits_at, judge_delivery, root_of
from treecast.files.programs.to_schedule import Sent, bounds_of, collective_of, one_at_a_time, schedule_of_sent, widths
from treecast.files.programs.verdict import FileVerdict, Findings, Nouns, Where
from treecast.networks import Network
from treecast.networks import network as network_of
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.verification.file_rules import place_of, rule


@dataclass
class Judged:
    """A file that is judged, as far as it goes.

    ``title``: how errors call it. ``known``: fields of its verdict. ``collective`` and ``contents``: those of its buffers at the
    end, the first that were judged. ``timed``: its messages, as ``one_at_a_time`` returns them.
    """

    found: Findings
    title: str
    nouns: Nouns
    known: dict[str, Any] = field(default_factory=lambda: {"collective": "?", "ranks": 0, "lanes": 0, "operations": 0})
    where: Network | None = None
    collective: Collective | None = None
    contents: Contents | None = None
    timed: tuple[Sent, Ints] | None = None
    clock: float = field(default_factory=time.perf_counter)

    def judge_contents(self, contents: Contents, kind: str, loop: int, name: Name, where: Where) -> None:
        """Judge ``delivered``, where the collective is known. The last three are as ``judge_delivery`` takes them."""
        first = self.contents is None
        self.contents = contents if self.contents is None else self.contents
        if kind:
            root = root_of(contents, COLLECTIVES[kind])
            judge_delivery(self.found, contents, COLLECTIVES[kind], loop, root=root, name=name, where=where)
            self.collective = collective_of(kind, contents.places.ranks, loop, root) if first else self.collective
            if first and COLLECTIVES[kind].adds and not (contents.sets or self.found.counts["delivered"]):
                self.known["bits"] = bits_at(contents, COLLECTIVES[kind], loop, root)

    @rule("adjacent", "a link leads from each sender to its receiver", of=("goal", "msccl", "mscclpp"))
    @rule("link-once", "no link carries more messages at a time than it has cables", of=("goal", "msccl", "mscclpp"))
    def judge_links(
        self, sends: Ints, ends: tuple[Ints, Ints], when: tuple[Ints, Ints], spell: Where, *, named: bool
    ) -> None:
        """Judge ``adjacent``, and where somebody named the network ``link-once``: who begins while the arc carries all it can.

        ``sends`` are the operations that send, an entry for each message, ``ends`` whence and whither, and ``spell`` tells their
        places in the file. ``when``: after how many steps each begins, and how many it takes.
        """
        if self.where is None:
            return
        (src, dst), network, found = ends, self.where, self.found
        room = widths(network, src, dst)
        away = np.flatnonzero(room == 0)[np.argsort(sends[room == 0], kind="stable")]
        to = dict(zip(sends[away].tolist(), dst[away].tolist(), strict=True))
        found.these("adjacent", sends[away], lambda one: f"no link leads from there to {to[one]}", spell)
        if not named:
            return
        key, room = src * network.nodes + dst, np.where(room, room, len(sends))  # where no link leads, that is enough
        turn = np.lexsort([sends, when[0], key])
        busy, late = dict[int, list[int]](), list[int]()
        columns = [column[turn].tolist() for column in (sends, key, *when, room)]
        for one, arc, begin, units, most in zip(*columns, strict=True):
            under_way = [end for end in busy.get(arc, ()) if end > begin]  # those before that still go
            if len(under_way) >= most:
                late.append(one)
            busy[arc] = [*under_way, begin + units]
        found.these("link-once", np.array(late, np.int64), lambda _: "its arc carries another message then", spell)

    def note_figures(self, ends: tuple[Ints, Ints], units: Ints, depth: int, sent: Sent) -> None:
        """Note the messages of a program that comes to its end, their figures, and the bounds of its collective.

        ``depth``: its steps if arcs carried all at once.
        """
        if self.where is not None:
            self.timed = one_at_a_time(self.where, sent)
            steps = int(self.timed[0].step.max(initial=-1)) + 1
            self.known |= figures_of(self.where.nodes, ends, units) | {"steps": steps, "depth": depth}
            self.known |= {"bounds": bounds_of(self.collective, self.where)}

    def verdict(self) -> FileVerdict:
        """Return the verdict."""
        found = self.found
        counts = {rule: found.counts[rule] for rule in sorted(found.counts, key=place_of)}
        return FileVerdict(
            format=found.format,
            counts=counts,
            allowed=found.allowed,
            findings=tuple(finding for rule in counts for finding in found.shown.get(rule, ())),
            notes=tuple(found.notes),
            nouns=self.nouns,
            network=self.where.spec if self.where is not None else "?",
            seconds=time.perf_counter() - self.clock,
            **self.known,
        )

    def check(self) -> None:
        """Raise FormatError when a rule is broken."""
        if self.found.broken:
            raise FormatError(f"{self.title} is wrong: {self.found.first()}")

    def schedule(self) -> Schedule:
        """Return the schedule of a right file with buffers. Raises FormatError when it is wrong, or none fits."""
        self.check()
        if self.where is None or self.contents is None or self.timed is None:
            raise FormatError(f"{self.title} was not judged to the end")
        return schedule_of_sent(self.title, self.collective, self.where, self.contents, self.timed)


def find_network(named: "str | Network | None", ranks: int) -> Network:
    """Return the network of some ranks, by default a complete one. Raises TreecastError when it has not a node for each."""
    found = network_of(f"complete:{ranks}" if named is None else named)
    if found.nodes != ranks:
        raise TreecastError(
            f"{found.spec} has {found.nodes:,} nodes, and the file {ranks:,} ranks: name a network of as many"
        )
    return found


def figures_of(ranks: int, ends: tuple[Ints, Ints], units: Ints) -> dict[str, Any]:
    """Return the figures of a verdict that count messages, of which each has so many ``units``, and the arc with most."""
    arcs, which = np.unique(ends[0] * ranks + ends[1], return_inverse=True)
    load = np.bincount(which, weights=units).astype(np.int64)
    arc = divmod(int(arcs[load.argmax()]), ranks) if len(arcs) else (-1, -1)
    return {"messages": len(units), "busiest": int(load.max(initial=0)), "busiest_arc": arc}
