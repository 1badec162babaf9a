"""Collectives on a communicator of mpi4py, over schedules of treecast: as its upper-case methods, and surviving failures.

>>> import treecast.mpi                                             # doctest: +SKIP
>>> treecast.mpi.Bcast(comm, buffer, root=0, survive=2)             # doctest: +SKIP

Every rank of the communicator calls the same function. Buffers are those of mpi4py's upper-case methods: contiguous arrays or
bytes, ``[buffer, count, datatype]``, MPI.IN_PLACE. Each function returns the ranks whose data did not come because they have
failed (a tuple, empty when all is well), and raises DeliveryError when more is missing. The keywords of each function:

``survive``: how many failures of ranks, which nobody knows of, must keep no data of a living rank from the living; 0 by default.
The job has to run under fault tolerance for that: ``treecast launch``.
``deadline``: seconds without any message after which the links that a rank waits for count as cut; by default it waits for ever.
``network``: what joins the ranks, rank r at node r (``torus:4x8``, a Network, a networkx graph with its nodes in that order); by
default a complete network in one memory, else one of the papers that has so many nodes.

PlanError and NetworkError are raised before any data is sent, for what cannot be done.

What does the work is imported when a function is first called: starting ranks needs neither numpy nor mpi4py.
"""

from typing import TYPE_CHECKING, Any, Unpack

from treecast.mpi.api.options import Asked, Options

if TYPE_CHECKING:
    from treecast.mpi.comm.wrapped import Comm

__all__ = ["Allgather", "Allreduce", "Alltoall", "Bcast", "Comm", "Gather", "Gatherv", "Scatter", "Scatterv", "wrap"]


def __getattr__(name: str) -> Any:
    if name == "Comm":
        return _comm()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _comm() -> "type[Comm]":
    """Return the class; mpi4py is imported, and MPI starts, when it is first asked for."""
    from treecast.mpi.library import load_mpi

    load_mpi()
    from treecast.mpi.comm.wrapped import Comm

    return Comm


def wrap(
    comm: Any,
    survive: int = 0,
    deadline: float | None = None,
    *,
    own: bool = False,
) -> "Comm":
    """Return a communicator whose collectives treecast carries out where that gains something, and MPI elsewhere.

    It has the same handle, is a ``mpi4py.MPI.Intracomm``, and goes wherever one goes.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The communicator; all its ranks call this, with the same options.
    survive : int
        How many failures of ranks its collectives survive. The job has to run under fault tolerance for that:
        ``treecast launch``.
    deadline : float, optional
        Seconds without any message after which a rank that is waited for counts as silent; by default it is waited for for ever.
    own : bool
        Whether every call goes treecast's way, also where MPI's is faster: for tests.

    Returns
    -------
    Comm
        The communicator; ``last`` tells of the last collective on it.

    Raises
    ------
    PlanError
        The options make no sense, or it is no communicator with ranks of one group.

    Examples
    --------
    >>> comm = wrap(MPI.COMM_WORLD, survive=1)                      # doctest: +SKIP
    >>> comm.Bcast(data, root=0)                                    # doctest: +SKIP
    """
    from treecast.mpi.comm.options import Options

    return _comm().around(comm, Options(survive, deadline, own=own))


def Bcast(comm: Any, buf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring the buffer of the root to all ranks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    buf : buffer
        What the root sends and all others receive into; of one length on all ranks.
    root : int
        The rank that sends.
    **options
        ``survive``, ``deadline``, ``network``: see ``treecast.mpi``.

    Returns
    -------
    tuple of int
        The failed ranks whose data did not come: always empty, since only the root has any.

    Raises
    ------
    DeliveryError
        The root has failed, or more ranks than ``survive``, and data is missing.
    PlanError
        The root is no rank, or no schedule survives so many failures.

    Examples
    --------
    >>> Bcast(comm, np.arange(10), root=0, survive=2)               # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import blocks

    return blocks.broadcast(comm, buf, root, Asked(**options))


def Allgather(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring the block of every rank to all ranks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        This rank's block, or MPI.IN_PLACE when it is in ``recvbuf`` already.
    recvbuf : buffer
        Block h of it is that of rank h; all blocks are of one length.
    **options
        ``survive``, ``deadline``, ``network``: see ``treecast.mpi``.

    Returns
    -------
    tuple of int
        The failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The buffers do not fit together, or no schedule survives so many failures.

    Examples
    --------
    >>> Allgather(comm, np.array([comm.rank]), np.empty(comm.size, int), survive=1)  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import blocks

    return blocks.allgather(comm, sendbuf, recvbuf, Asked(**options))


def Alltoall(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Bring block v of every rank to rank v.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        Block v of it is for rank v; or MPI.IN_PLACE when the blocks are in ``recvbuf``.
    recvbuf : buffer
        Block h of it is the one from rank h; all blocks are of one length.
    **options
        ``survive``, ``deadline``, ``network``: see ``treecast.mpi``.

    Returns
    -------
    tuple of int
        The failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The buffers do not fit together, or no schedule survives so many failures.

    Examples
    --------
    >>> Alltoall(comm, np.arange(comm.size), np.empty(comm.size, int))  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import blocks

    return blocks.alltoall(comm, sendbuf, recvbuf, Asked(**options))


def Scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Deal out the root's buffer: rank v gets block v.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        At the root: block v of it is for rank v. Elsewhere it is not looked at.
    recvbuf : buffer
        What this rank receives into; at the root MPI.IN_PLACE leaves its block where it is.
    root : int
        The rank that sends.
    **options
        ``survive``, ``deadline``, ``network``: see ``treecast.mpi``.

    Returns
    -------
    tuple of int
        Always empty: only the root has data.

    Raises
    ------
    DeliveryError
        This rank's block is missing.
    PlanError
        The buffers do not fit together, or no schedule survives so many failures.

    Examples
    --------
    >>> Scatter(comm, np.arange(comm.size), np.empty(1, int), root=0)  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import blocks

    return blocks.scatter(comm, sendbuf, recvbuf, root, Asked(**options))


def Gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Collect every rank's buffer at the root.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        This rank's block; at the root MPI.IN_PLACE when it is in ``recvbuf`` already.
    recvbuf : buffer
        At the root: block h of it is that of rank h. Elsewhere it is not looked at.
    root : int
        The rank that receives.
    **options
        ``survive``, ``deadline``, ``network``: see ``treecast.mpi``.

    Returns
    -------
    tuple of int
        At the root, the failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The buffers do not fit together, or no schedule survives so many failures.

    Examples
    --------
    >>> Gather(comm, np.array([comm.rank]), np.empty(comm.size, int), root=0)  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import blocks

    return blocks.gather(comm, sendbuf, recvbuf, root, Asked(**options))


def Allreduce(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, op: Any = None, **options: Unpack[Options]
) -> tuple[int, ...]:
    """Combine every rank's buffer, item by item, and bring the result to all ranks.

    Floating-point numbers are added in the order in which they come.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        This rank's contribution, or MPI.IN_PLACE when it is in ``recvbuf`` already.
    recvbuf : buffer
        Where the result goes; as long as ``sendbuf``.
    op : mpi4py.MPI.Op
        A commutative operation; MPI.SUM by default.
    **options
        ``deadline``, ``network``: see ``treecast.mpi``. ``survive`` can only be 0.

    Returns
    -------
    tuple of int
        Always empty.

    Raises
    ------
    DeliveryError
        Some contribution is missing.
    PlanError
        The buffers do not fit together, the operation does not commute, or failures are to be survived.

    Examples
    --------
    >>> Allreduce(comm, np.ones(4), np.empty(4))                    # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import reductions

    return reductions.allreduce(comm, sendbuf, recvbuf, op, Asked(**options))


def Scatterv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Deal out the root's blocks of different lengths.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : [buffer, counts, places, datatype]
        At the root: how many items each rank gets, and at which item they begin. Elsewhere it is not looked at.
    recvbuf : buffer
        What this rank receives into; at the root MPI.IN_PLACE leaves its block where it is.
    root : int
        The rank that sends.
    **options
        ``deadline``, ``network``: see ``treecast.mpi``. ``survive`` can only be 0.

    Returns
    -------
    tuple of int
        Always empty: only the root has data.

    Raises
    ------
    DeliveryError
        This rank's block is missing.
    PlanError
        The buffer of some rank does not fit, or failures are to be survived.

    Examples
    --------
    >>> Scatterv(comm, [data, counts, None, MPI.DOUBLE], own, root=0)  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import varying

    return varying.scatterv(comm, sendbuf, recvbuf, root, Asked(**options))


def Gatherv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Options]) -> tuple[int, ...]:  # noqa: N802
    """Collect blocks of different lengths at the root.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        This rank's block; at the root MPI.IN_PLACE when it is in ``recvbuf`` already.
    recvbuf : [buffer, counts, places, datatype]
        At the root: how many items come from each rank, and at which item they go. Elsewhere it is not looked at.
    root : int
        The rank that receives.
    **options
        ``deadline``, ``network``: see ``treecast.mpi``. ``survive`` can only be 0.

    Returns
    -------
    tuple of int
        At the root, the failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The buffer of some rank does not fit, or failures are to be survived.

    Examples
    --------
    >>> Gatherv(comm, own, [data, counts, None, MPI.DOUBLE], root=0)  # doctest: +SKIP
    ()
    """
    from treecast.mpi.api import varying

    return varying.gatherv(comm, sendbuf, recvbuf, root, Asked(**options))
