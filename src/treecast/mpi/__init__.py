"""Collectives on communicators of mpi4py: a communicator that takes the place of another, and survives failures.

>>> import treecast.mpi                                             # doctest: +SKIP
>>> comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=2)             # doctest: +SKIP
>>> comm.Bcast(buffer, root=0)                                      # doctest: +SKIP
>>> treecast.mpi.Bcast(MPI.COMM_WORLD, buffer, root=0, survive=2)   # doctest: +SKIP

``wrap`` makes a communicator that goes wherever an ``MPI.Intracomm`` goes. The functions call one of its methods, once, with
``survive``, ``deadline`` and ``network`` as ``wrap`` takes them. Arguments are those of mpi4py's methods, and so are the errors
for wrong ones. Each function returns the ranks whose data did not come because they have failed (a tuple, empty when all is
well), and raises DeliveryError when more is missing.

What does the work is imported when it is first called: starting ranks needs neither numpy nor mpi4py.
"""

from typing import TYPE_CHECKING, Any, Unpack

from treecast.errors import DeliveryError as DeliveryError
from treecast.mpi.comm.options import Keywords, Options

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


def _around(comm: Any, options: Options, *, together: bool = False) -> "Comm":
    """Return a communicator as one of treecast's, when its ranks are of one group."""
    from treecast.mpi.library import load_mpi

    load_mpi()
    from treecast.mpi.comm.wrapped import around

    return around(comm, options, together=together)


def _call(comm: Any, name: str, options: Keywords, *arguments: Any) -> tuple[int, ...]:
    """Call a method of a wrapped communicator; return the ranks that failed and whose data did not come."""
    given: Keywords = {"on_failed": "ignore", **options}  # what is returned says it
    wrapped = _around(comm, Options(**given))
    getattr(wrapped, name)(*arguments)
    return wrapped.last.failed


def wrap(
    comm: Any,
    survive: int = 0,
    deadline: float | None = None,
    network: Any = None,
    *,
    on_error: str = "abort",
    on_failed: str = "warn",
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
    network : str, Network or networkx.Graph, optional
        What joins the ranks, rank r at node r (``torus:4x8``, or a graph with its nodes in that order); long calls go down its
        trees. By default ranks on several hosts have one port each, that of their host, behind a switch.
    on_error : str
        What an exception that nobody catches, or ``sys.exit`` with a status, does on one rank: ``abort`` ends the job, ``die``
        counts as the death of this rank.
    on_failed : str
        What becomes of a call that misses data of the dead. ``warn``: the lowest living rank prints a line, once for each of
        them, and allgather, alltoall and gather raise DeliveryError at all ranks. ``raise``: all calls do. ``ignore``: none.
    own : bool
        Whether every call goes treecast's way, also where MPI's is faster: for tests.

    Returns
    -------
    Comm
        The communicator; ``last`` tells of the last collective on it.

    Raises
    ------
    PlanError
        The options make no sense, or differ, or it is no communicator with ranks of one group.

    Examples
    --------
    >>> comm = wrap(MPI.COMM_WORLD, survive=1)                      # doctest: +SKIP
    >>> comm.Bcast(data, root=0)                                    # doctest: +SKIP
    """
    from treecast.mpi.comm.ending import end_with_the_job
    from treecast.mpi.library import load_mpi

    wrapped = _around(comm, Options(survive, deadline, network, on_error, own, on_failed), together=True)
    end_with_the_job(on_error, load_mpi())
    return wrapped


def Bcast(comm: Any, buf: Any, root: int = 0, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        The failed ranks whose data did not come: always empty, since only the root has any.

    Raises
    ------
    DeliveryError
        The root has failed, or more ranks than ``survive``, and data is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Bcast(comm, np.arange(10), root=0, survive=2)               # doctest: +SKIP
    ()
    """
    return _call(comm, "Bcast", options, buf, root)


def Allgather(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        The failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Allgather(comm, np.array([comm.rank]), np.empty(comm.size, int), survive=1)  # doctest: +SKIP
    ()
    """
    return _call(comm, "Allgather", options, sendbuf, recvbuf)


def Alltoall(comm: Any, sendbuf: Any, recvbuf: Any, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        The failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Alltoall(comm, np.arange(comm.size), np.empty(comm.size, int))  # doctest: +SKIP
    ()
    """
    return _call(comm, "Alltoall", options, sendbuf, recvbuf)


def Scatter(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        Always empty: only the root has data.

    Raises
    ------
    DeliveryError
        This rank's block is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Scatter(comm, np.arange(comm.size), np.empty(1, int), root=0)  # doctest: +SKIP
    ()
    """
    return _call(comm, "Scatter", options, sendbuf, recvbuf, root)


def Gather(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        At the root, the failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Gather(comm, np.array([comm.rank]), np.empty(comm.size, int), root=0)  # doctest: +SKIP
    ()
    """
    return _call(comm, "Gather", options, sendbuf, recvbuf, root)


def Allreduce(  # noqa: N802
    comm: Any, sendbuf: Any, recvbuf: Any, op: Any = None, **options: Unpack[Keywords]
) -> tuple[int, ...]:
    """Combine every rank's buffer, item by item, and bring the result to all ranks.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; all its ranks call this.
    sendbuf : buffer
        This rank's contribution, or MPI.IN_PLACE when it is in ``recvbuf`` already.
    recvbuf : buffer
        Where the result goes; as long as ``sendbuf``.
    op : mpi4py.MPI.Op
        The operation; MPI.SUM by default.
    **options
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        Always empty.

    Raises
    ------
    DeliveryError
        Some contribution is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Allreduce(comm, np.ones(4), np.empty(4))                    # doctest: +SKIP
    ()
    """
    return _call(comm, "Allreduce", options, sendbuf, recvbuf, *(() if op is None else (op,)))


def Scatterv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        Always empty: only the root has data.

    Raises
    ------
    DeliveryError
        This rank's block is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Scatterv(comm, [data, counts, None, MPI.DOUBLE], own, root=0)  # doctest: +SKIP
    ()
    """
    return _call(comm, "Scatterv", options, sendbuf, recvbuf, root)


def Gatherv(comm: Any, sendbuf: Any, recvbuf: Any, root: int = 0, **options: Unpack[Keywords]) -> tuple[int, ...]:  # noqa: N802
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
        ``survive``, ``deadline``, ``network``: see ``wrap``.

    Returns
    -------
    tuple of int
        At the root, the failed ranks whose block did not come.

    Raises
    ------
    DeliveryError
        The block of a living rank is missing.
    PlanError
        The job, or the network, cannot survive so many failures.

    Examples
    --------
    >>> Gatherv(comm, own, [data, counts, None, MPI.DOUBLE], root=0)  # doctest: +SKIP
    ()
    """
    return _call(comm, "Gatherv", options, sendbuf, recvbuf, root)
