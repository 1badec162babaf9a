"""The collectives that add, as rows of the table."""

from typing import Any

from treecast.algorithms import spread, sums
from treecast.algorithms.sums import Sums
from treecast.calls.call import Call
from treecast.calls.reader import Entries
from treecast.calls.table import Asked, Failed, Given, Rank, check_alike, check_root, name_of, row
from treecast.groups.words import Words

_OWN_FROM = 8 << 20
_WHOLE = frozenset("?bBhHiIlLqQ")
_COUNT = 8  # bytes by which ranks tell one another how much they receive


def _read_sum(ours: Rank, sendbuf: Any, recvbuf: Any, op: Any) -> Given:
    received = ours.reader.entries(recvbuf, writable=True)
    sent = None
    if not ours.in_place(sendbuf):
        sent = ours.reader.entries(sendbuf, writable=False)
        check_alike(sent, received)
    how, length = _how(ours, received, op), len(received.piece)
    return Given((sent and sent.piece, received.piece, how), length, received.finish, _words(ours, length, how))


def _words(ours: Rank, length: int, how: Sums, root: int | None = None) -> Words:
    return Words("", length, ours.reader.spell(how.datatype), name_of(ours.mpi, how.op), root)


def _how(ours: Rank, entries: Entries, op: Any) -> Sums:
    op = ours.mpi.SUM if op is None else op
    ours.reader.check_sum(entries.datatype, op)
    return Sums(entries.datatype, op, entries.number, is_exact(entries.datatype, op))


def is_exact(datatype: Any, op: Any) -> bool:
    """Return whether a sum of MPI's has the same bits in any order: that of whole numbers."""
    return bool(op.is_predefined and datatype.is_predefined and datatype.typechar in _WHOLE)


@row("Exscan", sums.exscan)
@row("Scan", sums.scan)
@row("Allreduce", sums.allreduce, (1,), own_from=_OWN_FROM)
def sum_for_all(ours: Rank, sendbuf: Any, recvbuf: Any, op: Any = None) -> Asked:
    """Bring to every rank the sum of all contributions; a scan that of those up to its own, an exscan that of those before."""
    return Asked(lambda: _read_sum(ours, sendbuf, recvbuf, op))


@row("Reduce", sums.reduce, (0, 1), own_from=_OWN_FROM)
def reduce(ours: Rank, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> Asked:
    """Bring the sum of all contributions to the root."""
    root = check_root(ours, root)

    def read() -> Given:
        if ours.rank == root:
            given = _read_sum(ours, sendbuf, recvbuf, op)
            mine, out, how = given.parts
            return given._replace(parts=(mine, out, root, how), words=given.words._replace(root=root))
        sent = ours.reader.entries(sendbuf, writable=False)
        how, length = _how(ours, sent, op), len(sent.piece)
        return Given((sent.piece, None, root, how), length, None, _words(ours, length, how, root))

    return Asked(read, target=root)


@row("Reduce_scatter_block", sums.reduce_scatter, (0, 1), own_from=_OWN_FROM, blocks="blocks")
def reduce_scatter_block(ours: Rank, sendbuf: Any, recvbuf: Any, op: Any = None) -> Asked:
    """Bring to rank r the sum of the r-th blocks."""

    def read() -> Given:
        if ours.in_place(sendbuf):
            received = sent = ours.reader.entries(recvbuf, ours.size, writable=True)
        else:
            received = ours.reader.entries(recvbuf, writable=True)
            sent = ours.reader.entries(sendbuf, ours.size, writable=False)
            check_alike(sent._replace(number=sent.number // ours.size), received)
        block = sent.number // ours.size
        out = received.piece[: len(sent.piece) // ours.size]
        how, length = _how(ours, sent, op), len(sent.piece)
        return Given((sent.piece, out, [block] * ours.size, how), length, received.finish, _words(ours, length, how))

    return Asked(read)


@row("Reduce_scatter", sums.reduce_scatter, (0, 1), own_from=_OWN_FROM, blocks="vector")
def reduce_scatter(ours: Rank, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None) -> Asked:
    """Bring to rank r the sum of the r-th blocks, of any length."""
    in_place = ours.in_place(sendbuf)

    def read() -> Given:
        received = ours.reader.entries(recvbuf, writable=True)
        sent = received if in_place else ours.reader.entries(sendbuf, writable=False)
        if sent.datatype != received.datatype:
            raise ValueError("mismatch in send and receive MPI datatypes")
        counts = None
        if recvcounts is not None or in_place:
            counts = _counts(ours, recvcounts)
            _check_counts(ours, sent, received, counts, in_place)
        how, length = _how(ours, sent, op), len(sent.piece)
        return Given((sent, received, counts, how), length, received.finish, _words(ours, length, how))

    def carry(call: Call, parts: tuple[Any, ...]) -> Failed:
        sent, received, counts, how = parts
        if recvcounts is None and not in_place:
            told = [ours.mpi.buffer.allocate(_COUNT, clear=True) for _ in range(ours.size)]
            call(spread.allgather, received.number.to_bytes(_COUNT, "little"), told)
            counts = [int.from_bytes(bytes(count), "little") for count in told]
            try:
                _check_counts(ours, sent, received, counts, in_place)
            except ValueError as error:
                call.refuse(error)
        width = len(sent.piece) // sent.number if sent.number else 0
        return call(sums.reduce_scatter, sent.piece, received.piece[: counts[ours.rank] * width], counts, how)

    return Asked(read, carry)


def _counts(ours: Rank, recvcounts: Any) -> list[int]:
    counts = [recvcounts] * ours.size if hasattr(recvcounts, "__index__") else list(recvcounts)
    if len(counts) != ours.size:
        raise ValueError(f"expecting {ours.size} items, got {len(counts)}")
    return counts


def _check_counts(ours: Rank, sent: Entries, received: Entries, counts: list[int], in_place: bool) -> None:
    total = sum(counts)
    if sent.number != total:
        side = "receive" if in_place else "send"
        raise ValueError(f"mismatch in {side} count {sent.number} and sum(counts) {total}")
    if not in_place and received.number != counts[ours.rank]:
        raise ValueError(f"mismatch in receive count {received.number} and counts[{ours.rank}] {counts[ours.rank]}")
