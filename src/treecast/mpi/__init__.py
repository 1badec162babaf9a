"""Collectives on communicators of mpi4py: a communicator that takes the place of another, and survives failures.

>>> import treecast.mpi                                             # doctest: +SKIP
>>> comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=2)             # doctest: +SKIP
>>> comm.Bcast(buffer, root=0)                                      # doctest: +SKIP
>>> treecast.mpi.Bcast(MPI.COMM_WORLD, buffer, root=0, survive=2)   # doctest: +SKIP
()

``wrap`` makes a communicator that goes wherever an ``MPI.Intracomm`` goes. Its collectives on buffers are also functions of this
module, by their names: ``Bcast``, ``Allgatherv``, ``Reduce_scatter`` and so on. A function takes a communicator, the arguments of
mpi4py's method, and the keywords ``survive``, ``deadline``, ``network`` and ``on_failed`` as ``wrap`` takes them. It makes one
call, and returns the ranks whose data did not come because they have failed: a tuple, empty when all is well. It raises the
errors of the method: DeliveryError when data of a living rank is missing, PlanError when so many failures cannot be survived.

The modules that do the work are imported at the first call: starting ranks needs neither numpy nor mpi4py.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treecast.errors import DeliveryError, Evicted
from treecast.mpi.comm.options import FOR_ONE_CALL, Options

if TYPE_CHECKING:
    from treecast.mpi.comm.wrapped import Comm

__all__ = ["Comm", "DeliveryError", "Evicted", "wrap"]


def __getattr__(name: str) -> Any:
    if name == "Comm":
        return _wrapped().Comm
    from treecast.calls.collectives import ROWS

    if name in ROWS:
        return _for_one_call(name, ROWS[name].make.__doc__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _wrapped() -> Any:
    """Return the module of the class; mpi4py is imported, and MPI starts, when it is first asked for."""
    from treecast.mpi.library import load_mpi

    load_mpi()
    from treecast.mpi.comm import wrapped

    return wrapped


def _for_one_call(name: str, summary: str | None) -> Callable[..., tuple[int, ...]]:
    """Return the function that wraps a communicator and calls a method of it, once."""

    def function(comm: Any, *arguments: Any, **named: Any) -> tuple[int, ...]:
        given: dict[str, Any] = {"on_failed": "ignore"}  # the returned tuple says it
        given |= {option: named.pop(option) for option in FOR_ONE_CALL & named.keys()}
        once = _wrapped().around(comm, Options(**given))
        getattr(once, name)(*arguments, **named)
        failed: tuple[int, ...] = once.last.failed
        return failed

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary} See ``treecast.mpi``."
    return function


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
        The network between the ranks, rank r at node r (``torus:4x8``, or a graph with its nodes in that order); long calls go
        down its trees. By default ranks on several hosts have one port each, that of their host, behind a switch.
    on_error : str
        The effect of an exception that nobody catches, or ``sys.exit`` with a status, on one rank: ``abort`` ends the job,
        ``die`` counts as the death of this rank.
    on_failed : str
        The end of a call that misses data of the dead. ``warn``: the lowest living rank prints a line, once for each of
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
    from treecast.jobs.ending import end_with_the_job
    from treecast.mpi.library import load_mpi

    options = Options(survive, deadline, network, on_error, own, on_failed)
    made: Comm = _wrapped().around(comm, options, together=True)
    mpi = load_mpi()
    end_with_the_job(on_error, mpi.Is_finalized, mpi.Intracomm(mpi.COMM_WORLD).Abort)
    return made
