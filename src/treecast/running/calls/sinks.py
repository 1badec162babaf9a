"""Where events of a job go: Python's logging, and with TREECAST_LOG standard error or a file of each rank; TREECAST_DUMP keeps
records of the last calls.

TREECAST_LOG is ``info`` or ``debug``, for lines on standard error, or a folder, for a file of JSON lines of each rank. The logger
is ``treecast.jobs``, and silent by default.
"""

import json
import logging
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread, current_thread, main_thread
from time import time

from treecast import __version__
from treecast.running.calls.dump import dump
from treecast.running.calls.ring import Ring
from treecast.running.groups.group import Group
from treecast.running.groups.waiting import Waiting
from treecast.running.jobs.program import note
from treecast.running.transport.base import Transport
from treecast.running.transport.events import Event

LOGGER = logging.getLogger("treecast.jobs")
LOGGER.addHandler(logging.NullHandler())
_LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
_QUIET = frozenset({"decided", "fetched"})
"""Events that ``info`` leaves out."""
_GRAVE = frozenset({"lost", "evicted", "failed", "wrong"})
"""Events at the first of which TREECAST_DUMP keeps the record."""
_TOLD = Counter[str]()
_RINGS = dict[tuple[str, int], Ring]()
"""By folder and rank the ring of a process, or of a thread that is a rank."""
_KEEPS = dict[tuple[str, int], Callable[[], object]]()
"""What keeps the record of each ring."""


def attach(transport: Transport, waiting: Waiting, home: tuple[Sequence[int], int] | None = None) -> None:
    """Have the events of a job at this rank go where the environment says; an error of a helper thread is one, too.

    ``home``: the ranks of the job that those of the transport are, and how many the job has; by default the same.
    """
    # 1. Where the environment has events go.
    events, rank, on_error = transport.events, transport.rank, transport.on_error
    where, folder = os.environ.get("TREECAST_LOG", ""), os.environ.get("TREECAST_DUMP", "")
    file, is_kept = Path(where, f"rank-{rank}.jsonl"), False

    # 2. The sinks: each does one thing with an event.
    def note_error(error: Exception) -> None:
        events.tell("wrong", f"{type(error).__name__}: {error}")  # it is an event like any other, and told as before
        on_error(error)

    def log(event: Event) -> None:
        level = logging.DEBUG if event.name in _QUIET else logging.INFO
        LOGGER.log(level, "rank %d: %s: %s", rank, event.name, event.text, extra={"event": event})
        if where in _LEVELS and level >= _LEVELS[where]:
            sys.stderr.write(f"treecast: rank {rank}: {event.name}: {event.text}\n")

    def append(event: Event) -> None:
        with suppress(OSError), file.open("a") as out:  # a full disk ends no call
            out.write(json.dumps({"time": time(), "rank": rank, **event._asdict()}) + "\n")

    def keep_first(event: Event) -> None:
        nonlocal is_kept
        if event.name in _GRAVE and not is_kept:  # the first: later ones follow from it
            is_kept = True
            keep()

    # 3. Those that are wanted, in the order in which they hear.
    transport.on_error = note_error
    events.sinks.append(log)
    if where and where not in _LEVELS:
        file.parent.mkdir(parents=True, exist_ok=True)
        events.sinks.append(append)
    if folder:
        ranks, size = home or (range(transport.size), None)  # the ranks in the job, which name its files
        key = folder, ranks[rank]
        ring = _RINGS[key] = _RINGS.get(key) or Ring(ranks[rank], folder)  # one ring a process and folder
        part = ring.join(waiting, ranks, size)

        def keep() -> None:
            dump(ranks[rank], folder, *(ring.parts or [part]))

        events.sinks.append(lambda event: ring.leave(part) if event.name == "ended" else None)
        _KEEPS[key] = keep
        dump_on_signal()
        events.sinks.append(keep_first)


def tell_joined(group: Group) -> None:
    """Tell that this rank is in a job: who, where, over what, and on which terms."""
    transport, where = group.transport, f"process {os.getpid()} on {socket.gethostname()}"
    said = f"as one of {group.size} ranks, {where}, over {transport.name}, treecast {__version__}, {group.terms}"
    transport.events.tell("joined", said, group.ident, ranks=(transport.rank,))


def tell_ended(transport: Transport, calls: int) -> None:
    """Tell that this rank has ended its part, after so many calls; where events are told, the launcher learns how many."""
    transport.events.tell("ended", f"after {calls} calls")
    _TOLD.update(transport.events.counts)  # an MPI job has a stream for each communicator
    if os.environ.get("TREECAST_LOG"):
        note("events", json.dumps(_TOLD))


def dump_on_signal() -> None:
    """Have SIGUSR2 keep the record of each ring, also while the main thread is inside a call of MPI's, where Python's handlers
    wait.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL:
        return  # the process has this handler, or the program one of its own
    out, told = os.pipe()
    os.set_blocking(told, False)  # the signal never waits for a reader
    # a handler that does nothing, so that the wake-up byte is written
    signal.signal(signal.SIGUSR2, lambda number, frame: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def watch() -> None:
        while number := os.read(out, 1):
            if number[0] == signal.SIGUSR2:
                for keep in list(_KEEPS.values()):
                    keep()

    Thread(target=watch, name="treecast.dump", daemon=True).start()
