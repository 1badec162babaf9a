"""How the ranks of a job end, as those that watch them note it, and which jobs will never end by themselves."""

import ctypes
import re
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from treecast.groups.members import name_ranks
from treecast.mpi.job.ending import letter_of

_STARTING = 1  # of Open MPI's ompi_mpi_state: MPI_Init has begun and is not over
_FINISHING = frozenset({3, 4, 5})  # MPI_Finalize has begun
_HEAD = 8  # bytes of the number of times that a rank entered or left calls
_PATIENCE = 3.0  # seconds that MPI_Init, or a rank that is stopped, may take when it can wait for nobody any more


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
        self._spell = Spell()

    def noted(self, what: str) -> dict[int, int]:
        """Return the notes of ranks, in the order of time."""
        notes: list[tuple[int, int, int]] = []
        for path in self.status.parent.glob(f"{what}-*"):
            with suppress(OSError, ValueError):
                notes.append((path.stat().st_mtime_ns, int(path.name.partition("-")[2]), int(path.read_text())))
        return {rank: number for _, rank, number in sorted(notes)}

    def _left(self) -> dict[int, int]:
        """Return the processes of the ranks that have not ended; none when not all of them are on this host."""
        began, ended = self.noted("began"), self.noted("ended")
        return {rank: pid for rank, pid in began.items() if rank not in ended} if len(began) == self._ranks else {}

    def _waits_in_vain(self, processes: dict[int, int]) -> str:
        """Return who is in a call with ranks that have left before it; "" as far as nobody knows."""
        gone = self.noted("left")
        for path in sorted(self.status.parent.glob("calls-*")) if gone else ():
            _, name, which = path.name.split("-")
            rank, (times, members) = int(name), _calls(path)
            if times % 2 and rank not in gone and letter_of(processes.get(rank, 0)) not in "TtZ":
                others = {
                    other: _calls(self.status.with_name(f"calls-{other}-{which}"))[0] for other in members & gone.keys()
                }
                if missed := [other for other, theirs in others.items() if theirs < times]:
                    have = "have" if len(missed) > 1 else "has"
                    return f"rank {rank} waits in call {times // 2 + 1} for {name_ranks(missed)}, which {have} ended"
        return ""

    def stuck(self, stopped_too: bool) -> Ending | None:
        """Return how a job ends that never would by itself; None as far as nobody knows.

        Some rank has ended, and another waits for it in MPI_Init. Or a rank has left, and another waits for it in a call. Or, if
        stopped ranks count, all others have ended, or wait for these in MPI_Finalize.
        """
        left = self._left()
        stopped = [rank for rank, pid in left.items() if stopped_too and letter_of(pid) in "Tt"]
        if vain := self._waits_in_vain(left):
            return self.ending(1, vain) if self._spell(vain) > _PATIENCE else None
        if not stopped and len(left) in (0, self._ranks):
            self._spell("")
            return None
        states = {_state_of_mpi(pid) for rank, pid in left.items() if rank not in stopped}
        over = 0 < len(stopped) < self._ranks and states <= _FINISHING
        starting = len(left) < self._ranks and _STARTING in states
        if self._spell("over" if over else "starting" if starting else "") <= _PATIENCE:
            return None
        if over:
            return self.ending(0, f"{name_ranks(stopped)} did not end, being stopped")
        return self.ending(1, "MPI_Init cannot end without ranks that have ended")

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
        return Ending(status, "; ".join([*([why] if why else []), *_groups(ended), *self._others(ended)]), *killed[:1])

    def _others(self, ended: dict[int, int]) -> list[str]:
        """Return the words on the ranks that did not end badly."""
        good, left = sum(code == 0 for code in ended.values()), self._ranks - len(ended)
        words = [f"{good} of {self._ranks} ended with 0"]
        return [*words, f"{left} had not ended"] if left else words


def _calls(path: Path) -> tuple[int, set[int]]:
    """Return how often a rank entered or left calls on a communicator, and the ranks of that; where nobody knows, for ever."""
    try:
        said = path.read_bytes()
    except OSError:
        return sys.maxsize - 1, set()
    return int.from_bytes(said[:_HEAD], "little"), set(map(int, said[_HEAD:].split()))


def _groups(ended: dict[int, int]) -> list[str]:
    """Return who ended otherwise than with 0, by how."""
    groups: dict[int, list[int]] = {}
    for rank, code in ended.items():
        groups.setdefault(code, []).append(rank)
    return [f"{name_ranks(who)} {_how(code, len(who))}" for code, who in groups.items() if code]


def _how(code: int, many: int) -> str:
    return f"ended with {code}" if code > 0 else f"{'were' if many > 1 else 'was'} killed (signal {-code})"


def _state_of_mpi(pid: int) -> int | None:
    """Return Open MPI's own state in a process; None of other programs, and where that cannot be read.

    No program need say so: it is the number behind ``MPI_Initialized``, read from the process's memory.
    """
    with suppress(OSError, ValueError, AttributeError):
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            found = re.fullmatch(r"(\w+)-\w+ \S+ 0+ \S+ \d+ +(/.*/libmpi\.so\S*)", line)
            if found:
                with Path(f"/proc/{pid}/mem").open("rb") as memory:
                    memory.seek(int(found[1], 16) + _place_of_state(found[2]))
                    return int.from_bytes(memory.read(4), sys.byteorder)
    return None


@cache
def _place_of_state(library: str) -> int:
    """Return how many bytes behind the begin of Open MPI's library its state lies. Raises ValueError when it has none."""
    state = ctypes.addressof(ctypes.c_int.in_dll(ctypes.CDLL(library), "ompi_mpi_state"))
    begins = [line.partition("-")[0] for line in Path("/proc/self/maps").read_text().splitlines() if library in line]
    return state - int(begins[0], 16)
