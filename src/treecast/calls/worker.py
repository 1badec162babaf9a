"""Calls of a communicator that go on beside the program, in order."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import Queue
from threading import Thread, current_thread
from typing import Any, TypeVar

T = TypeVar("T")


def done(work: Callable[[], T], future: "Future[T] | None" = None) -> "Future[T]":
    """Do work in this thread; return its outcome, in a future that waits for it where there is one."""
    outcome: Future[T] = Future() if future is None else future
    try:
        outcome.set_result(work())
    except Exception as error:
        outcome.set_exception(error)
    return outcome


class Worker:
    """A thread that does work in order; it begins with the first, and ends with the process. ``jobs``: what is not over."""

    def __init__(self, name: str) -> None:
        self.jobs: Queue[tuple[Callable[[], Any], Future[Any]] | None] = Queue()
        self._name, self._thread = name, None

    def begin(self, work: Callable[[], T]) -> "Future[T]":
        """Have work done after all that was begun before."""
        future: Future[T] = Future()
        if self._thread is None:
            # an early end of the process waits for none
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self.jobs.put((work, future))
        return future

    def is_here(self) -> bool:
        """Return whether this is the worker's own thread."""
        return current_thread() is self._thread

    def wait(self) -> None:
        """Wait until all that was begun is over; its futures tell of errors. The work itself does not wait for itself."""
        if not self.is_here():
            self.jobs.join()

    def stop(self) -> None:
        """End the thread, when all is over."""
        if self._thread is not None:
            self.jobs.put(None)
            self.jobs.join()
            self._thread = None

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            done(*job)
            self.jobs.task_done()
        self.jobs.task_done()
