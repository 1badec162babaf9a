"""How the inner loops are compiled, and run over both cores with progress and a clean Ctrl-C."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib import import_module
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from treecast.progress import report

Result = TypeVar("Result")

_numba: Any = import_module("numba")  # by name: numba has no types, and strict checking would follow it
_extending: Any = import_module("numba.extending")


def njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` when it is first called, keep it on disk, and let it run beside other threads."""
    return _numba.njit(cache=True, nogil=True)(function)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile ``function`` into each of its callers."""
    return _numba.njit(cache=True, nogil=True, inline="always")(function)


def compiled(module: ModuleType, names: Sequence[str], **others: Any) -> dict[str, Any]:
    """Return functions of a module, each before those that call it, compiled into their callers; ``others`` stand in for what
    else they call. The module's own stay as they are.
    """
    found: dict[str, Any] = {**vars(module), **others}
    for name in names:
        plain: FunctionType = getattr(module, name)
        copy = FunctionType(plain.__code__, found, name, plain.__defaults__)
        copy.__module__, copy.__qualname__ = module.__name__, plain.__qualname__
        found[name] = inline(copy)
    return found


@_extending.intrinsic
def lowest_bit(typing_context: Any, value: Any) -> Any:
    """Return the place of the lowest bit set in an int64 that is not 0 (one machine instruction)."""
    ir: Any = import_module("llvmlite.ir")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return _numba.int64(_numba.int64), generate


def in_parallel(work: Callable[[int, int], Result], total: int, block: int, what: str = "") -> list[Result]:
    """Run ``work(start, stop)`` over the blocks of ``0 … total-1`` on all cores; return the results in order.

    ``work`` must be compiled code that leaves the interpreter free. An exception, Ctrl-C too, stops after the blocks that
    are under way. ``what``: under which name to report how far the work is; empty: not at all.
    """
    if total <= block:  # threads take longer to start than such work takes
        found = [work(0, total)] if total else []
        if what:
            report(total, total, what)
        return found
    starts = iter(range(0, total, block))
    results: dict[int, Result] = {}
    done, workers = 0, os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting: dict[Future[Result], int] = {}
        try:
            while True:
                for start in islice(starts, 4 * workers - len(waiting)):  # few at a time: there may be millions
                    waiting[pool.submit(work, start, min(start + block, total))] = start
                if not waiting:
                    break
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    start = waiting.pop(future)
                    results[start] = future.result()
                    done += min(block, total - start)
                if what:
                    report(done, total, what)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [results[start] for start in sorted(results)]
