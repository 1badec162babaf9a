"""The lower-case collectives, of any Python objects, as rows of the table: lengths go first, then pickled bytes.

Where a rank has failed, and its object has not come, there is None in its place; a sum is folded over the others, in the order of
ranks.
"""

from collections.abc import Callable, Sequence
from functools import partial
from functools import reduce as fold
from typing import Any, cast

from treecast.algorithms import personal, spread, sums
from treecast.calls.call import Call
from treecast.calls.table import Algorithm, Failed, ObjectJob, Rank, check_root, of_objects
from treecast.transport.base import Piece

_HEAD = 8  # bytes that tell how long an object is
_LOST = (1 << 64) - 1  # in place of a length, where none has come


def _pickled(mpi: Any, thing: Any) -> Piece:
    return mpi.buffer.frombuffer(mpi.pickle.dumps(thing), True)


def _head(mpi: Any, length: int) -> Piece:
    return mpi.buffer.frombuffer(length.to_bytes(_HEAD, "little"), True)


def _length(head: Piece) -> int:
    return int.from_bytes(bytes(head), "little")


def _bring(call: Call, algorithm: Algorithm, out: Any, gets: str, *ends: Any) -> tuple[list[Any], Failed]:
    """Bring objects by two calls of an algorithm, and return those that have come here: of ranks that have failed None.

    ``out``: a pickled object, a list of one for each rank, () where this rank sends none, or None where its arguments were
    refused.
    ``gets``: whether the objects of ``all`` ranks come here, ``one``, or ``none``. ``ends``: the root, if there is one.
    """
    mpi, size = call.ours.mpi, call.ours.size
    if out is None:
        for _ in range(2 if algorithm is personal.scatter else 1):  # of both parts: the others may not know of it
            call(algorithm, None, None, *ends)
        return [], ()
    lengths = (
        [_head(mpi, len(each)) for each in cast("list[Piece]", out)] if isinstance(out, list) else _head(mpi, len(out))
    )

    def go(pieces: Any, places: list[Piece], *equal: bool) -> Failed:
        into = None if gets == "none" else places if gets == "all" else places[0]
        return call(algorithm, None if out == () else pieces, into, *ends, *equal)

    heads = [mpi.buffer.allocate(_HEAD) for _ in range({"all": size, "one": 1, "none": 0}[gets])]
    for head in heads:
        head[:] = _LOST.to_bytes(_HEAD, "little")
    go(lengths, heads, *(() if algorithm is spread.allgather else (True,)))
    known = [_length(head) for head in heads]
    places = [mpi.buffer.allocate(0 if length == _LOST else length) for length in known]
    failed = go(out, places)
    if gets == "one":
        return [mpi.pickle.loads(places[0])], failed
    gone = {
        rank for rank, piece in enumerate(places) if rank in failed or not len(piece)
    }  # or not even the length came
    things = [None if rank in gone else mpi.pickle.loads(piece) for rank, piece in enumerate(places)]
    return things, tuple(sorted(gone)) if places else failed


@of_objects
def barrier(ours: Rank) -> ObjectJob:
    """Wait for all."""

    def carry(call: Call, given: Any) -> tuple[Any, Failed]:
        call(sums.barrier)
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
    return _bring(call, spread.allgather, mine, "all")


@of_objects
def allgather(ours: Rank, sendobj: Any) -> ObjectJob:
    """Bring every rank's object to all."""
    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), _gather_all)


def _gather_at(call: Call, mine: Any, root: int) -> tuple[list[Any] | None, Failed]:
    here = call.ours.rank == root
    things, failed = _bring(call, personal.gather, mine, "all" if here else "none", root)
    return things if here else None, failed


@of_objects
def gather(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Collect every rank's object at the root."""
    root = check_root(ours, root)
    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), partial(_gather_at, root=root), root)


@of_objects
def scatter(ours: Rank, sendobj: Any, root: int = 0) -> ObjectJob:
    """Deal out the root's objects."""
    root = check_root(ours, root)

    def carry(call: Call, out: Any) -> tuple[Any, Failed]:
        things, failed = _bring(call, personal.scatter, out, "one", root)
        return things[0] if things else None, failed

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
        return _bring(call, personal.alltoall, out, "all")

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


def _folded(ours: Rank, sendobj: Any, op: Any, upto: int | None = None) -> ObjectJob:
    def carry(call: Call, mine: Any) -> tuple[Any, Failed]:
        things, failed = _gather_all(call, mine)
        return _sum(call.ours.mpi, things[:upto], failed, op), failed

    return ObjectJob(lambda: _pickled(ours.mpi, sendobj), carry)


@of_objects
def allreduce(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold every rank's object, at all."""
    return _folded(ours, sendobj, op)


@of_objects
def scan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks up to each."""
    return _folded(ours, sendobj, op, ours.rank + 1)


@of_objects
def exscan(ours: Rank, sendobj: Any, op: Any = None) -> ObjectJob:
    """Fold the objects of the ranks before each; None at the first."""
    return _folded(ours, sendobj, op, ours.rank)
