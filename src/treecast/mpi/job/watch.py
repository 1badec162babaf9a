"""Which jobs over MPI will never end by themselves."""

import ctypes
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from treecast.running.groups.members import name_ranks
from treecast.running.jobs.ending import ended_by_signals, letter_of
from treecast.running.jobs.watch import PATIENCE, Ending, Spell, Watch

_STARTING = 1  # of Open MPI's ompi_mpi_state: MPI_Init has begun and is not over
_FINISHING = frozenset({3, 4, 5})  # MPI_Finalize has begun
_HEAD = 8  # bytes of the number of times that a rank entered or left calls


class MpiWatch(Watch):
    """The news of the ranks of a job over MPI on this host. Each has a file for every communicator, too: see ``comm.marks``."""

    def __init__(self, status: Path, ranks: int) -> None:
        super().__init__(status, ranks)
        self._vain = Spell()

    def _waits_in_vain(self, processes: dict[int, int]) -> str:
        """Return who is in a call with ranks that have left before it; "" as far as nobody knows."""
        gone = self.noted("left")
        for path in sorted(self.status.parent.glob("calls-*")) if gone else ():
            _, name, which = path.name.split("-")
            # Odd: inside a call. Who has left with fewer calls entered never comes to this one.
            rank, (times, members) = int(name), _calls(path)
            if times % 2 and rank not in gone and letter_of(processes.get(rank, 0)) not in "TtZ":
                others = {
                    other: _calls(self.status.with_name(f"calls-{other}-{which}"))[0] for other in members & gone.keys()
                }
                if missed := [other for other, theirs in others.items() if theirs < times]:
                    have = "have" if len(missed) > 1 else "has"
                    return f"rank {rank} waits in call {times // 2 + 1} for {name_ranks(missed)}, which {have} ended"
        return ""

    def stuck(self) -> Ending | None:
        """Return how a job ends that never would by itself; None as far as nobody knows.

        Some rank has ended, and another waits for it in MPI_Init. Or a rank has left, and another waits for it in a call. Or
        those that are left are ``abandoned``: the others have ended, or wait for these in MPI_Finalize.
        """
        began, ended = self.noted("began"), self.noted("ended").keys()
        # With ranks on other hosts nobody here knows whether those live.
        on_this_host = len(began) == self._ranks  # all of them
        left = {rank: pid for rank, pid in began.items() if rank not in ended and on_this_host}
        some = 0 < len(left) < self._ranks
        may_wait = some or self.noted("lost") or any(letter_of(pid) in "Tt" for pid in left.values())
        # Looked at only when somebody may wait: it reads the memory of other processes.
        states = {rank: _state_of_mpi(pid) for rank, pid in left.items() if may_wait}
        starting = some and _STARTING in states.values()
        vain = "MPI_Init cannot end without ranks that have ended" if starting else self._waits_in_vain(left)
        # Notes and states are of different moments. So it has to be so for some seconds.
        if self._vain(vain) > PATIENCE:
            return self.ending(1, vain)
        return self.abandoned([rank for rank, state in states.items() if state in _FINISHING])


def _calls(path: Path) -> tuple[int, set[int]]:
    """Return how often a rank entered or left calls on a communicator, and the ranks of that; where nobody knows, for ever."""
    try:
        said = path.read_bytes()
    except OSError:
        return sys.maxsize - 1, set()
    return int.from_bytes(said[:_HEAD], "little"), set(map(int, said[_HEAD:].split()))


def _state_of_mpi(pid: int) -> int | None:
    """Return Open MPI's own state in a process; None of other programs, and where that cannot be read.

    No program need say so: it is the number behind ``MPI_Initialized``, read from the process's memory.
    """
    with suppress(OSError, ValueError, AttributeError):
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            # The first mapping of the library: offset 0 of the file, where its addresses begin.
            found = re.fullmatch(r"(\w+)-\w+ \S+ 0+ \S+ \d+ +(/.*/libmpi\.so\S*)", line)
            if found:
                with Path(f"/proc/{pid}/mem").open("rb") as memory:
                    memory.seek(int(found[1], 16) + _place_of_state(found[2]))
                    return int.from_bytes(memory.read(4), sys.byteorder)
    return None


@cache
def _place_of_state(library: str) -> int:
    """Return how many bytes behind the begin of Open MPI's library its state lies. Raises ValueError when it has none."""
    with ended_by_signals():  # which then takes them back: UCX, which comes with the library, keeps SIGHUP for itself
        state = ctypes.addressof(ctypes.c_int.in_dll(ctypes.CDLL(library), "ompi_mpi_state"))
    begins = [line.partition("-")[0] for line in Path("/proc/self/maps").read_text().splitlines() if library in line]
    return state - int(begins[0], 16)
