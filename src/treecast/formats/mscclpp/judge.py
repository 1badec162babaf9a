"""Plans of MSCCL++, whoever wrote them: judged for one, two and three turns of their pipelines, and read as schedules."""

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from treecast.errors import FormatError
from treecast.formats.mscclpp.contents import Flow, judge_contents, loop_of
from treecast.formats.mscclpp.order import Order
from treecast.formats.mscclpp.program import Program, note
from treecast.formats.mscclpp.reading import read_plan
from treecast.formats.mscclpp.rules import check_uses
from treecast.formats.mscclpp.running import Run
from treecast.formats.mscclpp.unrolling import has_pipelines, unroll
from treecast.formats.registry import Told, importer
from treecast.networks import Network
from treecast.programs.arcs import figures_of, find_network, judge_arcs, judge_links
from treecast.programs.to_schedule import bounds_of, collective_of, schedule_of_sent
from treecast.programs.verdict import FileVerdict, Findings, as_told
from treecast.schedule import Schedule

_KEYS = (b'"gpus"', b'"collective"', b'"inplace"', b'"protocol"', b'"buffer_alignment"')
_NOUNS = ("gpu", "threadblock", "operation", "piece")
_GROUPS = ("gstore", "glres", "gstorepkt")


def _recognises(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and any(key in head for key in _KEYS)


def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a plan, and what makes its schedule."""
    if told != Told(network=told.network, size=told.size, allow=told.allow):
        raise FormatError("an MSCCL++ plan says what it does: only --network, --bytes and --allow are told besides")
    judged = _Judged(data, told)
    return judged.verdict, judged.schedule


@importer("mscclpp", recognises=_recognises, judge=judge)
def decode(data: bytes) -> Schedule:
    """Return the schedule of a right plan, on a complete network. Raises FormatError when it is wrong, or none fits."""
    return judge(data, Told())[1]()


class _Judged:
    """A plan that has been judged: every rule, for each number of turns, as far as it goes."""

    def __init__(self, data: bytes, told: Told) -> None:
        began = time.perf_counter()
        self.found = found = Findings("mscclpp", most=20, allowed=told.allow)
        self.program = program = read_plan(data, found)
        self.flow: Flow | None = None
        self.kind, self.root = "", 0
        self.where: Network | None = None
        known: dict[str, Any] = {}
        if program is not None:
            self.where = find_network(told.network, len(program.gpus))
            for turns in _turns(program, told):
                if not self._judge_turns(program, turns) or found.broken:
                    break
            if self.flow is not None:
                known = self._figures(self.flow, self.where, named=told.network is not None)
        gpus = program.gpus if program is not None else ()
        self.verdict = FileVerdict(
            **as_told(found),
            **known,
            nouns=_NOUNS,
            name=program.name if program is not None else "",
            collective=self.kind or (program.collective[:40] if program is not None else "?"),
            network=self.where.spec if self.where is not None else "?",
            ranks=len(gpus),
            lanes=sum(len(gpu.blocks) for gpu in gpus),
            operations=len(program.ops) if program is not None else 0,
            seconds=time.perf_counter() - began,
        )

    def _judge_turns(self, program: Program, turns: int) -> bool:
        """Judge a plan whose pipelines take so many turns; return whether it can be judged to the end."""
        found = self.found
        plan = unroll(program, turns, found)
        if found.stop("bounds"):
            return False
        run = Run(plan, found)
        found.judged("pairs")
        if found.stop("deadlock"):
            return False
        _warn(program, found)
        found.judged("race", "begun", "ended", "relaxed", "executor")
        flow = Flow(run)
        self.flow = self.flow or flow
        check_uses(Order(run))
        self.kind, self.root = judge_contents(flow)
        if not self.kind and not found.notes:
            found.notes.append(f"collective {program.collective[:40]!r} has no known result, so delivery is not judged")
        return True

    def _figures(self, flow: Flow, where: Network, *, named: bool) -> dict[str, Any]:
        """Return the figures of a verdict; judge ``adjacent``, and ``link-once`` where the network is named."""
        found, plan, n = self.found, flow.plan, len(flow.plan.program.gpus)
        src, dst, _, units, at = flow.table
        if named:
            switches = {plan.steps[j][k].op.where for j, k in flow.run.done if plan.steps[j][k].op.name in _GROUPS}
            if switches:
                raise FormatError("a plan that uses a switch is judged on a complete network: leave --network out")
            room = judge_arcs(found, where, at, (src, dst), flow.where)
            judge_links(found, at, (src, dst), flow.where, when=(flow.begins, units, room))
        collective = collective_of(self.kind, n, loop_of(flow, self.kind), self.root) if self.kind else None
        known = {"steps": int((flow.begins + units).max(initial=0)), "bounds": bounds_of(collective, where)}
        return known | figures_of(n, (src, dst), units)

    def schedule(self) -> Schedule:
        """Return the schedule of a right plan, in which each message goes when all is there, and its arc is free."""
        flow, where = self.flow, self.where
        if self.found.broken or flow is None or where is None:
            raise FormatError(f"this plan of MSCCL++ is wrong: {self.found.first()}")
        n = len(flow.plan.program.gpus)
        collective = collective_of(self.kind, n, loop_of(flow, self.kind), self.root) if self.kind else None
        return schedule_of_sent("this plan of MSCCL++", collective, where, flow.contents, flow.sent())


def _turns(program: Program, told: Told) -> tuple[int, ...]:
    """Return for which numbers of turns a plan is judged: those of its bytes, if they are told."""
    if not has_pipelines(program):
        return (1,)
    if told.size is None:
        return (1, 2, 3)
    chunks = max(max(gpu.chunks[:2]) for gpu in program.gpus)
    longest = max(Fraction(op.chunks, op.unit) for op in program.ops if op.inner)
    return (max(1, math.ceil(longest * told.size / max(chunks, 1))),)


def _warn(program: Program, found: Findings) -> None:
    """Note what is right by the words of a plan, but not in the executor as it is."""
    for g, gpu in enumerate(program.gpus):
        for name, chunks in zip(("input_chunks", "output_chunks"), gpu.chunks, strict=False):
            if not chunks:
                note(found, "executor", (g,), f"{name} is 0, and the loader divides by it")
    for op in (one for outer in program.ops for one in (outer, *outer.inner)):
        if op.name == "flush":
            note(found, "executor", op.where, "flush waits for nothing in the executor of August 2026")
        places = zip(op.sources, op.targets, strict=False) if op.name == "get" else ()
        if any(source.first != target.first for source, target in places):
            note(
                found, "executor", op.where, "get from one index to another: the executor of August 2026 swaps the two"
            )
