"""A call under way, as torch knows it: a ``Work``, with a future for those who ask for one."""
# pyright: basic

from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unfinished
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from typing import Any

from treecast.calls.worker import Worker
from treecast.torch.tensors import torch

dist: Any = import_module("torch.distributed")


def seconds_of(timeout: Any) -> float | None:
    """Return a timeout of torch's in seconds; None where it says nothing."""
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    return seconds if seconds is not None and seconds > 0 else None


class Told:
    """A future of torch's whose error C++ knows, too: torch's own ``set_exception`` makes it a value there."""

    def __init__(self) -> None:
        self._begun = torch.futures.Future()
        self.future = self._begun.then(self._open)

    @staticmethod
    def _open(future: Any) -> Any:
        value, error = future.value()
        if error is not None:
            raise error
        return value

    def tell(self, value: Any, error: BaseException | None = None) -> None:
        """Complete it with a value, or an error."""
        self._begun.set_result((value, error))


class Work(dist.Work):
    """A call that is carried out beside the program, or has been; ``tensors`` are its outputs."""

    def __init__(self, future: "Future[Any]", tensors: Any, worker: Worker | None = None) -> None:
        super().__init__()
        self._future, self._tensors, self._worker, self._source = future, tensors, worker, -1

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is over. Raises its error, DistBackendError when the time is up."""
        if self._worker is not None and self._worker.is_here() and not self._future.done():
            raise RuntimeError("a callback of this group's call waits for a later one, which would begin after it")
        try:
            self._future.result(seconds_of(timeout))
        except Unfinished:
            if self._future.done():
                raise
            raise dist.DistBackendError("treecast: Timed out : the call is still under way") from None
        return True

    def get_future(self) -> Any:
        """Return torch's future of the outputs."""
        return self._told.future

    @cached_property
    def _told(self) -> Told:
        told = Told()
        self._future.add_done_callback(lambda future: told.tell(self._tensors, future.exception()))
        return told

    def is_completed(self) -> bool:
        """Return whether it is over."""
        return self._future.done()

    def is_success(self) -> bool:
        """Return whether it is over, and nothing was raised."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> Any:
        """Return its error, None for none."""
        return self._future.exception() if self.is_completed() else None

    def result(self) -> Any:
        """Return the outputs."""
        return self._tensors

    def source_rank(self) -> int:
        """Return from which rank a message came."""
        return self._source

    def synchronize(self) -> None:
        """Wait until it is over."""
        self.wait()

    block_current_stream = synchronize  # the CPU has no streams
    getFuture, _source_rank = get_future, source_rank  # noqa: N815
