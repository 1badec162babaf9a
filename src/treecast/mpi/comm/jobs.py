"""Each collective of mpi4py as a job: what a rank reads from its arguments, and by which way the bytes go."""

from collections.abc import Callable, Sequence
from inspect import signature
from operator import index
from typing import Any, NamedTuple

from treecast.errors import PlanError
from treecast.mpi.arguments.reader import Entries
from treecast.mpi.ways.call import Call

Failed = tuple[int, ...]


class Rank(NamedTuple):
    """Whose arguments are read, by what (``arguments.reader.Reader``, or another that has its methods)."""

    mpi: Any
    reader: Any
    rank: int
    size: int

    def in_place(self, argument: Any) -> bool:
        """Return whether an argument says that the data is in the other one."""
        return argument is None or argument is self.mpi.IN_PLACE


class Given(NamedTuple):
    """What was read: what the way takes, its bytes as thresholds count them, and what is to be done when it has come."""

    parts: tuple[Any, ...]
    total: int
    finishes: tuple[Callable[[], None] | None, ...] = ()

    def finish(self) -> None:
        """Bring what has come to where the arguments say."""
        for finish in self.finishes:
            if finish is not None:
                finish()


class Job(NamedTuple):
    """A collective of one rank.

    ``read``: its arguments; it may raise. ``way``: the name of the way, which takes the parts that were read, or ``blank`` when
    they were refused. ``carry``: does so where one way is not all of it.
    """

    read: Callable[[], Given]
    way: str
    blank: tuple[Any, ...]
    carry: Callable[[Any, Call, tuple[Any, ...]], Failed] | None = None

    def carry_out(self, ways: Any, call: Call, given: Given | None) -> Failed:
        """Carry it out by some ways, and return the failed ranks whose data is missing."""
        parts = self.blank if given is None else given.parts
        failed = getattr(ways, self.way)(call, *parts) if self.carry is None else self.carry(ways, call, parts)
        return failed or ()


JOBS: dict[str, Callable[..., Job]] = {}
"""By the name of mpi4py's method: the job of its arguments, which follow a ``Rank``."""


def job(name: str) -> Callable[[Callable[..., Job]], Callable[..., Job]]:
    """Register the job of a method of mpi4py."""

    def register(make: Callable[..., Job]) -> Callable[..., Job]:
        JOBS[name] = make
        return make

    return register


def job_of(make: Callable[..., Any], ours: Rank, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return the job of a call; one that refuses its arguments where they make none: the others must not wait for this rank."""
    try:
        return make(ours, *arguments, **named)
    except Exception as error:
        wrong = error

    def read() -> Any:
        raise wrong

    needed = [each for each in signature(make).parameters.values() if each.default is each.empty]
    return make(ours, *[None] * (len(needed) - 1))._replace(read=read)


def check_own(ours: Rank, sent: Any, place: Any) -> None:
    """Raise PlanError when a rank's own block is sent in one length and received in another."""
    if len(sent) != len(place):
        raise PlanError(f"rank {ours.rank}: {len(sent):,} bytes are sent to itself where {len(place):,} are received")


def check_root(ours: Rank, root: Any) -> int:
    """Return the root. Raises what MPI raises for one that is no rank."""
    if not 0 <= index(root) < ours.size:
        raise ours.mpi.Exception(ours.mpi.ERR_ROOT)
    return index(root)


# -- blocks --------------------------------------------------------------------------------------------------------------


@job("Barrier")
def barrier(ours: Rank) -> Job:
    """Wait for all."""

    return Job(lambda: Given((), 0), "barrier", ())


@job("Bcast")
def bcast(ours: Rank, buf: Any, root: int = 0) -> Job:
    """Bring the root's data to all."""
    root = check_root(ours, root)

    def read() -> Given:
        if ours.rank == root:
            data = ours.reader.send(buf)
            return Given((data, root), len(data))
        place = ours.reader.receive(buf)
        return Given((place.pieces[0], root), len(place.pieces[0]), (place.finish,))

    return Job(read, "broadcast", (None, root))


def _allgather(ours: Rank, sendbuf: Any, recvbuf: Any, receive: Callable[[Any], Any]) -> Job:
    def read() -> Given:
        place = receive(recvbuf)
        mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
        if mine is not None:
            check_own(ours, mine, place.pieces[ours.rank])
        return Given((mine, place.pieces), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, "allgather", (None, None))


@job("Allgather")
def allgather(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring every rank's block to all."""
    return _allgather(ours, sendbuf, recvbuf, ours.reader.receive_blocks)


@job("Allgatherv")
def allgatherv(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring every rank's block, of any length, to all."""
    return _allgather(ours, sendbuf, recvbuf, ours.reader.receive_vector)


def _alltoall(ours: Rank, buffers: tuple[Any, Any], send: Callable[[Any], Any], receive: Callable[[Any], Any]) -> Job:
    sendbuf, recvbuf = buffers

    def read() -> Given:
        place = receive(recvbuf)
        out = _copies(ours, place.pieces) if ours.in_place(sendbuf) else send(sendbuf)
        check_own(ours, out[ours.rank], place.pieces[ours.rank])
        return Given((out, place.pieces), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, "alltoall", (None, None))


def _copies(ours: Rank, pieces: Sequence[Any]) -> list[Any]:
    copies = [ours.mpi.buffer.allocate(len(piece)) for piece in pieces]
    for copy, piece in zip(copies, pieces, strict=True):
        if len(piece):
            copy[:] = piece
    return copies


@job("Alltoall")
def alltoall(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_blocks, ours.reader.receive_blocks)


@job("Alltoallv")
def alltoallv(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block, of any length, from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_vector, ours.reader.receive_vector)


@job("Alltoallw")
def alltoallw(ours: Rank, sendbuf: Any, recvbuf: Any) -> Job:
    """Bring a block, of any datatype, from every rank to every rank."""
    return _alltoall(ours, (sendbuf, recvbuf), ours.reader.send_typed, ours.reader.receive_typed)


def _scatter(ours: Rank, buffers: tuple[Any, Any], root: int, send: Callable[[Any], Any]) -> Job:
    (sendbuf, recvbuf), root = buffers, check_root(ours, root)

    def read() -> Given:
        if ours.rank != root:
            place = ours.reader.receive(recvbuf)
            return Given((None, place.pieces[0], root), len(place.pieces[0]) * ours.size, (place.finish,))
        out = send(sendbuf)
        if ours.in_place(recvbuf):
            return Given((out, None, root), sum(map(len, out)))
        place = ours.reader.receive(recvbuf)
        check_own(ours, out[root], place.pieces[0])
        return Given((out, place.pieces[0], root), sum(map(len, out)), (place.finish,))

    return Job(read, "scatter", (None, None, root))


@job("Scatter")
def scatter(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Deal out the root's blocks."""
    return _scatter(ours, (sendbuf, recvbuf), root, ours.reader.send_blocks)


@job("Scatterv")
def scatterv(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Deal out the root's blocks, of any length."""
    return _scatter(ours, (sendbuf, recvbuf), root, ours.reader.send_vector)


def _gather(ours: Rank, buffers: tuple[Any, Any], root: int, receive: Callable[[Any], Any]) -> Job:
    (sendbuf, recvbuf), root = buffers, check_root(ours, root)

    def read() -> Given:
        if ours.rank != root:
            mine = ours.reader.send(sendbuf)
            return Given((mine, None, root), len(mine) * ours.size)
        place = receive(recvbuf)
        mine = None if ours.in_place(sendbuf) else ours.reader.send(sendbuf)
        if mine is not None:
            check_own(ours, mine, place.pieces[root])
        return Given((mine, place.pieces, root), sum(map(len, place.pieces)), (place.finish,))

    return Job(read, "gather", (None, None, root))


@job("Gather")
def gather(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Collect every rank's block at the root."""
    return _gather(ours, (sendbuf, recvbuf), root, ours.reader.receive_blocks)


@job("Gatherv")
def gatherv(ours: Rank, sendbuf: Any, recvbuf: Any, root: int = 0) -> Job:
    """Collect every rank's block, of any length, at the root."""
    return _gather(ours, (sendbuf, recvbuf), root, ours.reader.receive_vector)


def check_alike(sent: Entries, received: Entries) -> None:
    """Raise ValueError, as mpi4py does, when what is added and its sum differ in datatype or number."""
    if sent.datatype != received.datatype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if sent.number != received.number:
        raise ValueError(f"mismatch in send count {sent.number} and receive count {received.number}")
