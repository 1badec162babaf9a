"""What the buffers of a plan hold, unit by unit: rules ``undefined`` and ``delivered``.

A contribution is a random mark, and a sum of them is their sum; a maximum or minimum is the set of its contributions, as bits.
"""

import secrets
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecast.errors import FormatError
from treecast.formats.msccl.verdict import Broken
from treecast.formats.mscclpp.program import note
from treecast.formats.mscclpp.unrolling import Span, Step, Unrolled

_MOST_MOVED, _MOST_BITS = 2**22, 2**30

Values = NDArray[Any]  # of whole numbers of any size; None where nothing was written


def _add(one: Any, other: Any) -> Any:
    return one + other


def _unite(one: Any, other: Any) -> Any:
    return one | other


class Contents:
    """What the buffers hold at present."""

    def __init__(self, plan: Unrolled, found: dict[str, Broken]) -> None:
        self.plan, self.found = plan, found
        steps = [step for block in plan.steps for step in block]
        moved = sum(span.hi - span.lo for step in steps for place in step.reads + step.writes for span in place)
        if moved > _MOST_MOVED:
            raise FormatError(f"{moved:,} pieces are moved: {_MOST_MOVED:,} can be judged")
        ways = {step.op.adds for step in steps if step.op.form is not None and step.op.form.sums}
        self.mixed = len(ways) > 1
        self.plain: list[Values] = [np.full(size, None, object) for size in plan.sizes]
        packets = [size if b % 3 == 2 else 0 for b, size in enumerate(plan.sizes)]
        self.packets: list[Values] = [np.full(size, None, object) for size in packets]
        self.arrived = [np.zeros(size, bool) for size in packets]
        self.join: Callable[[Any, Any], Any] = _add if ways <= {"sum"} else _unite
        self.marks = self._mark(ways <= {"sum"})
        for gpu, marks in enumerate(self.marks):
            store, lo = plan.place(gpu, 0)
            self.plain[store][lo : lo + len(marks)] = marks

    def _mark(self, adding: bool) -> list[Values]:
        sizes = [gpu.chunks[0] * self.plan.units for gpu in self.plan.program.gpus]
        if not adding and sum(sizes) * sum(self.plan.sizes) > _MOST_BITS:
            raise FormatError("this plan is too large to judge with reduce_op max or min")
        marks, bit = list[Values](), 0
        for size in sizes:
            numbers = [secrets.randbits(128) | 1 << 127 if adding else 1 << bit + k for k in range(size)]
            bit += size
            own = np.empty(size, object)
            own[:] = numbers
            marks.append(own)
        return marks

    def ready(self, step: Step) -> bool:
        """Return whether all packets that an operation awaits have come."""
        return all(
            self.arrived[span.store][span.lo : span.hi].all() for place in step.reads for span in place if span.packed
        )

    def carry_out(self, step: Step) -> None:
        """Do what an operation does to the buffers."""
        form = step.op.form
        if form is None:
            return
        values = [self._read(step, span) for place in step.reads for span in place]
        if form.sums:
            values = [reduce(self.join, values)]
        for k, place in enumerate(step.writes):
            for span in place:
                self._write(step, span, values[k if form.each else 0])

    def _read(self, step: Step, span: Span) -> Values:
        held = (self.packets if span.packed else self.plain)[span.store][span.lo : span.hi].copy()
        empty = np.array([value is None for value in held], bool)
        if empty.any():
            place = self.name(span.store, span.lo + int(empty.argmax()))
            note(self.found, "undefined", step.op.where, f"it reads {place}, which nothing has written")
            held[empty] = [secrets.randbits(128) for _ in range(int(empty.sum()))]
        return held

    def _write(self, step: Step, span: Span, values: Values) -> None:
        plain, packets = self.plain[span.store], self.packets[span.store]
        if not span.packed:
            plain[span.lo : span.hi] = values
            packets[span.lo // 2 : (span.hi + 1) // 2] = None  # their flags are gone
            return
        arrived = self.arrived[span.store]
        if arrived[span.lo : span.hi].any():
            place = self.name(span.store, span.lo + int(arrived[span.lo : span.hi].argmax()))
            note(self.found, "race", step.op.where, f"packets are written to {place} twice")
        packets[span.lo : span.hi], arrived[span.lo : span.hi] = values, True
        plain[2 * span.lo : 2 * span.hi] = None

    def name(self, store: int, unit: int) -> str:
        """Return how a place is called."""
        return f"{'ios'[store % 3]}[{unit // self.plan.units}] of gpu {store // 3}"


def check_delivered(contents: Contents) -> bool:
    """Note the breaches of ``delivered``; return whether the collective is one whose delivery is asked."""
    plan = contents.plan
    wanted = _WANTED.get(plan.program.collective)
    if wanted is None:
        return False
    if contents.mixed:
        note(contents.found, "delivered", (), "some operations add otherwise than others: one reduce_op is one result")
        return True
    broken = [_differences(contents, wants) for wants in wanted(contents)]
    for gpu, text in min(broken, key=len) if broken else ():
        note(contents.found, "delivered", (gpu,), text)
    return True


def _differences(contents: Contents, wants: "Wants") -> list[tuple[int, str]]:
    """Return the GPUs whose output is not as it should be, and where."""
    plan, broken = contents.plan, list[tuple[int, str]]()
    for gpu, right in enumerate(wants):
        if right is None:
            continue
        store, lo = plan.place(gpu, 1)
        held = contents.plain[store][lo : lo + len(right)]
        differs = np.not_equal(held, right[: len(held)])
        if len(held) < len(right) or differs.any():
            unit = int(differs.argmax()) if differs.any() else len(held)
            broken.append((gpu, f"chunk {unit // plan.units} of its output is missing or wrong at the end"))
    return broken


Wants = list[Values | None]


def _total(contents: Contents) -> Values:
    least = min(len(marks) for marks in contents.marks)
    return reduce(contents.join, [marks[:least] for marks in contents.marks])


def _share(contents: Contents, values: Values, gpu: int) -> Values:
    size = len(values) // len(contents.marks)
    return values[gpu * size : (gpu + 1) * size]


def _gathered(contents: Contents) -> list[Wants]:
    return [[np.concatenate(contents.marks)] * len(contents.marks)]


def _summed(contents: Contents) -> list[Wants]:
    return [[_total(contents)] * len(contents.marks)]


def _scattered(contents: Contents) -> list[Wants]:
    total = _total(contents)
    return [[_share(contents, total, gpu) for gpu in range(len(contents.marks))]]


def _exchanged(contents: Contents) -> list[Wants]:
    gpus = range(len(contents.marks))
    return [[np.concatenate([_share(contents, marks, gpu) for marks in contents.marks]) for gpu in gpus]]


def _spread(contents: Contents) -> list[Wants]:
    return [[marks] * len(contents.marks) for marks in contents.marks if len(marks)]


def _brought_together(contents: Contents) -> list[Wants]:
    total, gpus = _total(contents), range(len(contents.marks))
    return [[total if gpu == root else None for gpu in gpus] for root in gpus]


_WANTED: dict[str, Callable[[Contents], list[Wants]]] = {
    "allgather": _gathered,
    "allreduce": _summed,
    "reducescatter": _scattered,
    "alltoall": _exchanged,
    "broadcast": _spread,
    "reduce": _brought_together,
}
"""What the output of each GPU holds at the end, for each root that there may be."""
