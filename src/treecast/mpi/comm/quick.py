"""Calls of little data that survive failures, in as few lines of Python as go while nobody has failed.

Ranks that share cores wait for each other's Python, so it counts several times. Plain buffers go to MPI's own call of all ranks
as they are. What is not plain, or fails, goes the way of all calls (``Comm``), which makes the same call of MPI: a rank that goes
that way fits in with those that go this one.
"""

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from treecast.mpi.arguments.items import NATIVE
from treecast.mpi.comm.state import State
from treecast.transport.base import SMALL, Piece

_added = set[tuple[int, int]]()  # predefined operations and datatypes that go together


class Blocks:
    """Copies of the blocks of all ranks, one behind the other."""

    def __init__(self, whole: Piece, length: int) -> None:
        self._whole, self._length = memoryview(whole), length

    def get(self, rank: int, default: Any = None) -> Piece:
        """Return the block of a rank."""
        return self._whole[rank * self._length : (rank + 1) * self._length]


def _view(argument: Any, writable: bool) -> memoryview | None:
    """Return plain memory as it is; None for anything else."""
    try:
        view = memoryview(argument)
    except TypeError:
        return None
    plain = view.ndim == 1 and view.contiguous and view.format in NATIVE and 0 < view.nbytes <= SMALL
    return view if plain and not (writable and view.readonly) else None


def _broadcast(state: State, comm: MPI.Intracomm, buf: Any, root: Any = 0) -> Any:
    view = _view(buf, True)
    if view is None or not isinstance(root, int) or not 0 <= root < state.rank.size:
        return None
    data = view.cast("B")
    comm.Bcast(data, root)
    return {root: bytes(data)}


def _allgather(state: State, comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Any:
    mine, into = _view(sendbuf, False), _view(recvbuf, True)
    if mine is None or into is None or into.nbytes != mine.nbytes * state.rank.size:
        return None
    place = into.cast("B")
    comm.Allgather(mine.cast("B"), place)
    return Blocks(bytes(place), mine.nbytes)


def _allreduce(state: State, comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Any:
    mine, into, size = _view(sendbuf, False), _view(recvbuf, True), state.rank.size
    if mine is None or into is None or mine.format != into.format or len(mine) != len(into):
        return None
    count, length = len(mine), mine.nbytes
    if length * size > SMALL or not isinstance(op, MPI.Op) or not op.is_predefined:
        return None
    datatype = MPI.Datatype.fromcode(mine.format)
    if (op.handle, datatype.handle) not in _added:
        state.rank.reader.check_sum(datatype, op)
        _added.add((op.handle, datatype.handle))
    whole = bytearray(length * size)
    comm.Allgather(mine.cast("B"), whole)
    sums = memoryview(bytearray(whole))
    part = sums[:length]
    for first in range(length, length * size, length):
        before, part = part, sums[first : first + length]
        op.Reduce_local([before, count, datatype], [part, count, datatype])
    into.cast("B")[:] = part
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
