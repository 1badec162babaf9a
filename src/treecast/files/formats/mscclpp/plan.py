"""A plan of MSCCL++ as it was read: every number that names a channel, a buffer or a GPU is replaced by the thing itself."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from treecast.errors import FormatError
from treecast.files.programs.verdict import Findings
from treecast.verification.file_rules import rule

BUFFERS = "ios"
_MOST_UNITS, _MOST_STEPS = 2**22, 2**20
End = tuple[int, str, int]
"""A channel as one of its GPUs sees it: GPU, type, and its number there."""
Where = tuple[int, ...]
"""GPU, threadblock and operation; within a pipeline the operation in it as well."""

WAITS = ("wait", "rlxwait")
SIGNALS = ("signal", "rlxsignal")
PORT_SIGNALS = ("pws", "pwsf")
PUTS = ("put", *PORT_SIGNALS, "ppkt", "rppkt")


class Operands(NamedTuple):
    """The places that an operation takes: l on this GPU, r on another, s on all of a group; a capital has packets.

    ``sources`` and ``targets`` have a letter for the first place, the second, …; the last stands for all further ones if
    ``more``. ``sums`` says that all sources are added up, and ``each`` that the k-th source goes to the k-th target.
    """

    sources: str
    targets: str
    sums: bool = False
    each: bool = False
    more: tuple[bool, bool] = (False, False)


_PAIRS = (True, True)
FORMS = {
    "copy": Operands("l", "l"),
    "put": Operands("l", "r", each=True, more=_PAIRS),
    "pws": Operands("l", "r", each=True, more=_PAIRS),
    "pwsf": Operands("l", "r", each=True, more=_PAIRS),
    "get": Operands("r", "l", each=True, more=_PAIRS),
    "re": Operands("ll", "l", sums=True, more=(True, False)),
    "res": Operands("ll", "lr", sums=True, more=_PAIRS),
    "rre": Operands("lr", "l", sums=True, more=(True, False)),
    "rres": Operands("lr", "lr", sums=True, more=_PAIRS),
    "ppkt": Operands("l", "R", each=True, more=_PAIRS),
    "cpkt": Operands("l", "L"),
    "upkt": Operands("L", "l"),
    "rppkt": Operands("L", "R", more=(False, True)),
    "repkt": Operands("lL", "l", sums=True, more=(True, False)),
    "respkt": Operands("lL", "lR", sums=True, more=_PAIRS),
    "recpkt": Operands("lL", "lL", sums=True, more=(True, False)),
    "recspkt": Operands("lL", "lLR", sums=True, more=_PAIRS),
    "gstore": Operands("l", "s"),
    "glres": Operands("s", "s", sums=True),
    "gstorepkt": Operands("L", "S"),
}
PORT_PACKETS = Operands("L", "R", each=True, more=_PAIRS)
"""``ppkt`` on a port: its sources are packets already."""


class Piece(NamedTuple):
    """A place that an operation uses. ``owners``: whose buffers, several where a switch joins them."""

    owners: tuple[tuple[int, str], ...]
    first: int
    size: int
    packed: bool


@dataclass(frozen=True)
class GpuOp:
    """An operation: its name, where it stands, and the type of its channels, or nothing.

    ``ends`` are its channels, ``semaphores`` pairs of GPU and number, ``barrier`` and ``blocks`` the barrier and how many
    threadblocks it is for. It works on a ``part``, (which, of how many), of each of its places, ``sources`` and ``targets``, and
    ``adds`` by sum, max or min. A pipeline goes over ``chunks`` in pieces of ``unit`` bytes, by ``inner`` operations.
    """

    name: str
    where: Where
    by: str = ""
    ends: tuple[End, ...] = ()
    semaphores: tuple[tuple[int, int], ...] = ()
    barrier: int = -1
    blocks: int = 0
    sources: tuple[Piece, ...] = ()
    targets: tuple[Piece, ...] = ()
    part: tuple[int, int] = (0, 1)
    adds: str = "sum"
    chunks: int = 0
    unit: int = 0
    inner: tuple["GpuOp", ...] = ()

    @property
    def form(self) -> Operands | None:
        """Which places it takes; None where it moves nothing."""
        # on a port ``ppkt`` copies packets, on memory it makes them
        return PORT_PACKETS if self.name == "ppkt" and self.by == "port" else FORMS.get(self.name)

    @property
    def by_proxy(self) -> bool:
        """Whether single threads hand it to a proxy, which moves it later."""
        return self.name in PUTS and self.by == "port"

    @property
    def signals(self) -> bool:
        """Whether it signals on its channels."""
        return self.name in (*SIGNALS, *PORT_SIGNALS)

    @property
    def flagged(self) -> bool:
        """Whether all threads move packets, each of which is awaited by its flag."""
        form = self.form
        # packets on either side: capitals
        return form is not None and not self.by_proxy and not (form.sources + form.targets).islower()


@dataclass(frozen=True)
class Gpu:
    """A GPU: chunks of its three buffers, the other end of each of its channels, semaphores as they begin, threadblocks."""

    chunks: tuple[int, int, int]
    semaphores: tuple[int, ...]
    blocks: tuple[tuple[GpuOp, ...], ...]


@dataclass(frozen=True)
class Plan:
    """A plan: ``other`` has the other end of each channel that has one."""

    name: str
    collective: str
    inplace: bool
    reuses: bool
    long: bool
    gpus: tuple[Gpu, ...]
    other: dict[End, End]

    @property
    def ops(self) -> tuple[GpuOp, ...]:
        """All operations, without those within pipelines."""
        return tuple(op for gpu in self.gpus for block in gpu.blocks for op in block)


def spell(where: Where) -> str:
    """Return where something is as the file's keys lead to it."""
    keys = ("gpus", "threadblocks", "ops", "ops")
    return ".".join(f"{key}[{number}]" for key, number in zip(keys, where, strict=False))


def note(found: Findings, rule: str, where: Where, text: str) -> None:
    """Note a breach of a rule; one that is noted already, as in an earlier turn of a pipeline, counts once."""
    found.note(rule, text, spell(where), where)


# -- written out: pipelines as turns, shared operations as parts, places in units ---------------------------------------
# A chunk is as many units as make every part and every piece of a pipeline whole. The fastest pipeline takes the turns
# that are asked for, the others as many as a message of that size gives them.


class UnitRange(NamedTuple):
    """Units ``lo`` to ``hi`` of a buffer: store 3 g + b is buffer b of GPU g. Packets are counted in packets."""

    store: int
    lo: int
    hi: int
    packed: bool


class Step(NamedTuple):
    """An operation in one turn: the spans of each place that it reads and of each that it writes."""

    op: GpuOp
    reads: tuple[tuple[UnitRange, ...], ...] = ()
    writes: tuple[tuple[UnitRange, ...], ...] = ()


class Unrolled(NamedTuple):
    """A plan written out. ``sizes``: units of each store; ``steps``: of each threadblock."""

    written: Plan
    units: int
    sizes: list[int]
    steps: list[list[Step]]

    def place(self, gpu: int, buffer: int, lo: int = 0) -> tuple[int, int]:
        """Return the store and the unit there of a unit of a buffer: in place, input and output are one."""
        written, chunks = self.written, self.written.gpus[gpu].chunks
        shared = _SHARED.get(written.collective) if written.inplace else None
        if shared is not None and buffer == 1 - shared[0]:  # the buffer that is not there: it lies in the other one
            return 3 * gpu + shared[0], lo + shared[1] * gpu * chunks[buffer] * self.units
        return 3 * gpu + buffer, lo

    def name(self, store: int, unit: int) -> str:
        """Return how a place is called."""
        return f"{'ios'[store % 3]}[{unit // self.units}] of gpu {store // 3}"


_SHARED = {"allreduce": (0, 0), "alltoall": (0, 0), "allgather": (1, 1), "reducescatter": (0, 1)}
"""In place: which of input and output holds both, and whether the other is the GPU's part of it."""


@rule("bounds", "every place lies in its buffer", of=("mscclpp",))
def unroll(written: Plan, turns: int, found: Findings) -> Unrolled:
    """Return a plan written out. Raises FormatError when it is too large."""
    pipelines = [op for op in written.ops if op.name == "pipeline"]
    # the pipeline that takes most chunks a turn is the fastest
    shortest = max((Fraction(op.chunks, op.unit) for op in pipelines), default=Fraction(1))
    pieces = {op: Fraction(op.unit) * shortest / turns for op in pipelines}  # in chunks
    # the least number of units that leaves no part of one
    units = math.lcm(*(op.part[1] for op in written.ops), *(piece.denominator for piece in pieces.values()))
    total = units * sum(sum(gpu.chunks) for gpu in written.gpus)
    if total > _MOST_UNITS:
        raise FormatError(
            f"{total:,} pieces of buffers for {turns} turns are too many to judge: {_MOST_UNITS:,} at most"
        )
    # counted before a step is unrolled, as a short file can spell very many
    count = sum(len(op.inner) * math.ceil(op.chunks / pieces[op]) if op in pieces else 1 for op in written.ops)
    if count > _MOST_STEPS:
        raise FormatError(f"{count:,} operations are too many to judge: {_MOST_STEPS:,} at most")
    sizes = [chunks * units for gpu in written.gpus for chunks in gpu.chunks]
    plan = Unrolled(written, units, sizes, [])
    for gpu in written.gpus:
        for block in gpu.blocks:
            plan.steps.append([step for op in block for step in _steps(plan, op, pieces, found)])
    for gpu, _ in enumerate(written.gpus):
        # in place one buffer may have to hold both
        for buffer in (0, 1):
            store, last = plan.place(gpu, buffer, sizes[3 * gpu + buffer])
            sizes[store] = max(sizes[store], last)
    return plan


def _steps(plan: Unrolled, op: GpuOp, pieces: dict[GpuOp, Fraction], found: Findings) -> Iterator[Step]:
    if op.name != "pipeline":
        yield _step(plan, op, None, found)
        return
    long = int(pieces[op] * plan.units)  # whole, by the choice of units
    for first in range(0, op.chunks * plan.units, max(long, 1)):
        for one in op.inner:
            yield _step(plan, one, (first, min(long, op.chunks * plan.units - first)), found)


def _step(plan: Unrolled, op: GpuOp, turn: tuple[int, int] | None, found: Findings) -> Step:
    sides = [
        tuple(tuple(_spans(plan, op, piece, turn, found)) for piece in pieces) for pieces in (op.sources, op.targets)
    ]
    return Step(op, *sides)


def _spans(
    plan: Unrolled, op: GpuOp, piece: Piece, turn: tuple[int, int] | None, found: Findings
) -> Iterator[UnitRange]:
    """Yield the spans of a place, one for each owner."""
    units, (part, parts) = plan.units, op.part
    size = piece.size * units
    # part k of n of the place: cut so that no unit is lost
    lo, hi = piece.first * units + size * part // parts, piece.first * units + size * (part + 1) // parts
    wraps = False
    if turn is not None:
        if turn[0] >= hi - lo:  # this turn begins behind its end
            note(found, "bounds", op.where, "it is shorter than its pipeline, and runs past its end")
        lo, hi = lo + turn[0], min(hi, lo + turn[0] + turn[1])
        wraps = plan.written.reuses
    for gpu, letter in piece.owners:
        buffer = BUFFERS.index(letter)
        room = plan.written.gpus[gpu].chunks[buffer] * units
        if piece.packed and not plan.written.long:
            room //= 2  # a packet has data and a flag in two places
        begin, end = (lo, hi)
        if wraps and buffer == 2 and room:  # scratch is used again and again: turns wrap round
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
        yield UnitRange(store, first, first + max(end - begin, 0), piece.packed)
