"""How MPI says that a process has failed, and the memory of messages that never end."""

from collections.abc import Iterable
from typing import Any

_ABANDONED: list[tuple[Any, Any]] = []


def failed_ranks(mpi: Any, comm: Any) -> list[int]:
    """Return the ranks of a communicator that are known to have failed; none where MPI cannot tell."""
    try:
        comm.Ack_failed()
        failed = comm.Get_failed()
        count = failed.Get_size()
        found: list[int] = mpi.Group.Translate_ranks(failed, list(range(count)), comm.Get_group()) if count else []
        failed.Free()
    except (mpi.Exception, NotImplementedError, AttributeError):
        return []
    return [int(rank) for rank in found if rank >= 0]


def is_under_way(mpi: Any, request: Any) -> bool:
    """Return whether a message has neither ended nor failed."""
    try:
        return not request.Test()
    except mpi.Exception:
        return False


def abandon(mpi: Any, messages: Iterable[tuple[Any, Any]]) -> None:
    """Keep the memory of messages for which nobody waits until they have ended: MPI may use it. Some never do.

    ``messages``: requests, each with its memory. A wait would not do: a message that a cut link has broken off never ends.
    """
    _ABANDONED[:] = [each for each in (*_ABANDONED, *messages) if is_under_way(mpi, each[0])]
