"""Where events of a job go: Python's logging, and with TREECAST_LOG standard error or a file of each rank; TREECAST_DUMP keeps
records of the last calls.

TREECAST_LOG is ``info`` or ``debug``, for lines on standard error, or a folder, for a file of JSON lines of each rank. The logger
is ``treecast.jobs``, and silent by default.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread, current_thread, main_thread
from time import time

from treecast.groups.waiting import Waiting
from treecast.jobs.dump import dump
from treecast.transport.base import Transport
from treecast.transport.events import Event

LOGGER = logging.getLogger("treecast.jobs")
LOGGER.addHandler(logging.NullHandler())
_LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
_QUIET = frozenset({"decided", "fetched"})
"""Events that ``info`` leaves out."""
_GRAVE = frozenset({"lost", "evicted", "failed", "wrong"})
"""Events at the first of which TREECAST_DUMP keeps the record."""


def attach(transport: Transport, waiting: Waiting) -> None:
    """Have the events of a job at this rank go where the environment says; an error of a helper thread is one, too."""
    events, rank, tell = transport.events, transport.rank, transport.on_error

    def note_error(error: Exception) -> None:
        events.tell("wrong", f"{type(error).__name__}: {error}")
        tell(error)

    transport.on_error = note_error
    events.sinks.append(lambda event: _log(rank, event))
    where = os.environ.get("TREECAST_LOG", "")
    if where in _LEVELS:
        events.sinks.append(lambda event: _print(rank, event, _LEVELS[where]))
    elif where:
        file = Path(where, f"rank-{rank}.jsonl")
        file.parent.mkdir(parents=True, exist_ok=True)
        events.sinks.append(lambda event: _append(file, rank, event))
    if folder := os.environ.get("TREECAST_DUMP", ""):
        keep = partial(dump, waiting, rank, folder)
        dump_on_signal(keep)
        events.sinks.append(_at_first(keep))


def _level(event: Event) -> int:
    return logging.DEBUG if event.name in _QUIET else logging.INFO


def _log(rank: int, event: Event) -> None:
    LOGGER.log(_level(event), "rank %d: %s: %s", rank, event.name, event.text, extra={"event": event})


def _print(rank: int, event: Event, level: int) -> None:
    if _level(event) >= level:
        sys.stderr.write(f"treecast: rank {rank}: {event.name}: {event.text}\n")


def _append(file: Path, rank: int, event: Event) -> None:
    line = json.dumps({"time": time(), "rank": rank, **event._asdict()})
    with suppress(OSError), file.open("a") as out:
        out.write(f"{line}\n")


def _at_first(keep: Callable[[], object]) -> Callable[[Event], None]:
    kept = list[str]()

    def sink(event: Event) -> None:
        if event.name in _GRAVE and not kept:
            kept.append(event.name)
            keep()

    return sink


def dump_on_signal(keep: Callable[[], object]) -> None:
    """Have SIGUSR2 keep the record, also while the main thread is inside a call of MPI's, where Python's handlers wait."""
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL:
        return  # the program has a handler of its own
    out, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGUSR2, lambda number, frame: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def watch() -> None:
        while number := os.read(out, 1):
            if number[0] == signal.SIGUSR2:
                keep()

    Thread(target=watch, name="treecast.dump", daemon=True).start()
