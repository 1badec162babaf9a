"""The calls of all ranks at once that MPI has, as far as they tell of a death.

Not so Open MPI 5.0's Allgatherv: the first one on a communicator after a death returns as any, and brings nothing.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from time import perf_counter
from typing import Any

from treecast.running.groups.memory import scratch
from treecast.running.transport.base import Piece, Ticket
from treecast.running.transport.together import Together


def allgather(comm: Any, mine: Piece, whole: Piece, lengths: Sequence[int]) -> None:
    """Gather at all ranks, in rows of one length, to which shorter blocks are filled up."""
    if lengths.count(length := max(lengths)) == len(lengths):
        comm.Allgather(mine, whole)
        return
    rows = scratch(length * len(lengths))
    comm.Allgather(bytes(mine).ljust(length, b"\0"), rows)
    whole[:] = b"".join([rows[k * length : k * length + count] for k, count in enumerate(lengths)])


def alltoall(comm: Any, out: Piece, lengths: Sequence[int], into: Piece, length: int) -> None:
    """Exchange blocks of these lengths, of which so many bytes come from each rank, in the same way."""
    if lengths.count(length) == len(lengths):
        comm.Alltoall(out, into)
    else:
        comm.Alltoallv([out, lengths], [into, [length] * len(lengths)])


class MpiTogether(Together):
    """MPI's own collectives, on a duplicate that nobody else uses; a failure revokes it (``MPI_Comm_revoke``).

    ``lock``: is free meanwhile, so that a side thread hears others, who may make another call. ``under_way``: when the call began
    that this rank is in.
    """

    under_way: float | None = None

    def __init__(self, mpi: Any, comm: Any, lock: Lock) -> None:
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        self._mpi, self.comm, self._lock = mpi, comm, lock

    def broadcast(self, data: Piece, root: int) -> Ticket:
        """Broadcast."""
        return self.go(self.comm.Bcast, [data, len(data), self._mpi.BYTE], root)

    def allgather(self, mine: Piece, whole: Piece, lengths: Sequence[int]) -> Ticket:
        """Gather at all."""
        return self.go(allgather, self.comm, mine, whole, lengths)

    def alltoall(self, out: Piece, lengths: Sequence[int], into: Piece, length: int) -> Ticket:
        """Exchange blocks."""
        return self.go(alltoall, self.comm, out, lengths, into, length)

    def allreduce(self, mine: Piece, out: Piece, how: Any) -> Ticket:
        """Add by MPI's own operation."""
        return self.go(self.comm.Allreduce, [mine, how.entries, how.datatype], [out, how.entries, how.datatype], how.op)

    def go(self, call: Callable[..., None], *arguments: Any) -> Ticket:
        """Make a call on ``comm``."""
        ticket = Ticket()
        if not self.is_over:
            self.under_way = perf_counter()
            # MPI waits in here as long as the slowest rank takes. Only a side thread can answer others then, and end
            # the call.
            self._lock.release()
            try:
                call(*arguments)
            # Whatever failed here, the others have to leave the call, too: revoking ends it at all of them.
            except self._mpi.Exception:
                self.end()
            finally:
                self._lock.acquire()
                self.under_way = None
        ticket.end(lost=self.is_over)
        return ticket

    def end(self) -> None:
        """Revoke the communicator."""
        if not self.is_over:
            self.is_over = True
            self.comm.Revoke()
