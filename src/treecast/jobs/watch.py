"""How the ranks of a job end, as those that watch them note it."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from treecast.groups.members import name_ranks
from treecast.jobs.ending import await_end, letter_of
from treecast.jobs.program import NOWHERE, identity, note, space

TIMED_OUT = 124
_LOOK = 0.05  # seconds between two looks at a job
_PRINTING = 0.3  # seconds in which the words of a rank that failed are passed on


class Ending(NamedTuple):
    """How a job ended: its exit status, and who ended how, in one line; "" when all ranks have ended with 0.

    ``signal``: that of the first rank that was killed, 0 when none was.
    """

    status: int
    line: str
    signal: int = 0


class Spell:
    """How long something has been so."""

    def __init__(self) -> None:
        self._so, self._since = "", 0.0

    def __call__(self, now: str) -> float:
        """Return the seconds for which it has been so as it is now; 0 where that is nothing, ""."""
        if now != self._so:
            self._so, self._since = now, time.monotonic()
        return time.monotonic() - self._since if now else 0.0


class Watch:
    """The news of the ranks of a job on this host.

    ``status``: the file into which the first rank that fails writes its exit status. Beside it each rank has a note of its
    process, ``began-RANK``, and of how it ended, ``ended-RANK``: its exit status, or below 0 the signal that killed it.
    """

    def __init__(self, status: Path, ranks: int) -> None:
        self.status, self._ranks = status, ranks

    def noted(self, name: str) -> dict[int, int]:
        """Return the notes of ranks, in the order of time."""
        notes: list[tuple[int, int, int]] = []
        for path in self.status.parent.glob(f"{name}-*"):
            with suppress(OSError, ValueError, IndexError):  # it is being written
                notes.append(
                    (path.stat().st_mtime_ns, int(path.name.partition("-")[2]), int(path.read_text().split()[0]))
                )
        return {rank: number for _, rank, number in sorted(notes)}

    def wait(
        self,
        look: Callable[[], Ending | None],
        timeout: float | None,
        children: Callable[[], Iterable["subprocess.Popen[bytes]"]],
    ) -> Ending:
        """Wait until a rank has failed, ``look`` says how the job ended, or the time is up, and return how it ended then.

        ``look`` is asked as soon as one of the ``children`` has ended.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self.status.exists():
            if (ending := look()) is not None:
                return ending
            if until is not None and time.monotonic() >= until:
                return self.ending(TIMED_OUT, f"the time limit of {timeout:g} s was up")
            left = _LOOK if until is None else min(_LOOK, max(0.0, until - time.monotonic()))
            await_end([child.pid for child in children() if child.returncode is None], left)
        time.sleep(_PRINTING)
        return self.ending(0)

    def ending(self, status: int, why: str = "") -> Ending:
        """Return how the job ended. ``status``: that of mpirun, or of the launcher, which says ``why`` it ends the job."""
        ended = self.noted("ended")
        with suppress(OSError, ValueError):
            status = int(self.status.read_text())
        killed = [-code for code in ended.values() if code < 0]
        if not status and len(killed) == self._ranks:
            status = 128 + killed[0]
        if not why and all(code == 0 for code in ended.values()):
            return Ending(status, "")
        good, left = sum(code == 0 for code in ended.values()), self._ranks - len(ended)
        words = [*([why] if why else []), *_groups(ended), f"{good} of {self._ranks} ended with 0"]
        words += [f"{left} had not ended"] if left else []
        return Ending(status, "; ".join(words), *killed[:1])


def note_began(folder: Path, rank: int) -> None:
    """Note in the folder of a job, if it is here, that this process is a rank."""
    note("began", identity(os.getpid()), folder / f"began-{rank}")


def letters(folder: Path) -> dict[int, str]:
    """Return the kernel's letter for the process of each rank that began here: Z when it has ended, T when it is stopped."""
    found: dict[int, str] = {}
    for path in folder.glob("began-*"):
        with suppress(OSError, ValueError):
            pid, began, where = map(int, path.read_text().split())
            if where == space() != NOWHERE:
                found[int(path.name.partition("-")[2])] = letter_of(pid, began)
    return found


def _groups(ended: dict[int, int]) -> list[str]:
    """Return who ended otherwise than with 0, by how."""
    groups: dict[int, list[int]] = {}
    for rank, code in ended.items():
        groups.setdefault(code, []).append(rank)
    return [f"{name_ranks(who)} {_how(code, len(who))}" for code, who in groups.items() if code]


def _how(code: int, many: int) -> str:
    return f"ended with {code}" if code > 0 else f"{'were' if many > 1 else 'was'} killed (signal {-code})"
