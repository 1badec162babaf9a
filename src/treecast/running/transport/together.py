"""Calls of all ranks at once on little data, where a carrier has them: they are its fastest, as long as nobody has failed."""

from collections.abc import Sequence
from typing import Any

from treecast.running.transport.base import Piece, Ticket


class Together:
    """Calls of all ranks at once, which all make in the same order.

    A ticket that is lost: this rank has nothing of it. A call that fails, at one rank or at several, ends these calls at all
    ranks. Nobody waits in one for who does not come. ``is_over``: they have ended.
    """

    is_over = False

    def broadcast(self, data: Piece, root: int) -> Ticket:
        """Bring the bytes of the root to all."""
        raise NotImplementedError

    def allgather(self, mine: Piece, whole: Piece, lengths: Sequence[int]) -> Ticket:
        """Bring blocks of these lengths to all, one behind the other."""
        raise NotImplementedError

    def alltoall(self, out: Piece, lengths: Sequence[int], into: Piece, length: int) -> Ticket:
        """Bring a block to each rank, of these lengths; those that come have one length."""
        raise NotImplementedError

    def allreduce(self, mine: Piece, out: Piece, how: Any) -> Ticket:
        """Bring the sum of all contributions, whose bits no order changes, to all; ``how``: see ``algorithms.sums.Sums``."""
        raise NotImplementedError

    def end(self) -> None:
        """End these calls at all ranks."""
        raise NotImplementedError
