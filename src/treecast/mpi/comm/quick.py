"""Calls of little data that survive failures, in as few lines of Python as go while nobody has failed.

Ranks that share cores wait for each other's Python, so it counts several times. Plain buffers, with or without a datatype beside
them, go to MPI's own call of all ranks as they are. What is not plain, or fails, goes the way of all calls (``Comm``), which
makes the same call of MPI: a rank that goes that way fits in with those that go this one.
"""

from collections.abc import Callable
from operator import index
from typing import Any

from mpi4py import MPI

from treecast.mpi.arguments.items import NATIVE
from treecast.mpi.comm.state import State
from treecast.transport.base import SMALL, Piece

_LISTS = frozenset({list, tuple})
_added = set[tuple[int, int]]()  # predefined operations and datatypes that go together


class Blocks:
    """Copies of the blocks of all ranks, one behind the other."""

    def __init__(self, whole: Piece, length: int) -> None:
        self._whole, self._length = memoryview(whole), length

    def get(self, rank: int, default: Any = None) -> Piece:
        """Return the block of a rank."""
        return self._whole[rank * self._length : (rank + 1) * self._length]


def _plain(argument: Any, writable: bool, blocks: int = 1) -> tuple[memoryview, Any] | None:
    """Return the bytes of plain memory, and what tells the type of its entries; None for anything else.

    It may stand beside a datatype, ``[buffer, datatype]``, and a count, of each of so many ``blocks``.
    """
    buffer, count, datatype = argument, None, None
    if type(argument) in _LISTS:
        if not 2 <= len(argument) <= 3:
            return None
        buffer, *counted, datatype = argument
        if not isinstance(datatype, MPI.Datatype) or not datatype.is_predefined:
            return None
        count = counted[0] if counted else None
    try:
        view = memoryview(buffer)
    except TypeError:
        return None
    if datatype is None:
        entry, datatype = view.itemsize if view.ndim == 1 and view.format in NATIVE else 0, view.format
    else:
        entry = datatype.size if datatype.size == datatype.extent else 0
    if not entry or not view.c_contiguous or not view.nbytes or (writable and view.readonly):
        return None
    data = view if view.format == "B" and view.ndim == 1 else view.cast("B")
    length = len(data) if count is None else index(count) * entry * blocks
    if not 0 < length <= min(SMALL, len(data)) or length % (entry * blocks):
        return None
    return data[:length], datatype


def _broadcast(state: State, comm: MPI.Intracomm, buf: Any, root: Any = 0) -> Any:
    plain = _plain(buf, True)
    if plain is None or not isinstance(root, int) or not 0 <= root < state.rank.size:
        return None
    comm.Bcast(plain[0], root)
    return {root: bytes(plain[0])}


def _allgather(state: State, comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Any:
    sent, received = _plain(sendbuf, False), _plain(recvbuf, True, state.rank.size)
    if sent is None or received is None or len(received[0]) != len(sent[0]) * state.rank.size:
        return None
    comm.Allgather(sent[0], received[0])
    return Blocks(bytes(received[0]), len(sent[0]))


def _allreduce(state: State, comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Any:
    sent, received, size = _plain(sendbuf, False), _plain(recvbuf, True), state.rank.size
    if sent is None or received is None or sent[1] != received[1] or len(sent[0]) != len(received[0]):
        return None
    (mine, datatype), length = sent, len(sent[0])
    if length * size > SMALL or not isinstance(op, MPI.Op) or not op.is_predefined:
        return None
    if isinstance(datatype, str):
        datatype = MPI.Datatype.fromcode(datatype)
    if (op.handle, datatype.handle) not in _added:
        state.rank.reader.check_sum(datatype, op)
        _added.add((op.handle, datatype.handle))
    whole, count = bytearray(length * size), length // datatype.size
    comm.Allgather(mine, whole)
    sums = memoryview(bytearray(whole))
    part = sums[:length]
    for first in range(length, length * size, length):
        before, part = part, sums[first : first + length]
        op.Reduce_local([before, count, datatype], [part, count, datatype])
    received[0][:] = part
    return Blocks(whole, length)


def _barrier(state: State, comm: MPI.Intracomm) -> Any:
    whole = bytearray(state.rank.size)
    comm.Allgather(b"\0", whole)
    return Blocks(whole, 1)


QUICK: dict[str, Callable[..., Any]] = {
    "Barrier": _barrier,
    "Bcast": _broadcast,
    "Allgather": _allgather,
    "Allreduce": _allreduce,
}
"""By the name of mpi4py's method: what makes a call of plain buffers, and returns what others may lack; None where it has not."""


def go_quickly(state: State, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Make a call in the quick way; return whether that was possible. All its ranks have survive, and no deadline."""
    base, mark = state.base, state.mark
    together = base.transport.together
    if together is None or together.is_over or base.group.together is None:
        return False
    with base.transport.lock:
        if not base.group.may_hurry():
            return False
        if mark is not None:
            mark.step()
        try:
            kept = QUICK[name](state, together.comm, *arguments, **named)
        except MPI.Exception:
            together.end()
            return False
        except Exception:  # a wrong argument, of which the others have to learn
            return False
        finally:
            if mark is not None:
                mark.step()
        if kept is None:
            return False
        base.group.end_at_once(kept)
        return True
