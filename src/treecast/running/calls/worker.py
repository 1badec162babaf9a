"""Calls of a communicator that go on beside the program, in order."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
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


class Turn(Queue[Any]):
    """A place in the order of work, for what a callback begins; then for others. ``outer``: where it has its own place."""

    outer: "Turn | None" = None
    is_over = False

    def end(self) -> None:
        """Let what comes after it begin."""
        self.is_over = True
        self.put(None)


_TURNS = ContextVar[Mapping["Worker", Turn]]("turns")


class Worker:
    """A thread that does work in order; it begins with the first, and ends with the process. ``jobs``: what is not over."""

    def __init__(self, name: str) -> None:
        self.jobs, self._name, self._thread = Turn(), name, None

    @property
    def _turn(self) -> Turn:
        """Where that which is begun here comes."""
        turn = _TURNS.get({}).get(self, self.jobs)
        while turn.is_over and turn.outer is not None:
            turn = turn.outer
        return turn

    def begin(self, work: Callable[[], T]) -> "Future[T]":
        """Have work done after all that was begun before; at once where this is the worker's own thread."""
        if self.is_here():
            return done(work)
        future: Future[T] = Future()
        self._put((work, future))
        return future

    def _put(self, job: Any) -> None:
        self._turn.put(job)
        if self._thread is None:
            # an early end of the process waits for none
            self._thread = Thread(target=self._work, args=(self.jobs,), name=self._name, daemon=True)
            self._thread.start()

    def call_back(self, callback: Callable[[], None]) -> Callable[..., None]:
        """Return a function that does a callback, beside the worker. What the callback begins has its place in the order now.

        So the order is the same at all ranks, whenever the callback is done; and it may wait for what it begins.
        """
        if self.is_here():
            return lambda *_: callback()
        # A place in line is put in now. The worker stops there until the callback is over, and does what it begins
        # meanwhile.
        turn, context = Turn(), copy_context()
        turn.outer = self._turn
        context.run(_TURNS.set, {**_TURNS.get({}), self: turn})
        self._put(turn)

        def call() -> None:
            try:
                context.run(callback)
            finally:
                turn.end()

        return lambda *_: Thread(target=call, daemon=True).start() if self.is_here() else call()

    def let_pass(self, future: "Future[Any]") -> None:
        """In a callback that waits for work: let it begin if it comes later. Raises RuntimeError in the worker's own thread."""
        while not future.done() and (self.is_here() or self._turn is not self.jobs):
            if self.is_here():
                raise RuntimeError("a callback of this group's call waits for a later one, which would begin after it")
            # All that comes before in this turn is done; then the turn ends, and later work may begin.
            turn = self._turn
            self.wait()
            if not future.done():
                turn.end()

    def is_here(self) -> bool:
        """Return whether this is the worker's own thread."""
        return current_thread() is self._thread

    def wait(self) -> None:
        """Wait until all that was begun is over; its futures tell of errors. The work itself does not wait for itself."""
        if self.jobs.unfinished_tasks:
            self.begin(lambda: None).result()

    def stop(self) -> None:
        """End the thread, when all is over."""
        if self._thread is not None:
            self.jobs.put(None)
            self.jobs.join()
            self._thread = None

    def _work(self, turn: Turn) -> None:
        while (job := turn.get()) is not None:
            # A line within the line: what a callback begins stands in the callback's own place.
            if isinstance(job, Turn):
                self._work(job)
            else:
                done(*job)
            turn.task_done()
        turn.task_done()
