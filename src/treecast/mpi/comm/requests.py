"""Requests of nonblocking and persistent calls that survive failures, and the thread that carries these calls out."""

import ctypes
from collections.abc import Callable, Sequence
from functools import partialmethod
from queue import Queue
from threading import Thread
from typing import Any

from mpi4py import MPI


class Outcome:
    """The error of a call, until it is told; ``asked``: by the request itself, so that MPI need not say so."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.asked = False

    def query(self, status: MPI.Status) -> None:
        """Tell Waitall and its like, which are MPI's, that the call has failed. Raises MPI's exception, with our text."""
        if self.error is not None and not self.asked:
            code = MPI.Add_error_code(MPI.Add_error_class())
            MPI.Add_error_string(code, str(self.error)[: MPI.MAX_ERROR_STRING - 1])
            raise MPI.Exception(code)


class Telling:
    """A request whose Wait and Test raise the error of its call."""

    outcome: Outcome

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
    outcome = Outcome()

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


def _nothing(*_: object) -> None:
    """Say nothing more of a request."""


class Worker:
    """Carries out jobs in order; each has a request of MPI's that is complete when the job is over.

    An error of a job comes out of the Wait or Test of its request.
    Where MPI allows one thread only, a job is over when it is begun. ``jobs``: those that are not over.
    """

    def __init__(self) -> None:
        self.jobs: Queue[tuple[Callable[[], None], MPI.Grequest, Outcome] | None] = Queue()
        self._thread: Thread | None = None

    def begin(self, job: Callable[[], None]) -> Pending:
        """Begin a job; return its request."""
        outcome = Outcome()
        request = MPI.Grequest.Start(outcome.query, _nothing, _nothing)
        pending = Pending(request)
        pending.outcome = outcome
        if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
            self._do(job, request, outcome)
            return pending
        if self._thread is None:
            self._thread = Thread(target=self._work, name="treecast.mpi", daemon=True)
            self._thread.start()
        self.jobs.put((job, request, outcome))
        return pending

    def wait(self) -> None:
        """Wait until all jobs are over."""
        self.jobs.join()

    def stop(self) -> None:
        """End the thread, when all jobs are over."""
        if self._thread is not None:
            self.jobs.put(None)
            self.jobs.join()
            self._thread = None

    def _work(self) -> None:
        while (item := self.jobs.get()) is not None:
            self._do(*item)
            self.jobs.task_done()
        self.jobs.task_done()

    def _do(self, job: Callable[[], None], request: MPI.Grequest, outcome: Outcome) -> None:
        try:
            job()
        except Exception as error:
            outcome.error = error
        request.Complete()
