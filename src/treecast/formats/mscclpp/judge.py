"""The judge of plans of MSCCL++: every rule, for one, two and three turns of its pipelines."""

import time
from collections.abc import Callable
from typing import Never

from treecast.errors import FormatError
from treecast.formats.msccl.verdict import Broken, Verdict
from treecast.formats.mscclpp.contents import Contents, check_delivered
from treecast.formats.mscclpp.order import Order
from treecast.formats.mscclpp.program import Program, note
from treecast.formats.mscclpp.reading import read_plan
from treecast.formats.mscclpp.rules import check_uses
from treecast.formats.mscclpp.running import Run
from treecast.formats.mscclpp.unrolling import has_pipelines, unroll
from treecast.formats.registry import Told, importer
from treecast.formats.verdict import FileVerdict
from treecast.schedule import Schedule

RULES = (
    "shape",
    "bounds",
    "pairs",
    "deadlock",
    "race",
    "undefined",
    "begun",
    "ended",
    "relaxed",
    "executor",
    "delivered",
)
"""The rules, in the order in which they are told."""
WARNINGS = ("executor",)
_LAST = ("shape", "bounds", "deadlock")  # what follows a breach of one makes no sense
_KEYS = (b'"gpus"', b'"collective"', b'"inplace"', b'"protocol"', b'"buffer_alignment"')


def _recognises(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and any(key in head for key in _KEYS)


def judge(data: bytes, told: Told) -> tuple[FileVerdict, Callable[[], Schedule]]:
    """Return the verdict on a plan, and a refusal to make a schedule of it."""
    if told != Told():
        raise FormatError("an MSCCL++ plan says what it does: leave out what else is said of it")
    return judge_plan(data), lambda: decode(data)


@importer("mscclpp", recognises=_recognises, judge=judge)
def decode(data: bytes) -> Never:
    """Raise FormatError: plans are judged, and not yet made into schedules."""
    raise FormatError("a plan of MSCCL++ is judged by 'treecast verify', but it is not made into a schedule")


def judge_plan(data: bytes) -> Verdict:
    """Judge a plan of MSCCL++.

    Parameters
    ----------
    data : bytes
        The file.

    Returns
    -------
    Verdict
        Which rules it breaks, where, and its sizes.

    Raises
    ------
    FormatError
        When it is no JSON, or too large to judge.
    """
    began = time.perf_counter()
    program, found = read_plan(data)
    notes = list[str]()
    if program is not None:
        _warn(program, found)
        for turns in (1, 2, 3) if has_pipelines(program) else (1,):
            if not _judge_turns(program, turns, found) and not notes:
                notes.append(f"collective {program.collective[:40]!r} has no known result, so delivery is not judged")
            if set(found) - set(WARNINGS):
                break
    stop = next((k for k, rule in enumerate(RULES) if rule in _LAST and rule in found), len(RULES))
    judged = [rule for rule in RULES[: stop + 1] if rule != "delivered" or not notes]
    gpus = program.gpus if program is not None else ()
    return Verdict(
        name=program.name if program is not None else "",
        collective=program.collective[:40] if program is not None else "?",
        network=f"complete:{len(gpus)}" if gpus else "?",
        gpus=len(gpus),
        blocks=sum(len(gpu.blocks) for gpu in gpus),
        steps=len(program.ops) if program is not None else 0,
        unit="operation",
        counts={rule: found.get(rule, (0,))[0] for rule in judged},
        warnings=WARNINGS,
        breaches=tuple(breach for rule in judged for breach in found.get(rule, (0, ()))[1]),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
    )


def _warn(program: Program, found: dict[str, Broken]) -> None:
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


def _judge_turns(program: Program, turns: int, found: dict[str, Broken]) -> bool:
    """Judge a plan whose pipelines take so many turns; return whether its delivery is asked."""
    plan = unroll(program, turns, found)
    if "bounds" in found:
        return True
    contents = Contents(plan, found)
    run = Run(plan, contents)
    if "deadlock" in found:
        return True
    check_uses(Order(run))
    return check_delivered(contents)
