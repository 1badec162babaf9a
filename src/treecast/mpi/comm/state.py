"""What treecast keeps of a communicator: it hangs on the handle, and goes when the communicator is freed."""

from itertools import count

from mpi4py import MPI

from treecast.mpi.arguments.reader import Reader
from treecast.mpi.comm.jobs import Rank
from treecast.mpi.comm.marks import Mark
from treecast.mpi.comm.worker import Worker
from treecast.mpi.ways.call import Call


class State:
    """What the calls on one communicator share.

    ``take_number()``: the number of the next collective. ``call``: over a duplicate of the communicator, which all ranks make
    together when it is first needed; ``mark`` tells the launcher of it. ``near``: whether all ranks share one memory.
    ``worker``: for nonblocking calls.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = MPI.Intracomm(comm)
        self.take_number = count(1).__next__
        self.size = int(comm.size)
        self.rank = Rank(MPI, Reader(MPI, comm.size), comm.rank, comm.size)
        self.near = False
        self.worker = Worker()
        self._call: Call | None = None
        self.mark: Mark | None = None

    @property
    def begun(self) -> Call | None:
        """The call of this communicator, if it was asked for before."""
        return self._call

    @property
    def call(self) -> Call:
        """The call of this communicator. Collective when it is first asked for."""
        if self._call is None:
            here = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
            self.near = here.size == self.comm.size
            here.Free()
            self._call = Call(MPI, self.comm.Dup())
            self.mark = Mark(self.comm)
        return self._call

    def free(self) -> None:
        """Free what is kept of MPI; after a death the duplicate stays, since freeing it could wait for ever."""
        self.worker.stop()
        self.rank.reader.free()
        if self._call is not None and not self._call.fallen:
            self._call.free()


_KEY: list[int] = []  # under which a communicator keeps its state


def state_of(comm: MPI.Comm) -> State:
    """Return the state of a communicator, which is made when it is first asked for."""
    if not _KEY:
        _KEY.append(MPI.Comm.Create_keyval(delete_fn=_forget))
    found = comm.Get_attr(_KEY[0])
    if not isinstance(found, State):
        found = State(comm)
        comm.Set_attr(_KEY[0], found)
    return found


def _forget(comm: MPI.Comm, key: int, state: State) -> None:
    if not MPI.Is_finalized():
        state.free()
