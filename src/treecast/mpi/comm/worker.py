"""The thread that carries out the nonblocking calls of a communicator, one after the other, so that they can survive failures."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Condition, Thread

from mpi4py import MPI


def _nothing(*_: object) -> None:
    """Say nothing more of a request."""


class Worker:
    """Carries out jobs in order; each has a request of MPI's that is complete when the job is over.

    What a job raises is kept until ``tell``. The next call is carried out before that: not all ranks may have something to raise.
    Where MPI allows one thread only, a job is over when it is begun.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], None], MPI.Grequest] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._pending, self._idle = 0, Condition()
        self._error: Exception | None = None

    def begin(self, job: Callable[[], None]) -> MPI.Grequest:
        """Begin a job; return its request."""
        request = MPI.Grequest.Start(_nothing, _nothing, _nothing)
        if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
            self._do(job, request)
            return request
        if self._thread is None:
            self._thread = Thread(target=self._work, name="treecast.mpi", daemon=True)
            self._thread.start()
        with self._idle:
            self._pending += 1
        self._jobs.put((job, request))
        return request

    @property
    def busy(self) -> bool:
        """Whether a job is not over."""
        return self._pending > 0

    def wait(self) -> None:
        """Wait until all jobs are over."""
        if self._pending:
            with self._idle:
                self._idle.wait_for(lambda: not self._pending)

    def tell(self) -> None:
        """Raise what the last job that failed has raised, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

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

    def _do(self, job: Callable[[], None], request: MPI.Grequest) -> None:
        try:
            job()
        except Exception as error:
            self._error = error
        request.Complete()
