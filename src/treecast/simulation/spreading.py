"""Work that is spread over the workers of an executor: processes, threads, or ranks of MPI.

What all tasks need, a plan say, may be large, so it does not travel with each of them. A task names it by a digest. A worker that
does not have it says so, and is sent it with the next task.
"""

import os
import pickle
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from hashlib import blake2b
from multiprocessing import get_context
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

from treecast.errors import TreecastError
from treecast.progress import report

Task = TypeVar("Task")
Result = TypeVar("Result")

_KEPT = 4  # the most things that a worker keeps
_MOST_WORKERS = 1024  # of this machine
_given: WeakKeyDictionary[Executor, set[bytes]] = WeakKeyDictionary()  # what the workers of an executor have been sent
_kept: dict[bytes, Any] = {}  # what this process has been sent, by digest


def spread(
    work: Callable[[Task], Result], tasks: Sequence[Task], executor: Executor | None = None, *, what: str = ""
) -> list[Result]:
    """Return ``work(task)`` of all tasks, in their order: the same for any executor and any number of workers.

    Parameters
    ----------
    work
        What is done with each task. It must be possible to pickle it, unless it is done here.
    tasks
        What it is done with, about a second each.
    executor
        Who does it; by default threads of this process.
    what
        Under which name to report how many are done.

    Raises
    ------
    TreecastError
        When the executor has broken down or been shut down.
    """
    if executor is None:
        from treecast.kernels.compiled import in_parallel

        found = in_parallel(lambda first, stop: [work(task) for task in tasks[first:stop]], len(tasks), 1, what)
        return [result for results in found for result in results]
    try:
        return _submit_all(work, tasks, executor, what)
    except (RuntimeError, pickle.PicklingError) as error:  # BrokenProcessPool is one
        raise TreecastError(f"the executor cannot do the work: {' '.join(str(error).split())}") from error


def _submit_all(work: Callable[[Task], Result], tasks: Sequence[Task], executor: Executor, what: str) -> list[Result]:
    packed = pickle.dumps(work)
    name = blake2b(packed, digest_size=16).digest()
    results: dict[int, Result] = {}
    waiting: dict[Future[Any], int] = {}
    workers, fresh = count_workers(executor), 0
    known = name in _given.setdefault(executor, set())
    _given[executor].add(name)
    try:
        while len(results) < len(tasks):
            while (
                fresh < len(tasks) and len(waiting) < 2 * workers
            ):  # few at a time, or all would ask for the work at once
                sent = packed if fresh < workers and not known else None
                waiting[executor.submit(_do, name, tasks[fresh], sent)] = fresh
                fresh += 1
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                number, done = waiting.pop(future), future.result()
                if done is None:
                    waiting[executor.submit(_do, name, tasks[number], packed)] = number
                else:
                    results[number] = done[0]
                    report(len(results), len(tasks), what)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    return [results[number] for number in range(len(tasks))]


def _do(name: bytes, task: Any, packed: bytes | None) -> tuple[Any] | None:
    """Do a task in a worker; return its result in a tuple, or None where the work has not been sent."""
    work = _kept.get(name)
    if work is None:
        if packed is None:
            return None
        for old in list(_kept)[: 1 - _KEPT]:
            _kept.pop(old, None)
        work = _kept[name] = pickle.loads(packed)
    return (work(task),)


def count_workers(executor: Executor) -> int:
    """Return how many workers an executor has, or as many as there are cores where it does not say."""
    told = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    return cast("int | None", told) or os.cpu_count() or 1


@contextmanager
def processes(count: int) -> Generator[Executor | None]:
    """Give an executor of so many new processes, or None where one is enough."""
    if not 1 <= count <= _MOST_WORKERS:
        raise TreecastError(f"{count} workers will not do: name 1 to {_MOST_WORKERS:,}")
    if count == 1:
        yield None
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool
