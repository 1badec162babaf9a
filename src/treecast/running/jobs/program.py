"""Run a program as a rank, watch how it ends, and end the whole job when it fails.

    program.py SCRIPT ARGUMENTS …      also -m MODULE …, -c CODE …, or - for standard input: by this Python
    program.py exec COMMAND …          any other program
    program.py there COMMAND …         ssh, which ends with 128 + n when signal n has ended the rank there
    program.py tied PARENT COMMAND …   a program that is asked to end (SIGTERM) when PARENT does, which starts this: mpirun

Under fault tolerance the others live on when a rank ends, and others that wait for it may wait for ever, also after MPI_Abort. So
the process that mpirun starts only watches its child, which is the rank. It notes how the rank ends beside the file that
TREECAST_JOB names. An exit status other than 0 it writes into that file, whose reader, the launcher, ends the job. On another
host, where that file is not to be seen, it ends the daemon of Open MPI that started it, and so the job. A rank that is killed
ends nothing.

A Python program that fails leaves without MPI_Finalize, which would wait for the others. It is run in this process, so that its
exceptions and exits are seen. It is run as a file and imports the standard library only: the program's Python need not have
treecast.
"""

import contextlib
import ctypes
import fcntl
import io
import os
import runpy
import select
import signal
import socket
import sys
import textwrap
import tty
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NoReturn, cast

_DAEMONS = ("prted", "prterun", "mpirun")
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)
"""Signals that launchers pass on to the ranks of this host."""
_IGNORED = (signal.SIGHUP, signal.SIGINT, *PASSED_ON)
"""Signals that come to the rank, too, which may live on."""
_PR_SET_PDEATHSIG = 1
NOWHERE = -1
"""The space of processes where nobody knows it."""
_TORCH = {"RANK": "RANK", "WORLD_SIZE": "SIZE", "LOCAL_RANK": "LOCAL_RANK", "LOCAL_WORLD_SIZE": "LOCAL_SIZE"}
"""By torch's name: the variable of mpirun that torch.distributed does not read."""
_CHUNK = 1 << 16
_HELD = 1 << 20  # bytes that a pipe holds at most: no more can a dead rank have left in it
_LONGEST = 1 << 24  # bytes of a line: a longer one goes out in parts
_WORDS = 250  # letters of an error in the launcher's line
_LOOK = 500  # ms after which a rank is looked at, where the kernel does not tell of its end


def main(words: list[str]) -> None:
    """Start the program in a child, and watch that."""
    # 1. A program that only has to end with its parent: nothing is watched.
    if words[0] == "tied":
        end_with(int(words[1]), signal.SIGTERM)
        execute(words[2:])
    if launcher := os.environ.pop("TREECAST_TIE", ""):
        end_with(int(launcher))
    # 2. The variables of the rank.
    for name, theirs in _TORCH.items():
        if f"OMPI_COMM_WORLD_{theirs}" in os.environ:
            os.environ.setdefault(name, os.environ[f"OMPI_COMM_WORLD_{theirs}"])
    # 3. Its outputs, and no notes of a rank that was here before.
    streams = [RankOutput(file) for file in (1, 2)]
    go_past_mpirun()
    for name in ("ended", "why", "left", "lost"):  # of the rank in whose place this one comes
        with contextlib.suppress(OSError):
            job_file(f"{name}-{number_of_rank()}").unlink()
    # 4. Two processes: the parent watches, and never comes back from that.
    watcher, child = os.getpid(), os.fork()
    if child:
        watch(child, streams, words[0] == "there")
    # 5. The child becomes the rank. It dies with its watcher: nobody would tell of it otherwise.
    end_with(watcher)
    for stream in streams:
        stream.become()
    for name in [name for name in os.environ if name.startswith("TREECAST_") and words[0] == "there"]:
        del os.environ[name]  # they are of this host
    for number in PASSED_ON if words[0] == "there" else ():  # they would kill ssh
        signal.signal(number, signal.SIG_IGN)
    if words[0] in ("exec", "there"):
        os.environ.setdefault("PYTHONUNBUFFERED", "1")  # it may start Python
        execute(words[1:])
    # 6. A Python program, in this process: its exceptions and exits are seen.
    for file, name in ((1, "stdout"), (2, "stderr")):
        with contextlib.suppress(AttributeError):  # there is none
            renew(file, name)
    status, why = 0, ""
    try:
        run(words)
    except SystemExit as leaving:
        code = leaving.code or 0
        status = code & 0xFF if isinstance(code, int) else 1
        if not isinstance(code, int):
            sys.stderr.write(f"{code}\n")
    except BaseException as error:
        shown = error.with_traceback(_of_program(error.__traceback__))
        why = describe(error)
        sys.excepthook(type(shown), shown, shown.__traceback__)
        status = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if status:
        fail(status, why)


class RankOutput:
    """An output of a rank, on its way to that of the launcher in whole lines: those of several ranks never mix.

    ``to``: the file where it goes. The rank gets a terminal where that is one. With TREECAST_TAG the number of the rank stands
    before each line; with TREECAST_LOGS they go into a file of the rank in that folder, too.
    """

    def __init__(self, to: int) -> None:
        self.reads, self._writes = os.openpty() if os.isatty(to) else os.pipe()
        if os.isatty(to):
            tty.setraw(self._writes)  # bytes stay as they are
        self._to, self._rest, self._lock, rank = to, bytearray(), self.reads, number_of_rank()
        self._tag = f"[{rank}] ".encode() if "TREECAST_TAG" in os.environ else b""
        with contextlib.suppress(OSError):  # other hosts have no folder of the job, nor other writers
            self._lock = os.open(job_file("lines"), os.O_RDWR | os.O_CREAT, 0o600)
        logs = os.environ.get("TREECAST_LOGS")
        self._log = open(f"{logs}/rank-{rank}.log" if logs else os.devnull, "ab", 0)  # noqa: SIM115

    def become(self) -> None:
        """Have this process, the rank, write here."""
        os.dup2(self._writes, self._to)
        os.close(self.reads)

    def keep(self) -> int:
        """Leave the writing to the rank; return the file where it is read."""
        os.close(self._writes)
        return self.reads

    def pass_on(self) -> int:
        """Pass on the lines of what there is to read; return its bytes, 0 when nothing comes any more, and -1 when not now."""
        rest, first = self._rest, max(0, len(self._rest) - 1)
        try:
            got = os.read(self.reads, _CHUNK)
        except OSError as error:  # the end of a terminal is one
            return -isinstance(error, BlockingIOError)
        rest += got
        # Up to the last end of a line: only whole lines go out, so words of several ranks never share one.
        cut = 1 + max(rest.rfind(b"\n", first), rest.rfind(b"\r", first, -1))  # what begins with \r goes over a line
        cut = len(rest) if not cut and len(rest) > _LONGEST else cut
        lines = bytes(rest[:cut])
        del rest[:cut]
        return len(got) if self._write(lines) else 0

    def close(self, is_over: bool = False) -> None:
        """Read no more: who still writes hears that. ``is_over``: the rank has ended, and what it has left here goes out."""
        left, got = _HELD * is_over, 1
        os.set_blocking(self.reads, False)
        while left > 0 and got > 0:
            left -= (got := self.pass_on())
        alone = "1" in (os.environ.get("TREECAST_SIZE"), os.environ.get("OMPI_COMM_WORLD_SIZE"))
        self._write(bytes(self._rest) + b"\n" * bool(self._rest and not alone))  # the next line begins anew
        os.close(self.reads)

    def _write(self, lines: bytes) -> bool:
        """Write lines, and let no other rank between; return whether somebody reads them."""
        with contextlib.suppress(OSError):
            self._log.write(lines)
        if self._tag:
            lines = b"".join(self._tag + line for line in lines.splitlines(keepends=True))
        # A lock of the file system: the writers are processes of their own. It goes with the process that dies.
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            while lines:
                select.select((), (self._to,), ())  # others may have made it one that does not block
                lines = lines[os.write(self._to, lines) :]
        except OSError:
            return False
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        return True


def renew(file: int, name: str) -> None:
    """Have Python write to a file anew, which it takes for the one that was there when it started: a regular one, say."""
    old = cast("io.TextIOWrapper", getattr(sys, name))
    raw, at_once = io.FileIO(file, "wb", closefd=False), old.write_through
    raw.name = f"<{name}>"  # as Python calls it
    to = cast("io.BufferedWriter", raw) if at_once else io.BufferedWriter(raw)
    # what waits in a line is lost with the rank
    new = io.TextIOWrapper(to, old.encoding, old.errors, line_buffering=True, write_through=at_once)
    setattr(sys, name, new)
    setattr(sys, f"__{name}__", new)


def go_past_mpirun() -> None:
    """Take the launcher's own output from it, when it hands it out: mpirun would cut lines."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as launcher:
        launcher.connect(str(job_file("output")))
        for name, file in enumerate(socket.recv_fds(launcher, 1, 2)[1], 1):
            os.dup2(file, name)
            os.close(file)


def watch(child: int, streams: list[RankOutput], is_far: bool = False) -> NoReturn:
    """Wait until the rank has ended, note how, and end likewise. ``is_far``: the child tells of a rank on another host."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))  # a second one does no harm
    note("began", identity(child))
    status = pass_on(child, streams)
    status = 128 - status if is_far and 128 < status < 255 else status
    note("ended", str(status))
    for stream in streams:
        stream.close(is_over=True)
    # mpirun and the launcher see this process alone: it ends as the rank did.
    if status < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if status > 0:
        try:
            claim(status)
        except OSError:
            end_daemon()
    os._exit(status)


def pass_on(child: int, streams: list[RankOutput]) -> int:
    """Pass on what a rank prints until it has ended; return its exit status, below 0 for a signal."""
    ends, reads = select.poll(), {stream.keep(): stream for stream in streams}
    for file in reads:
        ends.register(file, select.POLLIN)
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it
        ends.register(os.pidfd_open(child), select.POLLIN)
    while True:
        for file, _ in ends.poll(_LOOK):
            # Nothing comes any more, or nobody reads it: then the rank hears so at its next write, as without a
            # watcher.
            if file in reads and not reads[file].pass_on():
                ends.unregister(file)
                reads[file].close()
                streams.remove(reads.pop(file))
        if (ended := os.waitpid(child, os.WNOHANG))[0]:
            return os.waitstatus_to_exitcode(ended[1])


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process killed when its parent ends, even by SIGKILL; or sent another signal."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    # The parent may have ended before the line above: then the kernel tells nobody.
    if os.getppid() != parent:
        os._exit(1)


def execute(command: list[str]) -> NoReturn:
    """Become another program."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        os._exit(127)


def run(words: list[str]) -> None:
    """Run a program as Python would, with its words as ``sys.argv``."""
    sys.argv[:] = words
    first = words[0]
    if not sys.flags.safe_path:  # it is now the folder of this file
        sys.path[0] = os.path.dirname(os.path.realpath(first)) if first not in ("-m", "-c", "-") else ""
    if first == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    elif first in ("-c", "-"):
        code = sys.argv.pop(1) if first == "-c" else sys.stdin.read()
        fresh = ModuleType("__main__")
        sys.modules["__main__"] = fresh
        exec(compile(code, "<string>" if first == "-c" else "<stdin>", "exec"), fresh.__dict__)
    else:
        runpy.run_path(first, run_name="__main__")


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where the program itself begins."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def describe(error: BaseException) -> str:
    """Return in one line that a rank raised an error."""
    return f"raised {type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")


def fail(status: int, why: str = "") -> NoReturn:
    """End the rank without MPI_Finalize, with a status; ``why``: in words, when it raised an error."""
    say_last(why or f"ended with {status}", status)
    with contextlib.suppress(OSError):  # before others fail because this rank has left
        claim(status)
    if sockets := sys.modules.get("treecast.tcp.job"):  # the launcher may be gone
        sockets.abort(status)
    os._exit(status)


def say_last(why: str, status: int) -> None:
    """Pass on all that has been printed, and note why the rank fails, with which status; it dies where its terms say so."""
    flush()
    note("why", f"{status} {textwrap.shorten(why, _WORDS, placeholder=' …')}")
    if os.environ.get("TREECAST_ON_ERROR") == "die":  # the program has said that the others live on: treecast.mpi.wrap
        os.kill(os.getpid(), signal.SIGKILL)


def words_of(pid: int | str) -> tuple[str, list[str]]:
    """Return the name of a process, and the kernel's words behind it. Raises OSError when it has ended, or there is no /proc."""
    name, _, words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return name.partition("(")[2], words.split()


def space() -> int:
    """Return the number of the space in which processes are numbered here: other hosts, or containers, have others."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return NOWHERE


def identity(pid: int) -> str:
    """Return a process in words: its number, when it began, in ticks since the machine did, and the space of numbers."""
    try:
        return f"{pid} {words_of(pid)[1][19]} {space()}"
    except (OSError, IndexError):
        return f"{pid} 0 {NOWHERE}"


def job_file(name: str = "status") -> Path:
    """Return the file into which a rank that fails writes the job's exit status, or one beside it."""
    return Path(os.environ.get("TREECAST_JOB", "/none/status")).with_name(name)


def number_of_rank() -> str:
    """Return the rank that this process is, or watches."""
    return os.environ.get("TREECAST_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK", "0")


def note(name: str, text: str, place: Path | None = None) -> None:
    """Note something of this rank beside the file of the job, whole, where that is to be seen; or in another place."""
    place = place or job_file(f"{name}-{number_of_rank()}")
    with contextlib.suppress(OSError):
        mine = place.with_name(f".{place.name}")
        mine.write_text(text)
        # Whole or not at all: a reader looks at any moment.
        os.replace(mine, place)


def claim(status: int) -> None:
    """Make this exit status that of the job, unless it has one. Raises OSError where the file of the job is not to be seen."""
    place = job_file()
    mine = place.with_name(f"{place.name}.{os.getpid()}")
    mine.write_text(str(status))
    with contextlib.suppress(FileExistsError):
        os.link(mine, place)  # at once, and only the first of several


def flush() -> None:
    """Pass on all that has been printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def end_daemon() -> None:
    """End the daemon of Open MPI that started this process, and with it all that it started; nobody else's parent."""
    parent = os.getppid()
    with contextlib.suppress(OSError, ValueError, IndexError):
        for _ in range(2):  # a watcher may stand between
            name, words = words_of(parent)
            if name in _DAEMONS:
                os.kill(parent, signal.SIGTERM)
                return
            parent = int(words[1])


if __name__ == "__main__":
    main(sys.argv[1:])
