"""The communicator whose calls survive nothing: short ones are MPI's, and cost next to nothing beside that.

MPI broadcasts eight bytes in a few microseconds, in which Python can do little. So these methods have the parameters of MPI's,
look at the bytes of one argument, and call MPI's; all else is left to the methods that they stand before.
"""

from time import perf_counter
from typing import Any

from mpi4py import MPI

from treecast.errors import PlanError
from treecast.mpi.comm.options import Options, check_options
from treecast.mpi.comm.wrapped import BY_MPI, Comm
from treecast.mpi.ways.thresholds import least_bytes

_IN_PLACE: Any = MPI.IN_PLACE
_bcast, _scatter, _gather = MPI.Intracomm.Bcast, MPI.Intracomm.Scatter, MPI.Intracomm.Gather
_allgather, _allgatherv, _alltoall = MPI.Intracomm.Allgather, MPI.Intracomm.Allgatherv, MPI.Intracomm.Alltoall
_reduce, _allreduce = MPI.Intracomm.Reduce, MPI.Intracomm.Allreduce
_reduce_scatter, _reduce_scatter_block = MPI.Intracomm.Reduce_scatter, MPI.Intracomm.Reduce_scatter_block
_LISTS = frozenset({list, tuple})


def around(comm: Any, options: Options, *, together: bool = False) -> Comm:
    """Return a communicator as one of treecast's. Raises PlanError for one that has no ranks of one group.

    ``together``: all ranks call this now, and each says its options to the others first.
    """
    if not isinstance(comm, MPI.Comm):
        raise PlanError(f"a communicator of mpi4py can be wrapped, not {type(comm).__name__}: give MPI.COMM_WORLD, say")
    if comm == MPI.COMM_NULL:
        raise PlanError("COMM_NULL cannot be wrapped: it has no ranks")
    if comm.Is_inter():
        raise PlanError("an intercommunicator cannot be wrapped: Merge makes an intracommunicator of it")
    if together:
        check_alike(comm, options)
    kind = Comm if check_options(options).straight_always else PlainComm
    return kind(comm).with_options(options)


def check_alike(comm: MPI.Comm, options: Options) -> None:
    """Raise PlanError at all ranks when they have different options, or some that make no sense. Collective."""
    wrong: list[PlanError] = []
    try:
        check_options(options)
    except PlanError as error:
        wrong.append(error)
    said = None if wrong else str(options._replace(network=str(options.network)))
    everyone = set(MPI.Intracomm(comm).allgather(said))
    for error in wrong:
        raise error
    if len(everyone) > 1:
        raise PlanError("the ranks of a communicator wrap it with the same options")


def is_short(argument: Any, least: int) -> bool:
    """Return whether it is plain at once that an argument, if it is right, has fewer bytes.

    A buffer has at least as many as are written of it, but for entries that overlap.
    """
    try:
        if type(argument) in _LISTS:
            return bool(argument[0].nbytes < least and argument[-1].is_predefined)
        return bool(argument.nbytes < least)
    except (AttributeError, IndexError):
        return _is_short_otherwise(argument, least)


def _is_short_otherwise(argument: Any, least: int) -> bool:
    buffer = argument
    if type(argument) in _LISTS and len(argument) > 1:
        buffer, *_, last = argument
        if isinstance(last, MPI.Datatype) and not last.is_predefined:
            return False
    try:
        return memoryview(buffer).nbytes < least
    except (TypeError, BufferError):
        return False


class PlainComm(Comm):
    """A wrapped communicator that survives nothing: calls below their thresholds are MPI's.

    Each method looks at an argument that has all the bytes of the call, or a rank's share of them.
    """

    def Bcast(self, buf: Any, root: int = 0) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(buf, self._least["Bcast"]):
            _bcast(self, buf, root)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Bcast", number, (buf, root))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf, self._least["Allgather"]):
            _allgather(self, sendbuf, recvbuf)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Allgather", number, (sendbuf, recvbuf))

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf, self._least["Allgatherv"]):
            _allgatherv(self, sendbuf, recvbuf)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Allgatherv", number, (sendbuf, recvbuf))

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf, self._least["Alltoall"]):
            _alltoall(self, sendbuf, recvbuf)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Alltoall", number, (sendbuf, recvbuf))

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(sendbuf if recvbuf is _IN_PLACE else recvbuf, self._least["Scatter"] // self.size):
            _scatter(self, sendbuf, recvbuf, root)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Scatter", number, (sendbuf, recvbuf, root))

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf if sendbuf is _IN_PLACE else sendbuf, self._least["Gather"] // self.size):
            _gather(self, sendbuf, recvbuf, root)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Gather", number, (sendbuf, recvbuf, root))

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf, self._least["Allreduce"]):
            _allreduce(self, sendbuf, recvbuf, op)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Allreduce", number, (sendbuf, recvbuf, op))

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf if sendbuf is _IN_PLACE else sendbuf, self._least["Reduce"]):
            _reduce(self, sendbuf, recvbuf, op, root)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Reduce", number, (sendbuf, recvbuf, op, root))

    def Reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = MPI.SUM) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf if sendbuf is _IN_PLACE else sendbuf, self._least["Reduce_scatter"]):
            _reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Reduce_scatter", number, (sendbuf, recvbuf, recvcounts, op))

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:  # noqa: N802, D102
        began, number = perf_counter(), self._take_number()
        if is_short(recvbuf if sendbuf is _IN_PLACE else sendbuf, self._least["Reduce_scatter_block"]):
            _reduce_scatter_block(self, sendbuf, recvbuf, op)
            self._last = began, perf_counter()
        else:
            self._go_by_size("Reduce_scatter_block", number, (sendbuf, recvbuf, op))

    @classmethod
    def add_methods(cls) -> None:
        """Leave to MPI what is never treecast's where nothing is to be survived."""
        for name in BY_MPI.keys() - least_bytes(near=True):
            setattr(cls, name, BY_MPI[name])


PlainComm.add_methods()
