"""Work that is spread over the workers of an executor: processes, threads, or ranks of MPI.

Data for all tasks, a plan say, may be large, so it does not travel with each. A task names it by a digest. A worker that
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
_given: WeakKeyDictionary[Executor, set[bytes]] = (
    WeakKeyDictionary()
)  # the work that the workers of an executor have been sent
_kept: dict[bytes, Any] = {}  # the work that this process has been sent, by digest


def spread(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    executor: Executor | None = None,
    *,
    name: str = "",
    until: Callable[[Result], bool] = lambda _: False,
) -> list[Result]:
    """Return ``work(task)`` of all tasks, in their order: the same for any executor and any number of workers.

    Without an executor, threads of this process do it; for others it must be possible to pickle the work. A task takes about
    a second. ``name``: the name under which the progress is reported. ``until``: the first result of which this holds is the
    last that is returned; tasks behind it need not be done. Raises TreecastError when the executor has broken down.
    """
    if executor is None:
        results = _do_here(work, tasks, name, until)
    else:
        try:
            results = _submit_all(work, tasks, executor, name, until)
        except (RuntimeError, pickle.PicklingError) as error:  # BrokenProcessPool is one
            raise TreecastError(f"the executor cannot do the work: {' '.join(str(error).split())}") from error
    last = next((number for number in range(len(results)) if until(results[number])), len(results) - 1)
    return [results[number] for number in range(last + 1)]


def _do_here(
    work: Callable[[Task], Result], tasks: Sequence[Task], name: str, until: Callable[[Result], bool]
) -> dict[int, Result]:
    """Do all tasks in threads of this process; those that begin when the last one is known are left out."""
    from treecast.compiled import in_parallel

    results: dict[int, Result] = {}
    ended = list[int]()  # tasks begin in order, so none before the last one is left out

    def do(first: int, stop: int) -> None:
        for number in range(first, stop):
            if ended:
                return
            results[number] = work(tasks[number])
            if until(results[number]):
                ended.append(number)

    in_parallel(do, len(tasks), 1, name)
    return results


def _submit_all(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    executor: Executor,
    name: str,
    until: Callable[[Result], bool],
) -> dict[int, Result]:
    packed = pickle.dumps(work)
    digest = blake2b(packed, digest_size=16).digest()
    results: dict[int, Result] = {}
    waiting: dict[Future[Any], int] = {}
    workers, fresh, stop = count_workers(executor), 0, len(tasks)
    known = digest in _given.setdefault(executor, set())
    _given[executor].add(digest)
    try:
        while fresh < stop or any(number < stop for number in waiting.values()):
            while fresh < stop and len(waiting) < 2 * workers:  # few at a time, or all would ask for the work at once
                sent = packed if fresh < workers and not known else None
                waiting[executor.submit(_do, digest, tasks[fresh], sent)] = fresh
                fresh += 1
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                number, done = waiting.pop(future), future.result()
                if done is None:
                    waiting[executor.submit(_do, digest, tasks[number], packed)] = number
                    continue
                results[number] = done[0]
                if until(done[0]):
                    stop = min(stop, number + 1)
                report(len(results), len(tasks), name)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise
    for future in waiting:  # of tasks behind the last
        future.cancel()
    return {number: results[number] for number in range(stop)}


def _do(digest: bytes, task: Any, packed: bytes | None) -> tuple[Any] | None:
    """Do a task in a worker; return its result in a tuple, or None where the work has not been sent."""
    work = _kept.get(digest)
    if work is None:
        if packed is None:
            return None
        for old in list(_kept)[: 1 - _KEPT]:
            _kept.pop(old, None)
        work = _kept[digest] = pickle.loads(packed)
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
