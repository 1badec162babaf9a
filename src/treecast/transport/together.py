"""Calls of MPI itself on little data, as long as nobody has failed."""

from collections.abc import Callable, Sequence
from typing import Any

from treecast.transport.base import Piece, Ticket


class Together:
    """Calls on little data that MPI carries out for all ranks at once, as long as nobody has failed: it is the fastest.

    A ticket that is lost: this rank has nothing of it. A call that fails, at one rank or at several, ends these calls at all
    ranks (``MPI_Comm_revoke``). Nobody waits in one for who does not come.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        self._mpi, self.comm, self.is_over = mpi, comm, False

    def broadcast(self, data: Piece, root: int, waits: bool = False) -> Ticket:
        """Bring the bytes of the root to all; ``waits``: not before all are there."""
        if waits:
            self._call(self.comm.Barrier)
        return self._call(self.comm.Bcast, [data, len(data), self._mpi.BYTE], root)

    def allgather(self, mine: Piece, whole: Piece, lengths: Sequence[int]) -> Ticket:
        """Bring blocks of these lengths to all, one behind the other."""
        byte = self._mpi.BYTE
        if lengths.count(lengths[0]) == len(lengths):
            return self._call(self.comm.Allgather, [mine, len(mine), byte], [whole, lengths[0], byte])
        return self._call(self.comm.Allgatherv, [mine, len(mine), byte], [whole, lengths, byte])

    def alltoall(self, out: Piece, lengths: Sequence[int], into: Piece, length: int) -> Ticket:
        """Bring a block to each rank, of these lengths; those that come have one length."""
        byte = self._mpi.BYTE
        return self._call(self.comm.Alltoallv, [out, lengths, byte], [into, [length] * len(lengths), byte])

    def allreduce(self, mine: Piece, out: Piece, how: Any) -> Ticket:
        """Bring the sum of all contributions, whose bits no order changes, to all; ``how``: see ``algorithms.sums.Sums``."""
        return self._call(
            self.comm.Allreduce, [mine, how.entries, how.datatype], [out, how.entries, how.datatype], how.op
        )

    def _call(self, call: Callable[..., None], *arguments: Any) -> Ticket:
        ticket = Ticket()
        if not self.is_over:
            try:
                call(*arguments)
            except self._mpi.Exception:
                self.end()
        ticket.end(lost=self.is_over)
        return ticket

    def end(self) -> None:
        """End these calls at all ranks."""
        if not self.is_over:
            self.is_over = True
            self.comm.Revoke()
