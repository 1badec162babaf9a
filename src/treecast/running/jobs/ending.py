"""Ending a job: which processes it has, how they are ended, and which signals end it."""

import atexit
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from treecast.running.jobs.program import PASSED_ON, claim, describe, say_last, words_of

if TYPE_CHECKING:  # it needs numpy, and a launcher does not
    from treecast.running.groups.group import Group

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# mpirun needs a moment to end its ranks, and to pass on their last words.
_GRACE = 3.0  # seconds between asking mpirun to end and killing the rest
_LOOK = 0.02
_HOOKED = threading.Event()
_STATUS: list[tuple[int, str]] = []


class Process(NamedTuple):
    """A process: its number, when it began, in ticks since the machine did, its parent, its session, and the letter of its state.

    No two have the same of the first two.
    """

    pid: int
    began: int
    parent: int
    session: int
    letter: str


def _look_at(pid: int | str) -> Process | None:
    """Return the kernel's words on a process; None when it has ended, or there is no /proc."""
    try:
        _, words = words_of(pid)
        return Process(int(pid), int(words[19]), int(words[1]), int(words[3]), words[0])
    except (OSError, ValueError, IndexError):
        return None


def letter_of(pid: int, began: int | None = None) -> str:
    """Return the kernel's letter for the state of a process: T of one that is stopped, Z of one that has ended.

    ``began``: when it did, for another may have its number since.
    """
    process = _look_at(pid)
    return process.letter if process and began in (None, process.began) else "Z"


def processes_of(leaders: Collection[int], known: Iterable[Process] = ()) -> set[Process]:
    """Return those that live of the sessions that processes lead, and of some that are known, and all that they have started."""
    numbers = os.listdir("/proc") if os.path.isdir("/proc") else []
    processes = [_look_at(name) for name in numbers if name.isdigit()]
    living = [each for each in processes if each and each.letter not in "ZX"]
    before = {each[:2] for each in known}
    new = {each for each in living if {each.session, each.pid} & {*leaders} or each[:2] in before}
    found = set[Process]()
    # Level by level: children, their children, and so on.
    while new:
        found |= new
        parents = {each.pid for each in new}
        new = {each for each in living if each.parent in parents} - found
    return found


def await_end(children: Iterable[int], seconds: float) -> None:
    """Wait until one of some children of this process has ended, or the time is up."""
    ends = select.poll()
    with ExitStack() as opened:
        for pid in children:
            with suppress(OSError, AttributeError):  # only Linux has it
                file = os.pidfd_open(pid)
                opened.callback(os.close, file)
                ends.register(file, select.POLLIN)
        ends.poll(1000 * seconds)


def end_all(*children: "subprocess.Popen[bytes]") -> None:
    """End processes that lead a session each, and all that belongs to them: by SIGTERM, and by SIGKILL the rest after 3 s.

    mpirun ends its ranks when it is asked to, also stopped ones. Those that have ended before are not asked.
    """
    leaders = {child.pid for child in children}
    # Looked up before anything ends: a child whose parent has ended belongs to init, and nothing else would tell
    # whose it was.
    known, until = processes_of(leaders), time.monotonic() + _GRACE
    for child in children:
        child.terminate()
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, until - time.monotonic()))
    until = time.monotonic() + _GRACE  # a process that even SIGKILL does not end hangs in the kernel
    while (left := processes_of(leaders, known)) and time.monotonic() < until:
        known |= left
        # first who has no child left: its watcher passes its last words on
        parents = {each.parent for each in left} if time.monotonic() < until - _GRACE / 2 else set[int]()
        for pid in {each.pid for each in left} - parents:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK)
    for child in children:
        child.kill()
        child.wait()


@contextmanager
def _handled(numbers: Iterable[int], handle: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Handle signals so inside, and behind it as before. Only the main thread can; others change nothing."""
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers if in_main}
    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the work inside: as KeyboardInterrupt, or SystemExit with 128 + the signal.

    Only the first counts, so that nothing interrupts the end itself. A signal that was ignored before (nohup) stays so.
    """

    def end(number: int, frame: FrameType | None) -> None:
        # From now on: a second Ctrl-C would otherwise leave processes behind.
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    with _handled([each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN], end):
        yield


@contextmanager
def passing_on(ranks: Callable[[], Iterable[int]]) -> Generator[None]:
    """Pass SIGUSR1 and SIGUSR2 on to ``ranks``, processes: to a launcher they mean nothing, and would kill it."""

    def send(number: int, frame: FrameType | None) -> None:
        for pid in ranks():
            with suppress(OSError):
                os.kill(pid, number)

    with _handled(PASSED_ON, send):
        yield


# -- one rank that ends early: by an exception that nobody catches, or by sys.exit with a status ---------------------------


def end_with_the_job(on_error: str, is_over: Callable[[], bool], abort: Callable[[int], object]) -> None:
    """Have an early end of this process end the job (``abort``), or count as its death (``die``); the last word counts.

    ``is_over``: whether the job has ended here already. ``abort``: ends it, with a status, at all ranks.
    """
    if not _HOOKED.is_set():
        hook, leave = sys.excepthook, sys.exit

        def note_exception(kind: Any, value: Any, trace: Any) -> None:
            hook(kind, value, trace)
            _STATUS.append((1, describe(value)))

        def note_exit(status: Any = None, /) -> Any:
            if status not in (None, 0):
                number = status if isinstance(status, int) else 1
                _STATUS.append((number, f"ended with {number}"))
            leave(status)

        # An exit function does not hear with which status Python ends. So both ways to a status are noted on the way.
        sys.excepthook, sys.exit = note_exception, note_exit
        atexit.register(_end_early, is_over, abort)
        _HOOKED.set()
    os.environ["TREECAST_ON_ERROR"] = on_error  # the watcher of treecast launch reads it, too


def _end_early(is_over: Callable[[], bool], abort: Callable[[int], object]) -> None:
    if _STATUS and not is_over():
        status, why = _STATUS[-1]
        say_last(why, status)
        abort(status)


def end_unlike(groups: "Iterable[Group]") -> None:
    """Say what calls of groups still owe at the end of this rank: a line for each, and the job has failed."""
    for said in filter(None, (group.unlike.last_word(group.agreement.left_early()) for group in groups)):
        sys.stderr.write(f"treecast: {said}\n")
        with suppress(OSError):  # where no launcher watches
            claim(1)
