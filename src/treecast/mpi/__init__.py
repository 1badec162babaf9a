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
from typing import TYPE_CHECKING, Any, Unpack

from treecast.errors import DeliveryError, Evicted, UnlikeCallsError
from treecast.running.groups.terms import OVER_MPI, Said, Terms

if TYPE_CHECKING:
    from treecast.mpi.comm.wrapped import Comm

_FOR_ONE_CALL = frozenset({"survive", "deadline", "network", "on_failed"})
__all__ = ["Comm", "DeliveryError", "Evicted", "UnlikeCallsError", "wrap"]


def __getattr__(name: str) -> Any:
    if name == "Comm":
        return _wrapped().Comm
    from treecast.running.calls.collectives import ROWS

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
        given |= {term: named.pop(term) for term in _FOR_ONE_CALL & named.keys()}
        once = _wrapped().around(comm, Terms.of(given, OVER_MPI))
        getattr(once, name)(*arguments, **named)
        failed: tuple[int, ...] = once.last.failed
        return failed

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary} See ``treecast.mpi``."
    return function


def wrap(comm: Any, *, own: bool = False, **terms: Unpack[Said]) -> "Comm":
    """Return a communicator whose collectives treecast carries out where that gains something, and MPI elsewhere.

    It has the same handle, is a ``mpi4py.MPI.Intracomm``, and goes wherever one goes.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The communicator; all its ranks call this, on the same terms.
    own : bool
        Whether every call goes treecast's way, also where MPI's is faster: for tests.
    **terms
        What becomes of calls when ranks fail: ``survive=0, deadline=None, late=None, sure=False, on_failed="warn",
        on_error="abort", sums="any", network=None``. ``treecast.running.groups.terms.Terms`` explains them. To survive failures
        the job has to run under fault tolerance: ``treecast launch``. By default ranks on several hosts have one port each, that
        of their host, behind a switch.

    Returns
    -------
    Comm
        The communicator; ``last`` tells of the last collective on it.

    Raises
    ------
    PlanError
        The terms make no sense, or differ, or it is no communicator with ranks of one group.

    Examples
    --------
    >>> comm = wrap(MPI.COMM_WORLD, survive=1)                      # doctest: +SKIP
    >>> comm.Bcast(data, root=0)                                    # doctest: +SKIP
    """
    from treecast.mpi.library import load_mpi
    from treecast.running.jobs.ending import end_with_the_job

    # ``together``: little data by MPI's own calls
    made: Comm = _wrapped().around(comm, Terms.of(terms, OVER_MPI), own=own, together=True)
    mpi = load_mpi()
    end_with_the_job(made.terms.on_error, mpi.Is_finalized, mpi.Intracomm(mpi.COMM_WORLD).Abort)
    return made
