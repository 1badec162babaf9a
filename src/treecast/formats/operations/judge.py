"""The judge of sends and receives: every rule, and the figures.

Where comments say what messages carry, the file is a schedule, and the verifier judges that as well. Where they do not, what
can be told is judged: matching, circles, links, and whether any contents at all could do what a collective asks.
"""

import time
from collections.abc import Callable, Iterable

import numpy as np

from treecast.collectives import Collective
from treecast.errors import FormatError, TreecastError
from treecast.formats.operations.flows import find_lacks
from treecast.formats.operations.holding import Holdings, find_early, schedule_said
from treecast.formats.operations.program import Program
from treecast.formats.operations.timing import circle_of, find_pairs, longest_chains
from treecast.formats.operations.verdict import SHOWN, Finding, Verdict
from treecast.formats.registry import Told
from treecast.lower_bounds import Bound, bounds
from treecast.models import model
from treecast.networks import Network, network
from treecast.networks.flows import arcs_of
from treecast.ragged import Ints
from treecast.schedule import Schedule
from treecast.schedule.sizes import blocks_of, chunk_bounds
from treecast.verification.verifier import verify


class Judging:
    """A file of sends and receives that is being judged, rule by rule."""

    def __init__(self, program: Program, told: Told) -> None:
        self.program, self.told = program, told
        self.counts, self.findings, self.notes = dict[str, int](), list[Finding](), list[str]()
        self.pairs = find_pairs(program)
        self.schedule = schedule_said(program, self.pairs) if not len(self.pairs.alone) else None
        if self.schedule is not None and told != Told():
            raise FormatError("the comments of this file say its job: leave out what else is said of it")
        self.network = _network_of(program, told) if self.schedule is None else self.schedule.network
        self.collective = self.schedule.part if self.schedule is not None else _collective_of(self.network, told)
        self.steps: int | None = None
        self.found_bounds: tuple[Bound, ...] = ()
        if self._judge_pairs():
            begins = self._judge_order()
            if begins is not None:
                self._judge_messages(begins)

    @property
    def holds(self) -> bool:
        """Whether no rule is broken."""
        return not any(self.counts.values())

    def note(self, rule: str, found: Iterable[str], count: int | None = None) -> bool:
        """Note what breaks a rule, all of it or ``count`` in all; return whether the rule is kept."""
        shown = list(found)
        self.counts[rule] = self.counts.get(rule, 0) + (len(shown) if count is None else count)
        self.findings += [Finding(rule, text) for text in shown[:SHOWN]]
        return not self.counts[rule]

    def _judge_pairs(self) -> bool:
        program, pairs = self.program, self.pairs
        lonely = [f"{program.spell(one)} meets nothing" for one in pairs.alone[:SHOWN].tolist()]
        for message in pairs.unequal[:SHOWN].tolist():
            send, receive = int(pairs.send[message]), int(pairs.receive[message])
            lonely.append(
                f"{program.spell(send)} sends {program.size[send]:,} bytes, and {program.spell(receive)} awaits "
                f"{program.size[receive]:,}"
            )
        return self.note("pairs", lonely, len(pairs.alone) + len(pairs.unequal))

    def _judge_order(self) -> Ints | None:
        """Return when each operation begins, or None where some never end."""
        program, pairs = self.program, self.pairs
        begins, ends = longest_chains(program, pairs, together=True)
        together = True
        if ends.min(initial=0) < 0 and program.eager:
            short, arrived = longest_chains(program, pairs, together=False)
            if arrived.min(initial=0) >= 0:
                self.notes.append(
                    "some ranks wait for one another in a circle if a send ends only when its receive has begun, as with long "
                    "messages"
                )
                begins, ends, together = short, arrived, False
        self.counts["order"] = 0
        if ends.min(initial=0) < 0:
            circle = circle_of(program, pairs, ends, together)
            words = ", which waits for ".join(program.spell(one) for one in circle[:SHOWN].tolist())
            more = f", and so on in a circle of {len(circle):,}" if len(circle) > SHOWN else ", in a circle"
            self.note("order", [words + more], int((ends < 0).sum()))
            return None
        self.steps = int(ends[pairs.receive].max(initial=0))
        return np.maximum(begins[pairs.send], begins[pairs.receive] if together else 0)

    def _judge_messages(self, begins: Ints) -> None:
        if self.schedule is not None:
            self._judge_schedule(self.schedule)
        else:
            self._judge_arcs(begins)
            self._judge_delivery()

    def _judge_schedule(self, schedule: Schedule) -> None:
        program, pairs = self.program, self.pairs
        early = [f"{program.spell(send)}: {why}" for send, why in find_early(program, pairs)]
        report = verify(schedule)
        if self.note("order", early) and not report.counts.get("chunks", 0):
            missing = Holdings(program, pairs, schedule).find_missing()
            self.note("waits", [f"{program.spell(send)}: {why}" for send, why in missing])
        for rule, count in report.counts.items():
            self.note(rule, [found.text for found in report.violations if found.rule == rule], count)
        self.steps, self.found_bounds = report.steps, report.bounds

    def _judge_arcs(self, begins: Ints) -> None:
        """Judge ``adjacent``, and where a network is named ``link-once``."""
        program, where, send = self.program, self.network, self.pairs.send
        key = program.rank[send] * where.nodes + program.peer[send]
        room = np.ones(len(key), np.int64)
        if not where.every_pair_joined:
            arcs = arcs_of(where)
            known, width = np.unique(arcs.tail.astype(np.int64) * where.nodes + arcs.head, return_counts=True)
            at = np.minimum(np.searchsorted(known, key), len(known) - 1)
            there = known[at] == key
            room = np.where(there, width[at], len(key))
            off = send[~there]
            words = (
                f"{program.spell(one)}: no link leads from {program.rank[one]} there" for one in off[:SHOWN].tolist()
            )
            self.note("adjacent", words, len(off))
        else:
            self.counts["adjacent"] = 0
        if self.told.network is not None:
            once = np.stack([key, begins])
            _, first, count = np.unique(once, axis=1, return_index=True, return_counts=True)
            late = np.flatnonzero(count > room[first])
            words = (
                f"{program.spell(int(send[first[group]]))}: {count[group]:,} messages go over its arc in step "
                f"{begins[first[group]]}, which carries {room[first[group]]:,}"
                for group in late[:SHOWN].tolist()
            )
            self.note("link-once", words, len(late))

    def _judge_delivery(self) -> None:
        if self.collective is None:
            self.notes.append(
                "nobody says what the messages carry: name --collective, and --bytes of its data, and it is judged whether any "
                "contents would do"
            )
            return
        chunks = blocks_of(self.collective) * self.collective.messages
        size = self.told.size
        if size is not None and size < chunks:
            raise FormatError(f"{size:,} bytes cannot be cut into {chunks:,} chunks: give more, or fewer messages")
        begins = chunk_bounds(self.collective, size or chunks)
        if self.collective.results:
            begins = np.concatenate([begins, begins[-1] + begins[1:]])
        found = list(find_lacks(self.program, self.pairs, self.collective, begins, size is not None))
        self.note("delivered", [words for words, broken in found if broken])
        self.notes += [words for words, broken in found if not broken]
        self.notes.append(
            "nobody says what the messages carry: it was judged whether any contents would do"
            + ("" if size else ", of messages as long as need be: --bytes says how long the data is")
        )
        if self.told.network is not None:
            self.found_bounds = tuple(_bounds(self.collective, self.network))


def _network_of(program: Program, told: Told) -> Network:
    """Return the network that is named, or a complete one. Raises TreecastError when it has not a node for each rank."""
    found = network(f"complete:{max(program.ranks, 2)}" if told.network is None else told.network)
    if found.nodes != program.ranks and (told.network is not None or program.ranks > 1):
        raise TreecastError(
            f"{found.spec} has {found.nodes:,} nodes, and the file {program.ranks:,} ranks: name a network of as many"
        )
    return found


def _collective_of(where: Network, told: Told) -> Collective | None:
    from treecast.plans import collective_of

    if told.collective is None:
        if told.root is not None or told.size is not None or told.messages is not None:
            raise FormatError("--root, --messages and --bytes are of a collective: name it by --collective")
        return None
    return collective_of(told.collective, where, root=told.root, messages=told.messages or 1)


def _bounds(collective: Collective, where: Network) -> list[Bound]:
    try:
        return [bound for bound in bounds(collective, where, 1, model("all-port")) if bound.of == "steps"]
    except TreecastError:
        return []


def judge_program(program: Program, told: Told) -> tuple[Verdict, Callable[[], Schedule]]:
    """Return the verdict on a file, and what makes its schedule.

    Raises
    ------
    FormatError, TreecastError
        When what is told does not fit the file, or it is too large to judge.
    """
    began = time.perf_counter()
    judged = Judging(program, told)
    verdict = _verdict(judged, time.perf_counter() - began)
    return verdict, lambda: _schedule(judged)


def schedule_of_program(program: Program) -> Schedule:
    """Return the schedule of a right file whose comments say what messages carry. Raises FormatError otherwise."""
    return _schedule(Judging(program, Told()))


def _schedule(judged: Judging) -> Schedule:
    if not judged.holds:
        raise FormatError(f"this file of {judged.program.format} is wrong: {judged.findings[0]}")
    if judged.schedule is None:
        raise FormatError(
            f"this file of {judged.program.format} does not say what its messages carry, so it is no schedule: 'treecast verify' "
            "judges the rest"
        )
    return judged.schedule


def _verdict(judged: Judging, seconds: float) -> Verdict:
    """Return the verdict on a file that has been judged."""
    program, send = judged.program, judged.pairs.send
    arcs, load = np.unique(program.rank[send] * program.ranks + program.peer[send], return_counts=True)
    src, dst = divmod(int(arcs[load.argmax()]), program.ranks) if len(arcs) else (-1, -1)
    return Verdict(
        format=program.format,
        collective=_spell(judged),
        network=judged.network.spec,
        ranks=program.ranks,
        operations=len(program),
        messages=len(send),
        counts=judged.counts,
        findings=tuple(judged.findings),
        notes=tuple(judged.notes),
        steps=judged.steps,
        busiest=int(load.max(initial=0)),
        busiest_arc=(src, dst),
        bounds=judged.found_bounds,
        seconds=seconds,
    )


def _spell(judged: Judging) -> str:
    if judged.collective is None:
        return ""
    kind, label = judged.collective, judged.network.label
    root = "" if kind.all_source else f", root {label(kind.root)}"
    return f"{kind.kind} of {kind.messages:,} messages{root}"
