"""A plan of MSCCL++ written out: pipelines as turns, shared operations as parts, places in units. Rule ``bounds``.

A chunk is as many units as make every part and every piece of a pipeline whole. The fastest pipeline takes the turns that are
asked for, the others as many as a message of that size gives them.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from treecast.errors import FormatError
from treecast.formats.mscclpp.plan import BUFFERS, Op, Piece, Plan, note
from treecast.programs.verdict import Findings

_MOST_UNITS, _MOST_STEPS = 2**22, 2**20


class Span(NamedTuple):
    """Units ``lo`` to ``hi`` of a buffer: store 3 g + b is buffer b of GPU g. Packets are counted in packets."""

    store: int
    lo: int
    hi: int
    packed: bool


class Step(NamedTuple):
    """An operation in one turn: the spans of each place that it reads and of each that it writes."""

    op: Op
    reads: tuple[tuple[Span, ...], ...] = ()
    writes: tuple[tuple[Span, ...], ...] = ()


class Unrolled(NamedTuple):
    """A plan written out. ``sizes``: units of each store; ``steps``: of each threadblock; ``owners``: their GPUs."""

    written: Plan
    units: int
    sizes: list[int]
    steps: list[list[Step]]
    owners: list[int]

    def place(self, gpu: int, buffer: int, lo: int = 0) -> tuple[int, int]:
        """Return the store and the unit there of a unit of a buffer: in place, input and output are one."""
        written, chunks = self.written, self.written.gpus[gpu].chunks
        shared = _SHARED.get(written.collective) if written.inplace else None
        if shared is not None and buffer == 1 - shared[0]:
            return 3 * gpu + shared[0], lo + shared[1] * gpu * chunks[buffer] * self.units
        return 3 * gpu + buffer, lo

    def name(self, store: int, unit: int) -> str:
        """Return how a place is called."""
        return f"{'ios'[store % 3]}[{unit // self.units}] of gpu {store // 3}"


_SHARED = {"allreduce": (0, 0), "alltoall": (0, 0), "allgather": (1, 1), "reducescatter": (0, 1)}
"""In place: which of input and output holds both, and whether the other is the GPU's part of it."""


def unroll(written: Plan, turns: int, found: Findings) -> Unrolled:
    """Return a plan written out. Raises FormatError when it is too large."""
    pipelines = [op for op in written.ops if op.name == "pipeline"]
    shortest = max((Fraction(op.chunks, op.unit) for op in pipelines), default=Fraction(1))
    pieces = {op: Fraction(op.unit) * shortest / turns for op in pipelines}  # in chunks
    units = math.lcm(*(op.part[1] for op in written.ops), *(piece.denominator for piece in pieces.values()))
    total = units * sum(sum(gpu.chunks) for gpu in written.gpus)
    if total > _MOST_UNITS:
        raise FormatError(
            f"{total:,} pieces of buffers for {turns} turns are too many to judge: {_MOST_UNITS:,} at most"
        )
    count = sum(len(op.inner) * math.ceil(op.chunks / pieces[op]) if op in pieces else 1 for op in written.ops)
    if count > _MOST_STEPS:
        raise FormatError(f"{count:,} operations are too many to judge: {_MOST_STEPS:,} at most")
    sizes = [chunks * units for gpu in written.gpus for chunks in gpu.chunks]
    owners = [g for g, gpu in enumerate(written.gpus) for _ in gpu.blocks]
    plan = Unrolled(written, units, sizes, [], owners)
    for gpu in written.gpus:
        for block in gpu.blocks:
            plan.steps.append([step for op in block for step in _steps(plan, op, pieces, found)])
    for gpu, _ in enumerate(written.gpus):
        for buffer in (0, 1):
            store, last = plan.place(gpu, buffer, sizes[3 * gpu + buffer])
            sizes[store] = max(sizes[store], last)
    return plan


def _steps(plan: Unrolled, op: Op, pieces: dict[Op, Fraction], found: Findings) -> Iterator[Step]:
    if op.name != "pipeline":
        yield _step(plan, op, None, found)
        return
    long = int(pieces[op] * plan.units)
    for first in range(0, op.chunks * plan.units, max(long, 1)):
        for one in op.inner:
            yield _step(plan, one, (first, min(long, op.chunks * plan.units - first)), found)


def _step(plan: Unrolled, op: Op, turn: tuple[int, int] | None, found: Findings) -> Step:
    sides = [
        tuple(tuple(_spans(plan, op, piece, turn, found)) for piece in pieces) for pieces in (op.sources, op.targets)
    ]
    return Step(op, *sides)


def _spans(plan: Unrolled, op: Op, piece: Piece, turn: tuple[int, int] | None, found: Findings) -> Iterator[Span]:
    """Yield the spans of a place, one for each owner."""
    units, (part, parts) = plan.units, op.part
    size = piece.size * units
    lo, hi = piece.first * units + size * part // parts, piece.first * units + size * (part + 1) // parts
    wraps = False
    if turn is not None:
        if turn[0] >= hi - lo:
            note(found, "bounds", op.where, "it is shorter than its pipeline, and runs past its end")
        lo, hi = lo + turn[0], min(hi, lo + turn[0] + turn[1])
        wraps = plan.written.reuses
    for gpu, letter in piece.owners:
        buffer = BUFFERS.index(letter)
        room = plan.written.gpus[gpu].chunks[buffer] * units
        if piece.packed and not plan.written.long:
            room //= 2
        begin, end = (lo, hi)
        if wraps and buffer == 2 and room:
            begin, end = lo % room, lo % room + hi - lo
        if end > room:
            chunks = f"chunks {lo / units:g} to {hi / units:g}"
            takes = ", of which packets take two places each" if piece.packed and not plan.written.long else ""
            note(
                found,
                "bounds",
                op.where,
                f"{chunks} lie outside buffer {letter} of gpu {gpu}, which has {plan.written.gpus[gpu].chunks[buffer]:,}{takes}",
            )
        store, first = plan.place(gpu, buffer, begin)
        yield Span(store, first, first + max(end - begin, 0), piece.packed)
