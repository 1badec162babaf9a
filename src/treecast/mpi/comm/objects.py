"""The lower-case collectives, of any Python objects, as jobs that survive failures: lengths go first, then pickled bytes.

Where a rank has failed, and its object has not come, there is None in its place; a sum is folded over the others, in the order of
ranks.
"""

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any, NamedTuple

from treecast.mpi.comm.jobs import Failed, Rank, check_root
from treecast.mpi.comm.ways import Ways
from treecast.mpi.ways.call import Call, Piece

_HEAD = 8  # bytes that tell how long an object is
_LOST = (1 << 64) - 1  # in place of a length, where none has come


class ObjectJob(NamedTuple):
    """A collective of objects. ``read`` pickles what is sent, and may raise; ``carry`` gets None then, and returns the result."""

    read: Callable[[], Any]
    carry: Callable[[Ways, Call, Any], tuple[Any, Failed]]


OBJECT_JOBS: dict[str, Callable[..., ObjectJob]] = {}
"""By the name of mpi4py's method: the job of its arguments, which follow a ``Rank``."""


def _job(make: Callable[..., ObjectJob]) -> Callable[..., ObjectJob]:
    OBJECT_JOBS[make.__name__] = make
    return make


def _pickled(mpi: Any, thing: Any) -> Piece:
    return mpi.buffer.frombuffer(mpi.pickle.dumps(thing), True)


def _head(mpi: Any, length: int) -> Piece:
    return mpi.buffer.frombuffer(length.to_bytes(_HEAD, "little"), True)


def _length(head: Piece) -> int:
    return int.from_bytes(bytes(head), "little")


def _heads(call: Call) -> list[Piece]:
    heads = [call.mpi.buffer.allocate(_HEAD) for _ in range(call.size)]
    for head in heads:
        head[:] = _LOST.to_bytes(_HEAD, "little")
    return heads


def _places(mpi: Any, heads: Sequence[Piece]) -> list[Piece]:
    """Return memory for objects of the lengths that have come, none for those that have not."""
    lengths = [_length(head) for head in heads]
    return [mpi.buffer.allocate(0 if length == _LOST else length) for length in lengths]


def _loaded(mpi: Any, pieces: Sequence[Piece], failed: Failed) -> list[Any]:
    """Return the objects; None of ranks that have failed, or of which not even the length came."""
    return [None if rank in failed or not len(piece) else mpi.pickle.loads(piece) for rank, piece in enumerate(pieces)]


def _gone(pieces: Sequence[Piece], failed: Failed) -> Failed:
    return tuple(rank for rank, piece in enumerate(pieces) if rank in failed or not len(piece))


@_job
def barrier(ours: Rank) -> ObjectJob:
    """Wait for all."""

    def carry(ways: Ways, call: Call, given: Any) -> tuple[Any, Failed]:
        ways.barrier(call)
        return None, ()

    return ObjectJob(lambda: None, carry)


@_job
def bcast(ours: Rank, obj: Any, root: int = 0) -> ObjectJob:
    """Bring the root's object to all."""
    root = check_root(ours, root)

    def carry(ways: Ways, call: Call, mine: Any) -> tuple[Any, Failed]:
        if ours.rank == root:
            ways.broadcast(call, None if mine is None else _head(call.mpi, len(mine)), root)
            if mine is not None:
                ways.broadcast(call, mine, root)
            return obj, ()
        if mine is None:
            ways.broadcast(call, None, root)
            return None, ()
        head = call.mpi.buffer.allocate(_HEAD)
        ways.broadcast(call, head, root)
        data = call.mpi.buffer.allocate(_length(head))
        ways.broadcast(call, data, root)
        return call.mpi.pickle.loads(data), ()

    return ObjectJob(lambda: _pickled(ours.mpi, obj) if ours.rank == root else (), carry)


def _gather_all(ways: Ways, call: Call, mine: Any) -> tuple[list[Any], Failed]:
    heads = _heads(call)
    ways.allgather(call, None if mine is None else _head(call.mpi, len(mine)), heads)
    if mine is None:
        return [], ()
    places = _places(call.mpi, heads)
    failed = ways.allgather(call, mine, places)
    return _loaded(call.mpi, places, failed), _gone(places, failed)


@_job
def allgather(ours: Rank, sendobj: Any) -> ObjectJob:
    """Bring every rank's object to all."""
    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), _gather_all)


def _gather_at(ways: Ways, call: Call, mine: Any, root: int) -> tuple[list[Any] | None, Failed]:
    here = call.rank == root
    heads = _heads(call) if here else None
    ways.gather(call, None if mine is None else _head(call.mpi, len(mine)), heads if mine is not None else None, root)
    if mine is None:
        return None, ()
    places = None if heads is None else _places(call.mpi, heads)
    failed = ways.gather(call, mine, places, root)
    return (None, failed) if places is None else (_loaded(call.mpi, places, failed), _gone(places, failed))


@_job
def gather(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Collect every rank's object at the root."""
    root = check_root(ours, root)

    def carry(ways: Ways, call: Call, mine: Any) -> tuple[Any, Failed]:
        return _gather_at(ways, call, mine, root)

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


@_job
def scatter(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Deal out the root's objects."""
    root = check_root(ours, root)

    def carry(ways: Ways, call: Call, out: Any) -> tuple[Any, Failed]:
        here = call.rank == root
        if out is None:
            ways.scatter(call, None, None, root)
            return None, ()
        head = call.mpi.buffer.allocate(_HEAD)
        ways.scatter(call, [_head(call.mpi, len(each)) for each in out] if here else None, head, root)
        data = call.mpi.buffer.allocate(_length(head))
        ways.scatter(call, out if here else None, data, root)
        return call.mpi.pickle.loads(data), ()

    return ObjectJob(lambda: _all_pickled(ours, sendobj) if ours.rank == root else (), carry)


def _all_pickled(ours: Rank, things: Any) -> list[Piece]:
    found = list(things)
    if len(found) != ours.size:
        raise ValueError(f"expecting {ours.size} items, got {len(found)}")
    return [_pickled(ours.mpi, each) for each in found]


@_job
def alltoall(ours: Rank, sendobj: Any) -> ObjectJob:
    """Bring an object from every rank to every rank."""

    def carry(ways: Ways, call: Call, out: Any) -> tuple[Any, Failed]:
        if out is None:
            ways.alltoall(call, None, None)
            return None, ()
        heads = _heads(call)
        ways.alltoall(call, [_head(call.mpi, len(each)) for each in out], heads)
        places = _places(call.mpi, heads)
        failed = ways.alltoall(call, out, places)
        return _loaded(call.mpi, places, failed), _gone(places, failed)

    return ObjectJob(lambda: _all_pickled(ours, sendobj), carry)


def _sum(mpi: Any, things: Sequence[Any], failed: Failed, op: Callable[[Any, Any], Any] | None) -> Any:
    living = [each for rank, each in enumerate(things) if rank not in failed]
    return fold(mpi.SUM if op is None else op, living) if living else None


@_job
def reduce(ours: Rank, sendobj: Any, op: Any = None, root: int = 0) -> ObjectJob:
    """Fold every rank's object at the root."""
    root = check_root(ours, root)

    def carry(ways: Ways, call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_at(ways, call, mine, root)
        return (None if things is None else _sum(call.mpi, things, failed, op)), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


@_job
def allreduce(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold every rank's object, at all."""

    def carry(ways: Ways, call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_all(ways, call, mine)
        return _sum(call.mpi, things, failed, op), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


def _scan(ours: Rank, sendobj: Any, op: Any, upto: int) -> ObjectJob:
    def carry(ways: Ways, call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_all(ways, call, mine)
        return _sum(call.mpi, things[:upto], failed, op), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


@_job
def scan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks up to each."""
    return _scan(ours, sendobj, op, ours.rank + 1)


@_job
def exscan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks before each; None at the first."""
    return _scan(ours, sendobj, op, ours.rank)
