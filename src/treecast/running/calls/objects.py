"""The lower-case collectives, of any Python objects, as rows of the table: lengths go first, then pickled bytes.

Where a rank has failed, and its object has not come, there is None in its place; a sum is folded over the others, in the order of
ranks.
"""

from collections.abc import Callable
from functools import reduce as fold
from typing import Any, cast

from treecast.running.algorithms import personal, spread, sums
from treecast.running.calls.call import Call
from treecast.running.calls.table import Algorithm, Caller, Failed, RankCall, check_root, name_of, of_objects
from treecast.running.groups.words import Words
from treecast.running.transport.base import Piece

_HEAD = 8  # bytes that tell how long an object is
# No object has 2^48 bytes, so the upper 16 bits are free for it.
_MARK = 0xA5C3 << 48  # is in each such length: other bytes are of another call
_LOST = (1 << 64) - 1  # in place of a length, where none has come
_OF_ROOT = (spread.broadcast, personal.scatter)  # each rank gets one object, from the root
_IN_PAIRS = (personal.alltoall, personal.scatter)  # who sends has an object for each rank
Fold = Callable[[Any, Any], Any] | None


def _bring(call: Call, algorithm: Algorithm, out: Any, count: int, *ends: int) -> tuple[list[Any], Failed]:
    """Bring objects by two calls of an algorithm, and return those that have come here: of ranks that have failed None.

    ``out``: a pickled object, a list of one for each rank, or () where this rank sends none. ``count``: how many objects come
    here. ``ends``: the root, if there is one.
    """
    mpi, of_root = call.ours.mpi, algorithm in _OF_ROOT

    def length_of(piece: Any) -> Piece:
        # the mark makes bytes of another call show
        return mpi.buffer.frombuffer((len(piece) | _MARK).to_bytes(_HEAD, "little"), True)

    def go(pieces: Any, places: list[Piece], *equal: bool) -> Failed:
        mine, into = None if pieces == () else pieces, (places[0] if of_root else places) if places else None
        if algorithm is spread.broadcast:
            return call(algorithm, into if mine is None else mine, *ends)
        return call(algorithm, mine, into, *ends, *equal)

    # 1. The lengths, in a call of little data.
    lengths: Any = out and ([*map(length_of, cast("list[Any]", out))] if isinstance(out, list) else length_of(out))
    heads = [mpi.buffer.allocate(_HEAD) for _ in range(count)]
    for head in heads:
        head[:] = _LOST.to_bytes(_HEAD, "little")  # as long as none has come, the length is the lost one
    go(lengths, heads, *(() if algorithm is spread.allgather else (True,)))
    told = [int.from_bytes(bytes(head), "little") for head in heads]
    known = [length if length == _LOST else length ^ _MARK for length in told]
    if any(length >> 48 for length in known if length != _LOST):  # an upper bit is left: no length of an object
        call.find_unlike()
    # 2. The objects, to places of these lengths.
    places = [mpi.buffer.allocate(0 if length == _LOST else length) for length in known]
    failed = go(out, places)
    if of_root:
        # a failed root raises before, so there is an object
        return [mpi.pickle.loads(place) for place in places], failed
    # or not even the length came
    # a rank may have failed between the two calls
    gone = {rank for rank, piece in enumerate(places) if rank in failed or not len(piece)}
    things = [None if rank in gone else mpi.pickle.loads(piece) for rank, piece in enumerate(places)]
    return things, tuple(sorted(gone)) if places else failed


def _job(ours: Caller, algorithm: Algorithm, thing: Any, root: int | None = None) -> RankCall:
    """Return the job that brings an object, or one for each rank."""
    ends = () if root is None else (check_root(ours, root),)
    of_root, at_root = algorithm in _OF_ROOT, ends == (ours.rank,)
    # objects that come here: at the root all, elsewhere none or one
    count = (algorithm is personal.scatter or not at_root) if of_root else ours.size if at_root or not ends else 0

    def pickled(each: Any) -> Piece:
        return ours.mpi.buffer.frombuffer(ours.mpi.pickle.dumps(each), True)

    def read() -> Any:
        if of_root and not at_root:
            return ()
        if algorithm not in _IN_PAIRS:
            return pickled(thing)
        if len(found := list(thing)) != ours.size:
            raise ValueError(f"expecting {ours.size} items, got {len(found)}")
        return [pickled(each) for each in found]

    def carry(call: Call, out: Any) -> tuple[Any, Failed]:
        things, failed = _bring(call, algorithm, out, int(count), *ends)
        if of_root:
            return things[0] if things else thing if at_root else None, failed
        return things if count else None, failed

    return RankCall(read, carry, None if of_root or not ends else ends[0], Words(root=ends[0] if ends else None))


def _fold(
    ours: Caller, algorithm: Algorithm, thing: Any, op: Fold, *, root: int | None = None, upto: int | None = None
) -> RankCall:
    """Return the job that folds objects of the living: those of the ranks before ``upto``."""
    add: Callable[[Any, Any], Any] = ours.mpi.SUM if op is None else op
    job = _job(ours, algorithm, thing, root)

    def carry(call: Call, out: Any) -> tuple[Any, Failed]:
        things, failed = job.carry(call, out)
        here: list[Any] = things or []
        # of the living only: ``here`` has None for the others
        living = [each for rank, each in enumerate(here[:upto]) if rank not in failed]
        return fold(add, living) if living else None, failed

    return job._replace(carry=carry, words=job.words._replace(op=name_of(ours.mpi, add)))


@of_objects
def barrier(ours: Caller) -> RankCall:
    """Wait for all."""

    def carry(call: Call, given: Any) -> tuple[Any, Failed]:
        call(sums.barrier)
        return None, ()

    return RankCall(lambda: None, carry, words=Words("Barrier"))  # it may meet that


@of_objects
def bcast(ours: Caller, obj: Any, root: int = 0) -> RankCall:
    """Bring the root's object to all."""
    return _job(ours, spread.broadcast, obj, root)


@of_objects
def allgather(ours: Caller, sendobj: Any) -> RankCall:
    """Bring every rank's object to all."""
    return _job(ours, spread.allgather, sendobj)


@of_objects
def gather(ours: Caller, sendobj: Any, root: int = 0) -> RankCall:
    """Collect every rank's object at the root."""
    return _job(ours, personal.gather, sendobj, root)


@of_objects
def scatter(ours: Caller, sendobj: Any, root: int = 0) -> RankCall:
    """Deal out the root's objects."""
    return _job(ours, personal.scatter, sendobj, root)


@of_objects
def alltoall(ours: Caller, sendobj: Any) -> RankCall:
    """Bring an object from every rank to every rank."""
    return _job(ours, personal.alltoall, sendobj)


@of_objects
def reduce(ours: Caller, sendobj: Any, op: Fold = None, root: int = 0) -> RankCall:
    """Fold every rank's object at the root."""
    return _fold(ours, personal.gather, sendobj, op, root=root)


@of_objects
def allreduce(ours: Caller, sendobj: Any, op: Fold = None) -> RankCall:
    """Fold every rank's object, at all."""
    return _fold(ours, spread.allgather, sendobj, op)


@of_objects
def scan(ours: Caller, sendobj: Any, op: Fold = None) -> RankCall:
    """Fold the objects of the ranks up to each."""
    return _fold(ours, spread.allgather, sendobj, op, upto=ours.rank + 1)


@of_objects
def exscan(ours: Caller, sendobj: Any, op: Fold = None) -> RankCall:
    """Fold the objects of the ranks before each; None at the first."""
    return _fold(ours, spread.allgather, sendobj, op, upto=ours.rank)
