"""The thread that carries out the nonblocking calls of a communicator, one after the other, so that they can survive failures."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Condition, Thread

from mpi4py import MPI

from treecast.mpi.comm.pending import Outcome, Pending


def _nothing(*_: object) -> None:
    """Say nothing more of a request."""


class Worker:
    """Carries out jobs in order; each has a request of MPI's that is complete when the job is over.

    What a job raises comes out of the Wait or Test of its request.
    Where MPI allows one thread only, a job is over when it is begun.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], None], MPI.Grequest, Outcome] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._pending, self._idle = 0, Condition()

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
        with self._idle:
            self._pending += 1
        self._jobs.put((job, request, outcome))
        return pending

    @property
    def busy(self) -> bool:
        """Whether a job is not over."""
        return self._pending > 0

    def wait(self) -> None:
        """Wait until all jobs are over."""
        if self._pending:
            with self._idle:
                self._idle.wait_for(lambda: not self._pending)

    def stop(self) -> None:
        """End the thread, when all jobs are over."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            self._do(*item)
            with self._idle:
                self._pending -= 1
                self._idle.notify_all()

    def _do(self, job: Callable[[], None], request: MPI.Grequest, outcome: Outcome) -> None:
        try:
            job()
        except Exception as error:
            outcome.error = error
        request.Complete()
