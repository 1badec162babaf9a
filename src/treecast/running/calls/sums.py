"""The collectives that add, as rows of the table."""

from functools import lru_cache
from typing import Any

import numpy as np

from treecast.errors import PlanError
from treecast.running.algorithms import spread, sums
from treecast.running.algorithms.choice import Choice
from treecast.running.algorithms.exact import BFLOAT16, Exact, check_small
from treecast.running.algorithms.sums import Sums
from treecast.running.calls.call import Call
from treecast.running.calls.reader import Entries
from treecast.running.calls.table import BufferCall, Caller, Failed, Given, check_alike, check_root, name_of, row
from treecast.running.groups.words import Words, spell
from treecast.running.transport.base import Piece

# Below, MPI's own sums are quicker (`make bench-mpi`).
_OWN_FROM = 8 << 20
_ADD, _MULTIPLY = frozenset({"SUM", "AVG"}), frozenset({"PROD", "PRODUCT"})
_CHOOSE = frozenset(
    ["MIN", "MAX", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC", "REPLACE", "NO_OP"]
)
COUNT = 8
"""Bytes by which ranks tell one another how much they receive."""


def _read_sum(ours: Caller, sendbuf: Any, recvbuf: Any, op: Any, *root: int) -> Given:
    """Return the arguments of a sum for all, or for the root."""
    # who is not the root has no place for the sum
    if root not in ((), (ours.rank,)):
        sent = ours.reader.entries(sendbuf, writable=False)
        return _given(ours, sent, op, sent.piece, None, *root, root=root[0])
    received, sent = ours.reader.entries(recvbuf, writable=True), None
    if not ours.in_place(sendbuf):
        sent = ours.reader.entries(sendbuf, writable=False)
        check_alike(sent, received)
    parts = sent and sent.piece, received.piece, *root
    return _given(ours, received, op, *parts, finish=received.finish, root=root[0] if root else None)


def _given(ours: Caller, entries: Entries, op: Any, *parts: Any, finish: Any = None, root: int | None = None) -> Given:
    """Return the parts of a sum, to which is added how these entries are."""
    op = ours.mpi.SUM if op is None else op
    ours.reader.check_sum(entries.datatype, op)
    how, length = how_of(ours, entries.datatype, op, entries.number), len(entries.piece)
    words = Words("", length, ours.reader.spell(how.datatype), name_of(ours.mpi, how.op), root)
    return Given((*parts, how), length, finish, words, how.bits)


def how_of(ours: Caller, datatype: Any, op: Any, entries: int) -> Sums:
    """Return how entries are added. Raises PlanError for those that have no exact sum, where the terms ask for one."""
    form = getattr(datatype, "dtype", None)
    name, spelled = name_of(ours.mpi, op), ours.reader.spell(datatype)
    any_order, bits, exact = _bits_of(name, spelled, form, ours.sums)
    if exact is not None:
        check_small()
    if name in ("MIN", "MAX") and bits == "by-rank" and _is_float(spelled):
        op = Choice(name, spelled if form is None else str(form))
    return Sums(datatype, op, entries, any_order, bits, exact)


@lru_cache
def _bits_of(name: str, spelled: str, form: Any, sums: str) -> tuple[bool, str, Exact | None]:
    """Return how entries are added, as ``Sums`` has it; ``form``: numpy's type of them, if it has one, in its order."""
    # whole numbers have the same sum in any order
    if (name in _ADD or name in _MULTIPLY or name in _CHOOSE) and _is_whole(spelled):
        return True, "exact", None
    if sums != "exact" or name in _CHOOSE:
        return False, sums if sums == "any" else "by-rank", None
    if name not in _ADD or not Exact.adds(spelled):
        entry = spell(spelled) or "other entries"
        raise PlanError(f"sums='exact' has SUM and AVG of floats to 64 bits, not {name} of {entry}: say sums='by-rank'")
    return False, "exact", Exact(spelled if form is None else str(form))


def _is_whole(spelled: str) -> bool:
    return bool(spelled) and _kind_of(spelled) in "biu"


def _is_float(spelled: str) -> bool:
    return bool(spelled) and (spelled == BFLOAT16 or _kind_of(spelled) == "f")


@lru_cache
def _kind_of(spelled: str) -> str:
    """Return the letter of numpy's for a kind of types, another one for a type that torch alone has."""
    try:
        return np.dtype(spelled).kind
    except TypeError:
        return "V"


@row("Exscan", sums.exscan)
@row("Scan", sums.scan)
@row("Allreduce", sums.allreduce, (1,), own_from=_OWN_FROM)
def sum_for_all(ours: Caller, sendbuf: Any, recvbuf: Any, op: Any = None) -> BufferCall:
    """Bring to every rank the sum of all contributions; a scan that of those up to its own, an exscan that of those before."""
    return BufferCall(lambda: _read_sum(ours, sendbuf, recvbuf, op))


@row("Reduce", sums.reduce, (0, 1), own_from=_OWN_FROM)
def reduce(ours: Caller, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> BufferCall:
    """Bring the sum of all contributions to the root."""
    root = check_root(ours, root)
    return BufferCall(lambda: _read_sum(ours, sendbuf, recvbuf, op, root), target=root)


@row("Reduce_scatter_block", sums.reduce_scatter, (0, 1), own_from=_OWN_FROM, blocks="blocks")
def reduce_scatter_block(ours: Caller, sendbuf: Any, recvbuf: Any, op: Any = None) -> BufferCall:
    """Bring to rank r the sum of the r-th blocks."""

    def read() -> Given:
        if ours.in_place(sendbuf):
            received = sent = ours.reader.entries(recvbuf, ours.size, writable=True)
        else:
            received = ours.reader.entries(recvbuf, writable=True)
            sent = ours.reader.entries(sendbuf, ours.size, writable=False)
            check_alike(sent._replace(number=sent.number // ours.size), received)
        block = sent.number // ours.size
        # in place the sum stands at the beginning of the buffer
        out = received.piece[: len(sent.piece) // ours.size]
        return _given(ours, sent, op, sent.piece, out, [block] * ours.size, finish=received.finish)

    return BufferCall(read)


@row("Reduce_scatter", sums.reduce_scatter, (0, 1), own_from=_OWN_FROM, blocks="vector")
def reduce_scatter(ours: Caller, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None) -> BufferCall:
    """Bring to rank r the sum of the r-th blocks, of any length."""
    in_place = ours.in_place(sendbuf)

    def read() -> Given:
        received = ours.reader.entries(recvbuf, writable=True)
        sent = received if in_place else ours.reader.entries(sendbuf, writable=False)
        if sent.datatype != received.datatype:
            raise ValueError("mismatch in send and receive MPI datatypes")
        if recvcounts is None and not in_place:
            return _given(ours, sent, op, sent, received, None, finish=received.finish)
        counts = _counts(ours, recvcounts)
        return _given(ours, sent, op, *_cut(ours, sent, received, counts, in_place), counts, finish=received.finish)

    def carry(call: Call, parts: tuple[Any, ...]) -> Failed:
        sent, received, counts, how = parts
        # Each rank knows its own count alone. They are told first, and the cut is checked when all are known.
        if counts is None:
            told = [ours.mpi.buffer.allocate(COUNT, clear=True) for _ in range(ours.size)]
            failed = call(spread.allgather, received.number.to_bytes(COUNT, "little"), told)
            counts = [int.from_bytes(bytes(count), "little") for count in told]
            if len(failed) == 1:  # its block is all that the others leave
                counts[failed[0]] = max(0, sent.number - sum(counts))
            try:
                sent, received = _cut(ours, sent, received, counts, in_place)
            except ValueError as error:
                call.refuse(error)
        return call(sums.reduce_scatter, sent, received, counts, how)

    return BufferCall(read, carry)


def _counts(ours: Caller, recvcounts: Any) -> list[int]:
    counts = [recvcounts] * ours.size if hasattr(recvcounts, "__index__") else list(recvcounts)
    if len(counts) != ours.size:
        raise ValueError(f"expecting {ours.size} items, got {len(counts)}")
    return counts


def _cut(ours: Caller, sent: Entries, received: Entries, counts: list[int], in_place: bool) -> tuple[Piece, Piece]:
    """Return the bytes of a contribution, and of the place of this rank's sum. Raises ValueError for other counts."""
    total = sum(counts)
    if sent.number != total:
        side = "receive" if in_place else "send"
        raise ValueError(f"mismatch in {side} count {sent.number} and sum(counts) {total}")
    if not in_place and received.number != counts[ours.rank]:
        raise ValueError(f"mismatch in receive count {received.number} and counts[{ours.rank}] {counts[ours.rank]}")
    width = len(sent.piece) // sent.number if sent.number else 0
    return sent.piece, received.piece[: counts[ours.rank] * width]
