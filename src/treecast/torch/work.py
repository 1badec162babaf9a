"""A call under way, as torch knows it: a ``Work``, with a future for those who ask for one."""

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Unfinished
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from inspect import isfunction
from typing import Any, TypeVar

from treecast.running.calls.worker import Worker
from treecast.torch.tensors import torch

T = TypeVar("T")
dist: Any = import_module("torch.distributed")


_frames: Any = import_module("torch._C._dynamo.eval_frame")


def untraced(thing: T) -> T:
    """Return a function, or a class, which ``torch.compile`` calls as it is, and all that it calls; it is not loaded for that."""
    skip = _frames._FrameAction.SKIP
    parts: list[Any] = [thing, *vars(thing).values()]
    for each in filter(isfunction, parts):
        vars(each)["_torchdynamo_disable"] = True  # dynamo looks for this mark on functions
        _frames.set_code_exec_strategy(each.__code__, _frames._FrameExecStrategy(skip, skip))
    return thing


def seconds_of(timeout: Any) -> float | None:
    """Return a timeout of torch's in seconds; None where it says nothing."""
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    # torch says "for ever" by numbers that are not positive
    return seconds if seconds is not None and seconds > 0 else None


class _Failed:
    """What C++ has for the outputs of a call that has failed: it looks for tensors there by pickling, and meets the error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Any:
        raise self._error


@untraced
class Outputs(torch.futures.Future):
    """The future of a call's outputs. What a callback of it begins comes where the callback was added, alike at all ranks."""

    def __init__(self, call: "Future[Any]", tensors: Any, worker: Worker | None = None) -> None:
        torch.futures.Future.__init__(self)
        self._call, self._worker = call, worker
        call.add_done_callback(lambda over: self._tell(tensors, over.exception()))

    def _tell(self, tensors: Any, error: BaseException | None) -> None:
        if error is not None:
            self._set_unwrap_func(_Failed.__reduce__)  # else C++ would look into the error for tensors
        self.set_result(tensors if error is None else _Failed(error))

    def then(self, callback: Callable[[Any], Any]) -> Any:
        """Return the future of a callback, which may wait for other calls."""
        if self._worker is None:
            return torch.futures.Future.then(self, callback)
        run: Callable[[Any], Any] = lambda _: callback(self)  # noqa: E731
        begun = torch.futures.Future()
        after = begun.then(run)
        torch.futures.Future.add_done_callback(self, self._worker.call_back(lambda: begun.set_result(None)))
        return after

    add_done_callback = then

    def wait(self) -> Any:
        """Wait for the outputs, and return them. Raises the error of the call."""
        if self._worker is not None:
            self._worker.let_pass(self._call)  # a callback that waits lets its call pass first
        return torch.futures.Future.wait(self)


@untraced
class Work(dist.Work):
    """A call that is carried out beside the program, or has been; ``tensors`` are its outputs."""

    def __init__(self, future: "Future[Any]", tensors: Any, worker: Worker | None = None) -> None:
        dist.Work.__init__(self)
        self._future, self._tensors, self._worker, self._source = future, tensors, worker, -1

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is over. Raises its error, DistBackendError when the time is up."""
        if self._worker is not None:
            self._worker.let_pass(self._future)
        try:
            self._future.result(seconds_of(timeout))
        # The call itself may have raised the same type. Then it is over.
        except Unfinished:
            if self._future.done():
                raise
            raise dist.DistBackendError("treecast: Timed out : the call is still under way") from None
        return True

    def get_future(self) -> Any:
        """Return torch's future of the outputs."""
        return self._outputs

    @cached_property
    def _outputs(self) -> Outputs:
        return Outputs(self._future, self._tensors, self._worker)

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
