"""How the ranks of a job end, as those that watch them note it."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from treecast.running.groups.members import name_ranks
from treecast.running.jobs.ending import await_end, letter_of, passing_on
from treecast.running.jobs.program import NOWHERE, identity, note, space

TIMED_OUT = 124
PATIENCE = 3.0  # seconds that a rank may take when it can wait for nobody any more
_GRACE = 1.0  # seconds in which others may say themselves that they cannot begin
_STOPPED = ("T", "t")
_FEW = 8  # ranks that have not ended, which the launcher's line names
# The end of a child wakes the launcher at once. This is for notes, which nobody announces.
_LOOK = 0.05  # seconds between two looks at a job
_PRINTING = 1.0  # seconds in which the words of ranks that fail together are passed on


class Ending(NamedTuple):
    """How a job ended: its exit status, and who ended how, in one line; "" when all ranks have ended with 0.

    ``first``: the exit status of the first rank that was killed, or died of its own error; 0 when none was.
    """

    status: int
    line: str
    first: int = 0


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
    process, ``began-RANK``, and of how it ended, ``ended-RANK``: its exit status, or below 0 the signal that killed it; of its
    own error, ``why-RANK``: its exit status, and in words; that it is in its exit, ``left-RANK``; and how many events of each
    name it has told, ``events-RANK``. Others note that they have put it out, ``lost-RANK``. ``anew``: which were started anew.
    """

    def __init__(self, status: Path, ranks: int) -> None:
        self.status, self._ranks, self._spell, self._begin = status, ranks, Spell(), Spell()
        self.has_begun, self.anew = False, set[int]()

    def noted(self, name: str) -> dict[int, int]:
        """Return the numbers with which the notes of ranks begin."""
        return {rank: int(text.split()[0]) for rank, text in _notes(self.status.parent, name).items() if text.strip()}

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
        with passing_on(self._processes):
            while not self.status.exists():
                if (ending := look()) is not None:
                    return ending
                if until is not None and time.monotonic() >= until:
                    return self.ending(TIMED_OUT, f"the time limit of {timeout:g} s was up{_who_tells()}")
                left = _LOOK if until is None else min(_LOOK, max(0.0, until - time.monotonic()))
                await_end([child.pid for child in children() if child.returncode is None], left)
            # A rank has failed, and others may be about to: with their words the line tells all.
            until = time.monotonic() + _PRINTING
            while len(self.noted("ended")) < self._ranks and time.monotonic() < until:
                time.sleep(_LOOK)
            return self.ending(0)

    def _processes(self) -> list[int]:
        """Return the processes of the ranks that live here."""
        began = self.noted("began")
        return [began[rank] for rank, letter in letters(self.status.parent).items() if letter != "Z"]

    def ending(self, status: int, why: str = "", rest: Mapping[int, str] | None = None) -> Ending:
        """Return how the job ended. ``status``: that of mpirun, or of the launcher, which says ``why`` it ends the job.

        ``rest``: what was of ranks that the launcher ends; "" of those that have done all but end their process, as they may have
        noted themselves.
        """
        codes, own = self.noted("ended"), self.noted("why")
        over = codes.keys() | own.keys()
        rest = {**dict.fromkeys(self.noted("left").keys() - over, ""), **(rest or {})}
        said = {rank: text.partition(" ")[2] for rank, text in _notes(self.status.parent, "why").items()}
        died = [code for code in codes.values() if code < 0]
        # who dies of its own error ends with a status, too
        first = [status for rank, status in own.items() if codes.get(rank, 0) < 0] + [128 - code for code in died]
        # Nobody survived: the job cannot have ended well.
        if len(died) == self._ranks:
            status = first[0]
        with suppress(OSError, ValueError):
            status = int(self.status.read_text())
        bad = {rank: said.get(rank) or _how(codes[rank]) for rank in [*codes, *own] if codes.get(rank, 1)}
        worse = {rank: how for rank, how in rest.items() if how}
        # mpirun may end with 0 when all ranks have ended the job themselves, at once
        status = status or int(len(bad) == self._ranks)
        told = Counter[str]()
        for text in _notes(self.status.parent, "events").values():
            told |= Counter(json.loads(text))
        counts = ", ".join(f"{count} {name}" for name, count in told.items())
        anew = _groups(dict.fromkeys(self.anew, "{was} started anew"))
        if not why and not bad and not worse and not anew:
            return Ending(status, counts and f"events: {counts}")
        left = set(range(self._ranks)) - over - rest.keys()
        good = self._ranks - len(left) - len(bad) - len(worse)
        words = [*([why] if why else []), *anew, *_groups(bad)]
        words += [f"{good} of {self._ranks} ended with 0", *_groups(worse)]
        words += [f"{name_ranks(left) if len(left) <= _FEW else f'{len(left)} ranks'} had not ended"] if left else []
        words += [f"events: {counts}"] if counts else []
        return Ending(status, "; ".join(words), *[*first, (128 + signal.SIGKILL) * bool(worse)][:1])

    def hear(self, rank: int, lost: Iterable[int]) -> None:
        """Take in that a rank is connected to all but those that are lost to it."""
        for name in (f"joined-{rank}", *(f"lost-{other}" for other in lost)):
            note(name, "0", self.status.with_name(name))

    def not_begun(self, came: Collection[int]) -> Ending | None:
        """Return how a job ends that waits for ranks which have ended before all were connected; None while it does not.

        ``came``: who waits, or did. Programs that join nobody wait for nobody.
        """
        joined = self.noted("joined") if not self.has_begun else {}
        self.has_begun = self.has_begun or len(joined) == self._ranks
        early = self.noted("ended").keys() - joined.keys() if came and not self.has_begun else ()
        who = name_ranks(early) if early else ""
        # Those that wait may say a better reason themselves, and end with it.
        if self._begin(who) <= _GRACE:
            return None
        return self.ending(1, f"the job cannot begin without {who}, which ended before all were connected")

    def abandoned(self, well: Collection[int] = ()) -> Ending | None:
        """Return how a job ends in which all ranks have ended but some that are stopped, or that the others have put out.

        None as far as that is not so, or not yet for some seconds. ``well``: ranks that have done all but end their process.
        """
        codes = self.noted("ended")
        left, rest = set(range(self._ranks)) - codes.keys() - set(well), dict[int, str]()
        if 0 < len(left) < self._ranks:
            now, lost = letters(self.status.parent), self.noted("lost").keys()
            stopped = {rank for rank in left if now.get(rank, "") in _STOPPED}
            rest = {rank: "stopped" if rank in stopped else "silent" for rank in left & (stopped | lost)}
        # It has to be so, and to stay the same, for some seconds: notes come one after the other.
        if self._spell(str(rest) if rest.keys() == left else "") <= PATIENCE:
            return None
        status = 0 if well or 0 in codes.values() else 128 + signal.SIGKILL
        ends = {rank: f"{{was}} {how}, and {{was}} ended" for rank, how in rest.items()}
        return self.ending(status, "", {**dict.fromkeys(well, ""), **ends})


@contextmanager
def folder_of_job() -> Generator[Path]:
    """Make a temporary folder for the notes of a job, and remove those that launchers have left which were killed."""
    for path in Path(tempfile.gettempdir()).glob("treecast-*.*.*-*"):
        with suppress(OSError):
            # The name has the launcher's identity, with dots for blanks. Z: it has ended, and cannot remove its
            # folder any more.
            owner = path.name.split("-")[1].replace(".", " ")
            if _letter_of(owner) == "Z" and path.stat().st_uid == os.getuid():
                shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"treecast-{identity(os.getpid()).replace(' ', '.')}-") as folder:
        yield Path(folder)


def note_began(folder: Path, rank: int) -> None:
    """Note in the folder of a job, if it is here, that this process is a rank."""
    note("began", identity(os.getpid()), folder / f"began-{rank}")


def letters(folder: Path) -> dict[int, str]:
    """Return the kernel's letter for the process of each rank that began here: Z when it has ended, T when it is stopped."""
    found = {rank: _letter_of(text) for rank, text in _notes(folder, "began").items()}
    return {rank: letter for rank, letter in found.items() if letter}


def _letter_of(words: str) -> str:
    """Return the kernel's letter for a process in words (``identity``); "" where nobody here knows it."""
    try:
        pid, began, where = map(int, words.split())
    except ValueError:
        return ""
    return letter_of(pid, began) if where == space() != NOWHERE else ""


def _notes(folder: Path, name: str) -> dict[int, str]:
    """Return the notes of ranks, in the order of time."""
    notes: list[tuple[int, int, str]] = []
    for path in folder.glob(f"{name}-*"):
        # A note may go while they are read.
        with suppress(OSError, ValueError):
            rank = int(path.name.partition("-")[2])
            notes.append((path.stat().st_mtime_ns, rank, path.read_text(errors="replace")))
    return {rank: text for _, rank, text in sorted(notes)}


def _groups(ends: Mapping[int, str]) -> list[str]:
    """Return who ended how, those together that ended alike."""
    alike = {how: [rank for rank in ends if ends[rank] == how] for how in dict.fromkeys(ends.values())}
    were = {how: "were" if len(who) > 1 else "was" for how, who in alike.items()}
    return [f"{name_ranks(who)} {how.replace('{was}', were[how])}" for how, who in alike.items()]


def _who_tells() -> str:
    """Return where it stands what the ranks of a job waited for, or how they are to keep that."""
    folder = os.environ.get("TREECAST_DUMP")
    kept = f"treecast why {folder} says" if folder else "with TREECAST_DUMP=records, treecast why records says"
    return f" ({kept} who waited for whom)"


def _how(code: int) -> str:
    return f"ended with {code}" if code > 0 else f"{{was}} killed (signal {-code})"
