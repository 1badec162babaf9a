"""How MPI says that a process has failed, and the memory of messages that never end."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_ABANDONED: list[tuple[Any, Any]] = []
_NAP = 1e-3  # seconds between two last looks


def deaths(mpi: Any) -> tuple[int, ...]:
    """Return the error classes by which MPI says that a process has failed; under other names when it notices by its socket."""
    names = ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_OTHER", "ERR_INTERN", "ERR_UNKNOWN")
    return tuple(getattr(mpi, name) for name in names if hasattr(mpi, name))


def is_proof(mpi: Any, error: Any) -> bool:
    """Return whether an error proves that the process has failed; else it may be a socket that broke."""
    return error.Get_error_class() in (mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING)


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


def has_ended(mpi: Any, request: Any, status: Any = None) -> bool | None:
    """Return whether a message has ended; None when it failed."""
    try:
        return bool(request.Test(status))
    except mpi.Exception:
        return None


def cancel(mpi: Any, request: Any) -> None:
    """Cancel a message that is to be received, where MPI still can."""
    with suppress(mpi.Exception):
        request.Cancel()


def abandon(mpi: Any, messages: Iterable[tuple[Any, Any]], looks: int = 1) -> None:
    """Look a last few times at messages for which nobody waits; of those that never end, keep the memory: MPI may use it.

    ``messages``: requests, each with its memory. A wait would not do: what a cut link has broken off never ends.
    """
    left = list(messages)
    for look in range(looks):
        left = [each for each in left if has_ended(mpi, each[0]) is False]
        if not left:
            return
        if look:
            time.sleep(_NAP)
    _ABANDONED.extend(left)
