"""Calls of little data that survive failures, in as few lines of Python as go while nobody has failed.

Ranks that share cores wait for each other's Python, so it counts several times. Plain buffers, with or without a datatype beside
them, go to MPI's own call of all ranks as they are. A call that is not plain, or fails, goes the way of all calls (``Comm``),
which makes the same calls of MPI: a rank that goes that way fits in with those that go this one.
"""

from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple, cast

from mpi4py import MPI

from treecast.algorithms import spread, sums
from treecast.algorithms.sums import Sums, fold
from treecast.calls.items import NATIVE
from treecast.calls.sums import how_of
from treecast.calls.table import Algorithm, Row
from treecast.groups.pace import AHEAD
from treecast.groups.terms import Terms
from treecast.groups.words import Words
from treecast.mpi.comm.state import State
from treecast.mpi.together import MpiTogether
from treecast.transport.base import SMALL, Piece

_BYTE, _IN_PLACE = MPI.BYTE, MPI.IN_PLACE
_LISTS = frozenset({list, tuple})
_PAGE = 4096
_MOST_SUMS = 64  # of a communicator, which are kept ready
_NOTHING: Any = 0.0, None, (), {}
Made = tuple[Any, bool, tuple[Any, ...]]
_entries = dict[int, int]()  # bytes of an entry, by the handle of a predefined datatype without gaps


class Sum(NamedTuple):
    """A sum that is kept ready. ``whole``: room for the contributions that are folded here, one behind the other in ``parts``."""

    how: Sums
    whole: Piece
    parts: list[Piece]


class Lane:
    """The things that quick calls on a communicator have at hand. All have survive, and neither a deadline nor a network."""

    def __init__(self, state: State, together: MpiTogether, terms: Terms) -> None:
        base = state.base
        self.ours, self.size = state.rank_on(terms), state.rank.size
        self.jobs, self.times, self.take_number = state.worker.jobs, base.mark.times, state.take_number
        self.acquire, self.release = base.transport.lock.acquire, base.transport.lock.release  # quicker than with
        self.group, self.together, self._base = base.group, together, base
        self.said = dict[tuple[Any, ...], tuple[Words, int]]()  # the words of calls that were made before
        self.pay = base.pay
        # of long broadcasts, since all have come together
        self.copies, self.used, self.since = list[memoryview](), 0, 0
        self.sums = dict[tuple[Any, ...], Sum]()

    def compare(self) -> None:
        """Compare the last calls with those of all others, every sixteenth call."""
        group, mine = self.group, self.group.unlike.digests.tobytes()
        whole = bytearray(len(mine) * self.size)
        self.together.comm.Allgather([mine, len(mine), _BYTE], [whole, len(mine), _BYTE])
        with self._base.transport.lock:
            group.hear_all(group.agreement.number, bytes(whole))

    def end(self, kept: Any, all_took_part: bool, key: tuple[Any, ...]) -> float:
        """End a call that was made; ``key``: its words. Return the time."""
        began, row, *given = self.together.under_way or _NOTHING
        said = self.said.get(key)
        if said is None:
            words = row.words(self.ours, *given)
            said = self.said[key] = words, words.digest
        self.acquire()
        try:
            ended = self.group.end_at_once(kept, all_took_part, said, began)
            self.together.under_way = None
        finally:
            self.release()
        return ended

    def stop(self, began: float) -> None:
        """Stop a call, which is over, or goes the way of all calls now."""
        self.together.under_way = None
        if self._base.asked == began:  # a side thread has described it
            self.group.end()

    def copy(self, view: memoryview) -> memoryview:
        """Return a copy, in memory that was in use before where there is some: new memory is slow."""
        if self.since != self.group.agreement.all_ended:
            self.used, self.since = 0, self.group.agreement.all_ended
        if self.used == len(self.copies):
            if self.used >= AHEAD:  # those of long ago are dropped when nobody can ask for them
                self.copies, self.used = [], 0
            self.copies.append(memoryview(b""))
        length = view.nbytes
        if len(self.copies[self.used]) < length:
            self.copies[self.used] = memoryview(bytearray(length))
        copy = self.copies[self.used][:length]
        copy[:] = view.cast("B")
        self.used += 1
        return copy


def _plain(argument: Any, blocks: int = 1) -> tuple[memoryview, int, Any]:
    """Return plain memory, its bytes, and a word for the type of its entries; raise anything for memory that is not plain.

    It may stand beside a datatype, ``[buffer, datatype]``, and a count, of each of so many ``blocks``.
    """
    if type(argument) in _LISTS:
        view, datatype = memoryview(argument[0]), argument[-1]
        code, length = datatype.handle, view.nbytes
        entry = _entries.get(code) or _entry_of(datatype)
        if len(argument) != 2:
            _, count, _ = argument
            if (wanted := index(count) * entry * blocks) != length:
                view, length = view.cast("B")[:wanted], wanted
                if view.nbytes != wanted:
                    raise ValueError
    else:
        view = memoryview(argument)
        entry, code, length = view.itemsize, view.format, view.nbytes
        if code not in NATIVE:
            raise ValueError
    if not 0 < length <= SMALL or length % (entry * blocks) or not view.c_contiguous:
        raise ValueError
    return view, length, code


def _entry_of(datatype: Any) -> int:
    if not datatype.is_predefined or datatype.size != datatype.extent:
        raise ValueError
    _entries[datatype.handle] = size = datatype.size
    return size


def _broadcast(lane: Lane, buf: Any, root: Any = 0) -> Made | None:
    """Broadcast, as all functions here do: with MPI's own call. They take the arguments of mpi4py's method."""
    view, length, code = _plain(buf)
    lane.together.comm.Bcast([view, length, _BYTE], root)
    copy = view.tobytes() if length < _PAGE else lane.copy(view)
    return (copy, length, root), False, (_broadcast, length, code, cast("Any", type(buf)), root)


def _allgather(lane: Lane, sendbuf: Any, recvbuf: Any) -> Made | None:
    received, total, code = _plain(recvbuf, lane.size)
    sent, length, _ = _plain(sendbuf)
    if total != length * lane.size:
        return None
    lane.together.comm.Allgather([sent, length, _BYTE], [received, length, _BYTE])
    return (received.tobytes(), length), True, (_allgather, length, code, cast("Any", type(recvbuf)))


def _barrier(lane: Lane) -> Made | None:
    whole = bytearray(lane.size)
    lane.together.comm.Allgather(b"\0", whole)
    return (whole, 1), True, (_barrier,)


def _allreduce(lane: Lane, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Made | None:
    received, length, code = _plain(recvbuf)
    if sendbuf is _IN_PLACE:
        sent = memoryview(bytes(received))
    else:
        sent, count, other = _plain(sendbuf)
        if other != code or count != length:
            return None
    key = length, code, op.handle
    ready = lane.sums.get(key) or _make_ready(lane, key, recvbuf, op)
    if ready is None:
        return None
    (how, whole, parts), comm = ready, lane.together.comm
    if not how.any_order:
        comm.Allgather([sent, length, _BYTE], [whole, length, _BYTE])
        kept = bytes(whole)
        fold(how, parts, how.entries)
        received.cast("B")[:] = parts[-1]
        return (kept, length), True, key
    try:
        comm.Allreduce([sent, how.entries, how.datatype], [received, how.entries, how.datatype], how.op)
    except MPI.Exception:
        if sendbuf is _IN_PLACE:
            received.cast("B")[:] = sent
        raise
    return (received.tobytes(), length), True, key


def _make_ready(lane: Lane, key: tuple[Any, ...], recvbuf: Any, op: Any) -> Sum | None:
    """Return a sum of MPI's own that is kept ready; None for any other, and for one that is folded in blocks."""
    size, (length, code, _) = lane.size, key
    datatype = MPI.Datatype.fromcode(code) if isinstance(code, str) else recvbuf[-1]
    if not op.is_predefined:
        return None
    how = how_of(lane.ours, datatype, op, length // datatype.size)
    if not how.any_order and length * size > SMALL:
        return None
    lane.ours.reader.check_sum(datatype, op)
    whole = memoryview(bytearray(0 if how.any_order else length * size))
    parts = [whole[k * length : (k + 1) * length] for k in range(size)]
    if len(lane.sums) >= _MOST_SUMS:
        lane.sums.clear()
    lane.sums[key] = made = Sum(how, whole, parts)
    return made


Quick = Callable[..., Made | None]
_QUICK: dict[Algorithm, Quick] = {
    sums.barrier: _barrier,
    spread.broadcast: _broadcast,
    spread.allgather: _allgather,
    sums.allreduce: _allreduce,
}


def quick_of(row: Row) -> Quick | None:
    """Return the function that makes a call of plain buffers; None where there is none, or lengths differ.

    It returns the arguments of ``Lane.end``, or None where it has not made the call.
    """
    return _QUICK.get(row.algorithm) if row.blocks in ("", "blocks") else None
