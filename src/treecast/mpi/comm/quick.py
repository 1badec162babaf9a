"""Calls of little data that survive failures, in as few lines of Python as go while nobody has failed; sums that are folded here.

Ranks that share cores wait for each other's Python, so it counts several times. Plain buffers, with or without a datatype beside
them, go to MPI's own call of all ranks as they are. A call that is not plain, or fails, goes the way of all calls (``Comm``),
which makes the same calls of MPI: a rank that goes that way fits in with those that go this one.
"""

from collections.abc import Callable, Sequence
from math import inf
from operator import index
from time import perf_counter
from typing import Any, NamedTuple, cast

from mpi4py import MPI

from treecast.algorithms import spread, sums
from treecast.algorithms.sums import Sums, fold
from treecast.calls.items import NATIVE
from treecast.calls.sums import how_of
from treecast.calls.table import Algorithm, Row
from treecast.errors import PlanError
from treecast.groups.pace import AHEAD
from treecast.groups.terms import Terms
from treecast.groups.words import Words
from treecast.mpi.comm.folded import fold_by_mpi
from treecast.mpi.comm.state import State
from treecast.mpi.together import MpiTogether
from treecast.transport.base import SMALL, Piece

_BYTE, _IN_PLACE = MPI.BYTE, MPI.IN_PLACE
_LISTS = frozenset({list, tuple})
_PAGE = 4096
_MOST_SUMS = 64  # of a communicator, which are kept ready
_NOTHING: Any = 0.0, None, (), {}
Made = tuple[Any, bool, tuple[Any, ...]]
_Found = tuple[tuple[Any, ...], memoryview, memoryview, "Sum"]
_entries = dict[int, int]()  # bytes of an entry, by the handle of a predefined datatype without gaps


class Sum(NamedTuple):
    """A sum that is kept ready. ``whole``: room for contributions that are folded here at once, in ``parts``."""

    how: Sums
    whole: Piece
    parts: list[Piece]


class Folding:
    """What quick sums on a communicator have at hand. ``comm``: carries contributions. ``sums``: those that are kept ready."""

    def __init__(self, state: State, comm: MPI.Intracomm, terms: Terms) -> None:
        self.ours, self.size, self.comm, self._base = state.rank_on(terms), state.rank.size, comm, state.base
        self.jobs, self.take_number, self.group = state.worker.jobs, state.take_number, state.base.group_of(terms)
        self.sums = dict[tuple[Any, ...], Sum]()
        self.said = dict[tuple[Any, ...], tuple[Words, int]]()  # the words of calls that were made before

    def say(self, key: tuple[Any, ...], row: Row, given: Sequence[Any]) -> tuple[Words, int]:
        """Return the words of a call, and their digest, by its key, row and arguments."""
        said = self.said.get(key)
        if said is None:
            words = row.words(self.ours, *given)
            said = self.said[key] = words, words.digest
        return said

    def allreduce(self, row: Row, given: Sequence[Any]) -> tuple[Any, ...] | None:
        """Sum plain buffers as ``allreduce_folded`` does; return the outcome, None where it was not made."""
        began = perf_counter()
        if self.jobs.unfinished_tasks:
            self.jobs.join()
        try:
            key = allreduce_folded(self, *given[0], **given[1])
        except (PlanError, TypeError, ValueError, AttributeError, IndexError):  # which is raised where all calls go
            return None
        if key is None:
            return None
        said, ended = self.say(key, row, given), perf_counter()
        with self._base.transport.lock:
            self.group.unlike.note_past(self.take_number(), said, (began, ended), self.group.made)
        return began, ended, (), "straight", "", self.sums[key].how.bits


class Lane(Folding):
    """The things that quick calls on a communicator have at hand. All have survive, and neither a deadline nor a network."""

    def __init__(self, state: State, together: MpiTogether, terms: Terms) -> None:
        super().__init__(state, together.comm, terms)
        self.times, self.together, self.pay = state.base.mark.times, together, state.base.pay
        lock = state.base.transport.lock
        self.acquire, self.release = lock.acquire, lock.release  # quicker than with
        # of long broadcasts, since all have come together
        self.copies, self.used, self.since = list[memoryview](), 0, 0

    def compare(self) -> None:
        """Compare the last calls with those of all others, every sixteenth call."""
        group, mine = self.group, self.group.unlike.digests.tobytes()
        whole = bytearray(len(mine) * self.size)
        self.comm.Allgather([mine, len(mine), _BYTE], [whole, len(mine), _BYTE])
        with self._base.transport.lock:
            group.hear_all(group.agreement.number, bytes(whole))

    def end(self, kept: Any, all_took_part: bool, key: tuple[Any, ...]) -> float:
        """End a call that was made; ``key``: its words. Return the time."""
        began, row, *given = self.together.under_way or _NOTHING
        said = self.say(key, row, given)
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


def _plain(argument: Any, blocks: int = 1, most: float = SMALL) -> tuple[memoryview, int, Any]:
    """Return plain memory, its bytes, and a word for the type of its entries; raise anything for memory that is not plain.

    It may stand beside a datatype, ``[buffer, datatype]``, and a count, of each of so many ``blocks``; ``most``: bytes.
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
    if not 0 < length <= most or length % (entry * blocks) or not view.c_contiguous:
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
    lane.comm.Bcast([view, length, _BYTE], root)
    copy = view.tobytes() if length < _PAGE else lane.copy(view)
    return (copy, length, root), False, (_broadcast, length, code, cast("Any", type(buf)), root)


def _allgather(lane: Lane, sendbuf: Any, recvbuf: Any) -> Made | None:
    received, total, code = _plain(recvbuf, lane.size)
    sent, length, _ = _plain(sendbuf)
    if total != length * lane.size:
        return None
    lane.comm.Allgather([sent, length, _BYTE], [received, length, _BYTE])
    return (received.tobytes(), length), True, (_allgather, length, code, cast("Any", type(recvbuf)))


def _barrier(lane: Lane) -> Made | None:
    whole = bytearray(lane.size)
    lane.comm.Allgather(b"\0", whole)
    return (whole, 1), True, (_barrier,)


def _allreduce(lane: Lane, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Made | None:
    found = _sum_of(lane, (sendbuf, recvbuf), op)
    if found is None:
        return None
    key, sent, received, (how, _, parts) = found
    if not how.any_order:
        return ((_fold(lane, found), key[0]), True, key) if parts else None
    if sent is received:
        sent = memoryview(bytes(received))
    try:
        lane.comm.Allreduce([sent, how.entries, how.datatype], [received, how.entries, how.datatype], how.op)
    except MPI.Exception:
        if sendbuf is _IN_PLACE:
            received[:] = sent
        raise
    return (received.tobytes(), key[0]), True, key


def allreduce_folded(folding: Folding, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> tuple[Any, ...] | None:
    """Sum plain buffers that are folded here, by MPI's calls, and survive nothing.

    Return the key of the sum; None where it was not made. Raises as ``_plain``.
    """
    found = _sum_of(folding, (sendbuf, recvbuf), op, most=inf)
    if found is None:
        return None
    key, sent, received, (how, _, parts) = found
    if parts:
        _fold(folding, found)
    else:
        fold_by_mpi(folding.comm, sums.allreduce, (None if sent is received else sent, received), (how,))
    return key


def _sum_of(folding: Folding, ends: tuple[Any, Any], op: Any, most: float = SMALL) -> _Found | None:
    """Return the key of a sum, the plain memory of its ends, and how it is made; None for one that is not kept ready."""
    sendbuf, recvbuf = ends
    received, length, code = _plain(recvbuf, most=most)
    received = sent = received.cast("B")  # which may raise, before anything is sent
    if sendbuf is not _IN_PLACE:
        sent, count, other = _plain(sendbuf, most=most)
        if other != code or count != length:
            return None
        sent = sent.cast("B")
    key = length, code, op.handle
    made = folding.sums.get(key) or _make_ready(folding, key, recvbuf, op)
    return made and (key, sent, received, made)


def _fold(folding: Folding, found: _Found) -> bytes:
    """Fold a sum here; return the contributions."""
    key, sent, received, (how, whole, parts) = found
    folding.comm.Allgather([sent, key[0], _BYTE], [whole, key[0], _BYTE])
    kept = bytes(whole)
    fold(how, parts, how.entries)
    received[:] = parts[-1]
    return kept


def _make_ready(folding: Folding, key: tuple[Any, ...], recvbuf: Any, op: Any) -> Sum | None:
    """Keep a sum of MPI's own operations ready; None for any other. One that is added by MPI, or in blocks, has no parts."""
    size, (length, code, _) = folding.size, key
    datatype = MPI.Datatype.fromcode(code) if isinstance(code, str) else recvbuf[-1]
    if not op.is_predefined:
        return None
    how = how_of(folding.ours, datatype, op, length // datatype.size)
    folding.ours.reader.check_sum(datatype, op)
    is_here = not how.any_order and length * size <= SMALL
    whole = memoryview(bytearray(is_here * length * size))
    parts = [whole[k * length : (k + 1) * length] for k in range(is_here * size)]
    if len(folding.sums) >= _MOST_SUMS:
        folding.sums.clear()
    folding.sums[key] = made = Sum(how, whole, parts)
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


def is_short(argument: Any, least: int) -> bool:
    """Return whether a glance shows that a valid argument has fewer than ``least`` bytes.

    A buffer has at least as many as are written of it, but for entries that overlap.
    """
    is_list = type(argument) in _LISTS and argument
    buffer, datatype = (argument[0], argument[-1]) if is_list else (argument, None)
    if not getattr(datatype, "is_predefined", True):
        return False
    try:
        return bool((buffer if hasattr(buffer, "nbytes") else memoryview(buffer)).nbytes < least)
    except (TypeError, BufferError):
        return False
