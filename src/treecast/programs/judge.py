"""The part that all judges of files share: links, the delivery of a job, one verdict, and the schedule of a right file."""

import time
from dataclasses import dataclass, field
from typing import Any

from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import FormatError
from treecast.networks import Network
from treecast.programs.arcs import figures_of, judge_arcs
from treecast.programs.dataflow import Contents, Name, judge_delivery, root_of
from treecast.programs.to_schedule import Sent, bounds_of, collective_of, one_at_a_time, schedule_of_sent
from treecast.programs.verdict import FileVerdict, Findings, Nouns, Where, as_told
from treecast.ragged import Ints
from treecast.schedule import Schedule


@dataclass
class Judged:
    """A file that is judged, as far as it goes.

    ``title``: how errors call it. ``known``: fields of its verdict. ``collective`` and ``contents``: those of its buffers at the
    end, the first that were judged. ``sent``: the function that lists its messages.
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

    def judge_contents(self, contents: Contents, kind: str, loop: int, name: Name) -> None:
        """Judge ``delivered``, where the collective is known. ``loop`` and ``name``: as ``judge_delivery`` takes them."""
        first = self.contents is None
        self.contents = contents if self.contents is None else self.contents
        if kind:
            root = root_of(contents, COLLECTIVES[kind])
            judge_delivery(self.found, contents, COLLECTIVES[kind], loop, root=root, name=name)
            self.collective = collective_of(kind, contents.places.ranks, loop, root) if first else self.collective

    def judge_links(
        self, sends: Ints, ends: tuple[Ints, Ints], when: tuple[Ints, Ints], spell: Where, *, named: bool
    ) -> None:
        """Judge ``adjacent``, and ``link-once`` where somebody named the network; the others: as ``judge_arcs`` takes them."""
        if self.where is not None:
            judge_arcs(self.found, self.where, sends, ends, spell, when=when if named else None)

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
        seconds, network = time.perf_counter() - self.clock, self.where.spec if self.where is not None else "?"
        return FileVerdict(**as_told(self.found), **self.known, nouns=self.nouns, network=network, seconds=seconds)

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
