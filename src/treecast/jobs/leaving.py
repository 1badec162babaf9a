"""The end of a job of which one rank ends early: by an exception that nobody catches, or by sys.exit with a status."""

import atexit
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_HOW: list[str] = []
_STATUS: list[int] = []


def end_with_the_job(on_error: str, is_over: Callable[[], bool], abort: Callable[[int], object]) -> None:
    """Have an early end of this process end the job (``abort``), or count as its death (``die``); the last word counts.

    ``is_over``: whether the job has ended here already. ``abort``: ends it, with a status, at all ranks.
    """
    if not _HOW:
        hook, leave = sys.excepthook, sys.exit

        def note_exception(kind: Any, value: Any, trace: Any) -> None:
            hook(kind, value, trace)
            _STATUS.append(1)

        def note_exit(status: Any = None, /) -> Any:
            if status not in (None, 0):
                _STATUS.append(status if isinstance(status, int) else 1)
            leave(status)

        sys.excepthook, sys.exit = note_exception, note_exit
        atexit.register(_end, is_over, abort)
    _HOW[:] = [on_error]
    os.environ["TREECAST_ON_ERROR"] = on_error  # for the watcher that treecast launch has put around the program


def _end(is_over: Callable[[], bool], abort: Callable[[int], object]) -> None:
    if not _STATUS or is_over():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    if _HOW == ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
    abort(_STATUS[-1])
