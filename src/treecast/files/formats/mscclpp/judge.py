"""Plans of MSCCL++, whoever wrote them: judged for one, two and three turns of their pipelines, and read as schedules."""

import math
from collections.abc import Callable
from fractions import Fraction

from treecast.errors import FormatError
from treecast.files.formats.mscclpp.contents import Dataflow, judge_contents
from treecast.files.formats.mscclpp.plan import Plan, note, unroll
from treecast.files.formats.mscclpp.program import Laid
from treecast.files.formats.mscclpp.reading import read_plan
from treecast.files.formats.registry import Told, judged
from treecast.files.programs.dataflow import kind_of
from treecast.files.programs.judge import Judged, find_network
from treecast.files.programs.races import Uses
from treecast.files.programs.verdict import FileVerdict, Findings
from treecast.schedule import Schedule
from treecast.verification.file_rules import rule

_KEYS = (b'"gpus"', b'"collective"', b'"inplace"', b'"protocol"', b'"buffer_alignment"')
_NOUNS = ("gpu", "threadblock", "operation", "piece")
_FRAGMENTS = ("test",)  # collectives of plans that show single operations, and begin and end as they like
_GROUPS = ("gstore", "glres", "gstorepkt")


def _recognises(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and any(key in head for key in _KEYS)


@judged("mscclpp", recognises=_recognises)
def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a plan, and a function that makes its schedule: messages go when their data and arcs are there."""
    # other words that are told are of other files
    if told != Told(network=told.network, size=told.size, allow=told.allow):
        raise FormatError("an MSCCL++ plan says its job: only --network, --bytes and --allow are told besides")
    file = Judged(Findings("mscclpp", most=20, allowed=told.allow), "this plan of MSCCL++", _NOUNS)
    written = read_plan(data, file.found)
    if written is not None:
        _judge(file, written, told)
    return file.verdict(), file.schedule


def _judge(file: Judged, written: Plan, told: Told) -> None:
    """Judge a plan by every rule, for each number of turns, as far as it goes; its messages are those of the first."""
    # 1. What the plan says of itself.
    found, file.where = file.found, find_network(told.network, len(written.gpus))
    kind, flow = kind_of(written.collective, written.name), None
    file.known |= {"name": written.name, "collective": kind or written.collective[:40], "ranks": len(written.gpus)}
    file.known |= {"lanes": sum(len(gpu.blocks) for gpu in written.gpus), "operations": len(written.ops)}
    # 2. Rule by rule, each only where those before are kept, as it builds on them.
    for turns in _turns(written, told):
        plan = unroll(written, turns, found)
        if found.stop("bounds"):
            break
        laid = Laid(plan, found)
        found.judged("pairs")
        if found.stop("deadlock"):
            break
        _warn(written, found)  # a deadlock hides what the executor would do
        found.judged("executor")
        latest = Dataflow(laid)
        _judge_uses(laid)
        judge_contents(file, latest, kind)
        flow = flow or latest  # figures are those of one turn
        if found.broken:  # more turns would only repeat it
            break
    # 3. Delivery, links and figures of the first number of turns.
    if not kind and flow is not None:
        found.notes.append(f"collective {written.collective[:40]!r} has no known result, so delivery is not judged")
    if flow is None:
        return
    (src, dst, _, units, sends), (_, begins) = flow.table, flow.early
    if told.network is not None:
        # a switch is no link of a network
        if any(op.name in _GROUPS for outer in written.ops for op in (outer, *outer.inner)):
            raise FormatError("a plan that uses a switch is judged on a complete network: leave --network out")
        file.judge_links(sends, (src, dst), (begins, units), flow.laid.where, named=True)
    file.note_figures((src, dst), units, int((begins + units).max(initial=0)), flow.sent())


def _judge_uses(laid: Laid) -> None:
    """Judge the order of uses of buffers."""
    plan, fragment = laid.plan, laid.plan.written.collective in _FRAGMENTS
    launches = {store: laid.launches[store // 3] for store in range(0 if fragment else len(plan.sizes))}
    Uses(
        found=laid.found,
        order=laid.order,
        of=laid.uses(),
        launches=launches,
        name=lambda one: laid.step(one).op.name,
        spell=plan.name,
    ).judge()


def _turns(written: Plan, told: Told) -> tuple[int, ...]:
    """Return for which numbers of turns a plan is judged: those of its bytes, if they are told."""
    if not any(op.inner for op in written.ops):
        return (1,)  # without a pipeline there is one turn
    if told.size is None:
        return (1, 2, 3)
    chunks = max(max(gpu.chunks[:2]) for gpu in written.gpus)
    longest = max(Fraction(op.chunks, op.unit) for op in written.ops if op.inner)
    # told bytes: as many turns as its longest pipeline takes for a chunk of them
    return (max(1, math.ceil(longest * told.size / max(chunks, 1))),)


@rule("executor", "the executor of August 2026 does as the words say", of=("mscclpp",), warns=True)
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
