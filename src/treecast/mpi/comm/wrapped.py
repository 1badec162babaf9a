"""The communicator: mpi4py's own class, with treecast's way to carry out collectives put before MPI's."""

from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any

from mpi4py import MPI

from treecast.errors import PlanError
from treecast.mpi.comm.last import Last

BLOCKING = (
    *("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Barrier", "Bcast", "Exscan"),
    *("Gather", "Gatherv", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Scatter", "Scatterv"),
)
OBJECTS = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "exscan", "gather", "reduce", "scan", "scatter")


class Comm(MPI.Intracomm):
    """A communicator of mpi4py whose collectives treecast carries out where that gains something, and MPI elsewhere.

    It has the handle of the communicator that it was made from, and goes wherever that one goes. ``treecast.mpi.wrap`` makes it.
    Communicators made from it by Dup, Clone, Idup, Split, Split_type, Create, Create_group and Shrink are of its kind too.

    Examples
    --------
    >>> comm = treecast.mpi.wrap(MPI.COMM_WORLD)                    # doctest: +SKIP
    >>> comm.Bcast(data, root=0)                                    # doctest: +SKIP
    >>> comm.last.way                                               # doctest: +SKIP
    'MPI'
    """

    _last: tuple[tuple[int, ...], str, str, float, float] = ((), "", "", 0.0, 0.0)

    @classmethod
    def around(cls, comm: Any) -> "Comm":
        """Return a communicator as one of this class. Raises PlanError for one that has no ranks of one group."""
        if not isinstance(comm, MPI.Comm):
            raise PlanError(
                f"a communicator of mpi4py can be wrapped, not {type(comm).__name__}: give MPI.COMM_WORLD, say"
            )
        if comm == MPI.COMM_NULL:
            raise PlanError("COMM_NULL cannot be wrapped: it has no ranks")
        if comm.Is_inter():
            raise PlanError("an intercommunicator cannot be wrapped: Merge makes an intracommunicator of it")
        return cls(comm)

    @property
    def last(self) -> Last:
        """What became of the last collective that was called on this object."""
        failed, way, network, began, ended = self._last
        return Last(failed, way, network, ended - began)

    def _like_this(self, made: MPI.Comm) -> Any:
        """Return a new communicator as one of this class, or as it is when it has no ranks here."""
        return made if made == MPI.COMM_NULL else type(self)(made)

    def Create(self, group: MPI.Group) -> Any:  # noqa: N802, D102
        return self._like_this(super().Create(group))

    def Create_group(self, group: MPI.Group, tag: int = 0) -> Any:  # noqa: N802, D102
        return self._like_this(super().Create_group(group, tag))

    def Split(self, color: int = 0, key: int = 0) -> Any:  # noqa: N802, D102
        return self._like_this(super().Split(color, key))

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Any:  # noqa: N802, D102
        return self._like_this(super().Split_type(split_type, key, info))

    def Shrink(self) -> Any:  # noqa: N802, D102
        return self._like_this(super().Shrink())


def _timed(name: str) -> Callable[..., Any]:
    """Return a method that calls MPI's and keeps in ``last`` that it did."""
    parent = getattr(MPI.Intracomm, name)

    @wraps(parent)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        began = perf_counter()
        result = parent(self, *arguments, **named)
        self._last = ((), "MPI", "", began, perf_counter())
        return result

    return method


for _name in (*BLOCKING, *OBJECTS):
    setattr(Comm, _name, _timed(_name))
