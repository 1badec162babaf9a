"""Requests of nonblocking and persistent calls that survive failures."""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partialmethod
from typing import Any

from mpi4py import MPI

from treecast.running.calls.worker import Worker, done


class PendingError:
    """The error of a call, until it is told; ``asked``: by the request itself, so that MPI need not say so."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.asked = False

    def query(self, status: MPI.Status) -> None:
        """Tell Waitall and its like, which are MPI's, that the call has failed. Raises MPI's exception, with our text."""
        if self.error is not None and not self.asked:
            code = MPI.Add_error_code(MPI.Add_error_class())
            MPI.Add_error_string(code, str(self.error)[: MPI.MAX_ERROR_STRING - 1])
            raise MPI.Exception(code)


class Telling:
    """A request whose Wait and Test raise the error of its call."""

    outcome: PendingError

    def _ask(self, ask: Callable[..., Any], status: MPI.Status | None = None) -> Any:
        outcome = self.outcome
        outcome.asked = True
        answer = ask(self, status)
        if self:  # it is not over, and others may be asked
            outcome.asked = False
        elif outcome.error is not None:
            error, outcome.error = outcome.error, None
            raise error
        return answer

    Wait, Test = partialmethod(_ask, MPI.Request.Wait), partialmethod(_ask, MPI.Request.Test)
    wait, test = partialmethod(_ask, MPI.Request.wait), partialmethod(_ask, MPI.Request.test)


class Pending(Telling, MPI.Grequest):
    """The request of a nonblocking call."""


class Again(Telling, MPI.Prequest):
    """The request of a persistent collective. Between a call and the next start it is MPI's null request.

    So MPI's Wait and Test return at once then, as they do for inactive requests. ``Startall`` of MPI knows nothing of it.

    Examples
    --------
    >>> request = comm.Bcast_init(data, root=0)                     # doctest: +SKIP
    >>> request.Start()                                             # doctest: +SKIP
    >>> request.Wait()                                              # doctest: +SKIP
    """

    _begin: Callable[[], Pending]
    outcome = PendingError()

    @classmethod
    def of(cls, begin: Callable[[], Pending]) -> "Again":
        """Return the request whose start begins a call, and takes over the request of that."""
        made = cls()
        made._begin = begin
        return made

    def Start(self) -> None:  # noqa: N802
        """Begin the call once more. Raises MPI's exception while it is under way."""
        if self:
            raise MPI.Exception(MPI.ERR_REQUEST)
        begun = self._begin()
        self.outcome = begun.outcome
        address = MPI._addressof  # pyright: ignore[reportPrivateUsage]
        # The handle of the call that has begun, in place of this one's: so MPI's own Wait and Test know it.
        ctypes.memmove(address(self), address(begun), MPI._sizeof(begun))  # pyright: ignore[reportPrivateUsage]

    @classmethod
    def Startall(cls, requests: Sequence[MPI.Prequest]) -> None:  # type: ignore[override]  # noqa: N802
        """Begin the calls of several requests, in order; they may be MPI's own too."""
        for request in requests:
            request.Start()

    def Free(self) -> None:  # noqa: N802
        """Give the request back."""
        if self:
            super().Free()


def begin(worker: Worker, work: Callable[[], Any]) -> Pending:
    """Begin work beside the program; return its request, whose Wait and Test raise its error.

    Where MPI allows one thread only, it is over when it is begun.
    """
    outcome = PendingError()
    request = MPI.Grequest.Start(outcome.query, None, None)
    pending = Pending(request)
    pending.outcome = outcome

    def complete(future: "Future[Any]") -> None:
        outcome.error = future.exception()
        request.Complete()

    future = worker.begin(work) if MPI.Query_thread() == MPI.THREAD_MULTIPLE else done(work)
    future.add_done_callback(complete)
    return pending
