"""The collectives that move blocks, as rows of the table."""

from collections.abc import Callable, Sequence
from typing import Any

from treecast.algorithms import personal, spread, sums
from treecast.calls.table import Given, Job, Rank, check_own, check_root, row

_MIB = 1 << 20


@row("Barrier", sums.barrier)
def barrier(ours: Rank) -> Job:
    """Wait for all."""

    return Job(lambda: Given((), 0), ())


@row("Bcast", spread.broadcast, (0,), own_from=4 * _MIB)
def bcast(ours: Rank, buf: Any, root: int = 0) -> Job:
    """Bring the root's data to all."""
    root = check_root(ours, root)

    def read() -> Given:
        if ours.rank == root:
            data = ours.reader.send(buf)
            return Given((data, root), len(data))
        place = ours.reader.receive(buf)
        return Given((place.pieces[0], root), len(place.pieces[0]), (place.finish,))

    return Job(read, (None, root))


def _allgather(ours: Rank, sendbuf: Any, recvbuf: Any, receive: Callable[[Any], Any]) -> Job:
    def read() -> Given:
        place = receive(recvbuf)
        mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
        if mine is not None:
            check_own(ours, mine, place.pieces[ours.rank])
        return Given((mine, place.pieces), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, (None, None))


@row("Allgather", spread.allgather, (1,), own_from=4 * _MIB)
def allgather(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring every rank's block to all."""
    return _allgather(ours, sendbuf, recvbuf, ours.reader.receive_blocks)


@row("Allgatherv", spread.allgather, (1,), own_from=4 * _MIB)
def allgatherv(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring every rank's block, of any length, to all."""
    return _allgather(ours, sendbuf, recvbuf, ours.reader.receive_vector)


def _alltoall(
    ours: Rank,
    buffers: tuple[Any, Any],
    send: Callable[[Any], Any],
    receive: Callable[[Any], Any],
    *,
    equal: bool = False,
) -> Job:
    sendbuf, recvbuf = buffers

    def read() -> Given:
        place = receive(recvbuf)
        out = _copies(ours, place.pieces) if ours.in_place(sendbuf) else send(sendbuf)
        check_own(ours, out[ours.rank], place.pieces[ours.rank])
        return Given((out, place.pieces, equal), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, (None, None))


def _copies(ours: Rank, pieces: Sequence[Any]) -> list[Any]:
    copies = [ours.mpi.buffer.allocate(len(piece)) for piece in pieces]
    for copy, piece in zip(copies, pieces, strict=True):
        if len(piece):
            copy[:] = piece
    return copies


@row("Alltoall", personal.alltoall, (1,), own_from=16 * _MIB)
def alltoall(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_blocks, ours.reader.receive_blocks, equal=True)


@row("Alltoallv", personal.alltoall)
def alltoallv(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block, of any length, from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_vector, ours.reader.receive_vector)


@row("Alltoallw", personal.alltoall)
def alltoallw(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block, of any datatype, from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_typed, ours.reader.receive_typed)


def _scatter(
    ours: Rank, buffers: tuple[Any, Any], root: int, send: Callable[[Any], Any], *, equal: bool = False
) -> Job:
    (sendbuf, recvbuf), root = buffers, check_root(ours, root)

    def read() -> Given:
        if ours.rank != root:
            place = ours.reader.receive(recvbuf)
            return Given((None, place.pieces[0], root, equal), len(place.pieces[0]) * ours.size, (place.finish,))
        out = send(sendbuf)
        if ours.in_place(recvbuf):
            return Given((out, None, root, equal), sum(map(len, out)))
        place = ours.reader.receive(recvbuf)
        check_own(ours, out[root], place.pieces[0])
        return Given((out, place.pieces[0], root, equal), sum(map(len, out)), (place.finish,))

    return Job(read, (None, None, root))


@row("Scatter", personal.scatter, (1, 0), share=True, own_from=16 * _MIB)
def scatter(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Deal out the root's blocks."""
    return _scatter(ours, (sendbuf, recvbuf), root, ours.reader.send_blocks, equal=True)


@row("Scatterv", personal.scatter)
def scatterv(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Deal out the root's blocks, of any length."""
    return _scatter(ours, (sendbuf, recvbuf), root, ours.reader.send_vector)


def _gather(
    ours: Rank, buffers: tuple[Any, Any], root: int, receive: Callable[[Any], Any], *, equal: bool = False
) -> Job:
    (sendbuf, recvbuf), root = buffers, check_root(ours, root)

    def read() -> Given:
        if ours.rank != root:
            mine = ours.reader.send(sendbuf)
            return Given((mine, None, root, equal), len(mine) * ours.size)
        place = receive(recvbuf)
        mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
        if mine is not None:
            check_own(ours, mine, place.pieces[root])
        return Given((mine, place.pieces, root, equal), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, (None, None, root), target=root)


@row("Gather", personal.gather, (0, 1), share=True, own_from=16 * _MIB)
def gather(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Collect every rank's block at the root."""
    return _gather(ours, (sendbuf, recvbuf), root, ours.reader.receive_blocks, equal=True)


@row("Gatherv", personal.gather)
def gatherv(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Collect every rank's block, of any length, at the root."""
    return _gather(ours, (sendbuf, recvbuf), root, ours.reader.receive_vector)
