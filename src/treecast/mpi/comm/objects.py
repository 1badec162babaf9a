"""The lower-case collectives, of any Python objects, as rows of the table: lengths go first, then pickled bytes.

Where a rank has failed, and its object has not come, there is None in its place; a sum is folded over the others, in the order of
ranks.
"""

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

from treecast.algorithms import personal, spread
from treecast.mpi.comm.call import Call
from treecast.mpi.comm.table import Failed, ObjectJob, Rank, check_root, of_objects
from treecast.transport.base import Piece

_HEAD = 8  # bytes that tell how long an object is
_LOST = (1 << 64) - 1  # in place of a length, where none has come


def _pickled(mpi: Any, thing: Any) -> Piece:
    return mpi.buffer.frombuffer(mpi.pickle.dumps(thing), True)


def _head(mpi: Any, length: int) -> Piece:
    return mpi.buffer.frombuffer(length.to_bytes(_HEAD, "little"), True)


def _length(head: Piece) -> int:
    return int.from_bytes(bytes(head), "little")


def _heads(ours: Rank) -> list[Piece]:
    heads = [ours.mpi.buffer.allocate(_HEAD) for _ in range(ours.size)]
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


@of_objects
def barrier(ours: Rank) -> ObjectJob:
    """Wait for all."""

    def carry(call: Call, given: Any) -> tuple[Any, Failed]:
        call(spread.barrier)
        return None, ()

    return ObjectJob(lambda: None, carry)


@of_objects
def bcast(ours: Rank, obj: Any, root: int = 0) -> ObjectJob:
    """Bring the root's object to all."""
    root = check_root(ours, root)

    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        if ours.rank == root:
            call(spread.broadcast, None if mine is None else _head(call.ours.mpi, len(mine)), root)
            call(spread.broadcast, mine, root)
            return obj, ()
        if mine is None:  # of both parts: the others may not know of it
            call(spread.broadcast, None, root)
            call(spread.broadcast, None, root)
            return None, ()
        head = call.ours.mpi.buffer.allocate(_HEAD)
        call(spread.broadcast, head, root)
        data = call.ours.mpi.buffer.allocate(_length(head))
        call(spread.broadcast, data, root)
        return call.ours.mpi.pickle.loads(data), ()

    return ObjectJob(lambda: _pickled(ours.mpi, obj) if ours.rank == root else (), carry)


def _gather_all(call: Call, mine: Any) -> tuple[list[Any], Failed]:
    heads = _heads(call.ours)
    call(spread.allgather, None if mine is None else _head(call.ours.mpi, len(mine)), heads)
    if mine is None:
        return [], ()
    places = _places(call.ours.mpi, heads)
    failed = call(spread.allgather, mine, places)
    return _loaded(call.ours.mpi, places, failed), _gone(places, failed)


@of_objects
def allgather(ours: Rank, sendobj: Any) -> ObjectJob:
    """Bring every rank's object to all."""
    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), _gather_all)


def _gather_at(call: Call, mine: Any, root: int) -> tuple[list[Any] | None, Failed]:
    here = call.ours.rank == root
    heads = _heads(call.ours) if here else None
    call(
        personal.gather,
        None if mine is None else _head(call.ours.mpi, len(mine)),
        heads if mine is not None else None,
        root,
        True,
    )
    if mine is None:
        return None, ()
    places = None if heads is None else _places(call.ours.mpi, heads)
    failed = call(personal.gather, mine, places, root)
    return (None, failed) if places is None else (_loaded(call.ours.mpi, places, failed), _gone(places, failed))


@of_objects
def gather(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Collect every rank's object at the root."""
    root = check_root(ours, root)

    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        return _gather_at(call, mine, root)

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry, root)


@of_objects
def scatter(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Deal out the root's objects."""
    root = check_root(ours, root)

    def carry(call: Call, out: Any) -> tuple[Any, Failed]:
        here = call.ours.rank == root
        if out is None:
            call(personal.scatter, None, None, root)
            call(personal.scatter, None, None, root)
            return None, ()
        head = call.ours.mpi.buffer.allocate(_HEAD)
        call(personal.scatter, [_head(call.ours.mpi, len(each)) for each in out] if here else None, head, root, True)
        data = call.ours.mpi.buffer.allocate(_length(head))
        call(personal.scatter, out if here else None, data, root)
        return call.ours.mpi.pickle.loads(data), ()

    return ObjectJob(lambda: _all_pickled(ours, sendobj) if ours.rank == root else (), carry)


def _all_pickled(ours: Rank, things: Any) -> list[Piece]:
    found = list(things)
    if len(found) != ours.size:
        raise ValueError(f"expecting {ours.size} items, got {len(found)}")
    return [_pickled(ours.mpi, each) for each in found]


@of_objects
def alltoall(ours: Rank, sendobj: Any) -> ObjectJob:
    """Bring an object from every rank to every rank."""

    def carry(call: Call, out: Any) -> tuple[Any, Failed]:
        if out is None:
            call(personal.alltoall, None, None)
            return None, ()
        heads = _heads(call.ours)
        call(personal.alltoall, [_head(call.ours.mpi, len(each)) for each in out], heads, True)
        places = _places(call.ours.mpi, heads)
        failed = call(personal.alltoall, out, places)
        return _loaded(call.ours.mpi, places, failed), _gone(places, failed)

    return ObjectJob(lambda: _all_pickled(ours, sendobj), carry)


def _sum(mpi: Any, things: Sequence[Any], failed: Failed, op: Callable[[Any, Any], Any] | None) -> Any:
    living = [each for rank, each in enumerate(things) if rank not in failed]
    return fold(mpi.SUM if op is None else op, living) if living else None


@of_objects
def reduce(ours: Rank, sendobj: Any, op: Any = None, root: int = 0) -> ObjectJob:
    """Fold every rank's object at the root."""
    root = check_root(ours, root)

    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_at(call, mine, root)
        return (None if things is None else _sum(call.ours.mpi, things, failed, op)), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry, root)


@of_objects
def allreduce(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold every rank's object, at all."""

    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_all(call, mine)
        return _sum(call.ours.mpi, things, failed, op), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


def _scan(ours: Rank, sendobj: Any, op: Any, upto: int) -> ObjectJob:
    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_all(call, mine)
        return _sum(call.ours.mpi, things[:upto], failed, op), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


@of_objects
def scan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks up to each."""
    return _scan(ours, sendobj, op, ours.rank + 1)


@of_objects
def exscan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks before each; None at the first."""
    return _scan(ours, sendobj, op, ours.rank)
