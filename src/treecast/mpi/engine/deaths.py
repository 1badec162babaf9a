"""How MPI says that a process has failed."""

from typing import Any


def deaths(mpi: Any) -> tuple[int, ...]:
    """Return the error classes by which MPI says that a process has failed; under other names when it notices by its socket."""
    names = ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_OTHER", "ERR_INTERN", "ERR_UNKNOWN")
    return tuple(getattr(mpi, name) for name in names if hasattr(mpi, name))


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
