"""Run a program as a rank, watch how it ends, and end the whole job when it fails.

    program.py SCRIPT ARGUMENTS …      also -m MODULE …, -c CODE …, or - for standard input: by this Python
    program.py exec COMMAND …          any other program
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
import os
import runpy
import signal
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NoReturn

_DAEMONS = ("prted", "prterun", "mpirun")
_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that mpirun sends to the rank too, which may live on."""
_PR_SET_PDEATHSIG = 1
NOWHERE = -1
"""The space of processes where nobody knows it."""
_TORCH = {"RANK": "RANK", "WORLD_SIZE": "SIZE", "LOCAL_RANK": "LOCAL_RANK", "LOCAL_WORLD_SIZE": "LOCAL_SIZE"}
"""By torch's name: the variable of mpirun that torch.distributed does not read."""


def main(words: list[str]) -> None:
    """Start the program in a child, and watch that."""
    if words[0] == "tied":
        end_with(int(words[1]), signal.SIGTERM)
        execute(words[2:])
    if launcher := os.environ.pop("TREECAST_TIE", ""):
        end_with(int(launcher))
    for name, theirs in _TORCH.items():
        if f"OMPI_COMM_WORLD_{theirs}" in os.environ:
            os.environ.setdefault(name, os.environ[f"OMPI_COMM_WORLD_{theirs}"])
    watcher, child = os.getpid(), os.fork()
    if child:
        watch(child)
    end_with(watcher)
    if words[0] == "exec":
        execute(words[1:])
    status = 0
    try:
        run(words)
    except SystemExit as leaving:
        status = _status_of(leaving.code)
    except BaseException as error:
        shown = error.with_traceback(_of_program(error.__traceback__))
        sys.excepthook(type(shown), shown, shown.__traceback__)
        status = 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if status:
        fail(status)


def watch(child: int) -> NoReturn:
    """Wait until the rank has ended, note how, and end likewise."""
    for number in _PASSED_ON:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))  # a second one does no harm
    note("began", identity(child))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    note("ended", str(status))
    if status > 0:
        end_job(status)
    if status < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process killed when its parent ends, even by SIGKILL; or sent another signal."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
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


def _status_of(code: object) -> int:
    """Return the exit status that Python makes of the word that ``sys.exit`` was given; print a text."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where the program itself begins."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def fail(status: int) -> NoReturn:
    """End the rank without MPI_Finalize, with a status."""
    flush()
    if os.environ.get("TREECAST_ON_ERROR") == "die":  # the program has said that the others live on: treecast.mpi.wrap
        os.kill(os.getpid(), signal.SIGKILL)
    with contextlib.suppress(OSError):  # before others fail because this rank has left
        claim(status)
    if sockets := sys.modules.get("treecast.tcp.job"):  # the launcher may be gone
        sockets.abort(status)
    os._exit(status)


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


def note(name: str, text: str, place: Path | None = None) -> None:
    """Note something of this rank beside the file of the job, whole, where that is to be seen; or in another place."""
    rank = os.environ.get("TREECAST_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    place = place or job_file(f"{name}-{rank}")
    with contextlib.suppress(OSError):
        mine = place.with_name(f".{place.name}")
        mine.write_text(text)
        os.replace(mine, place)


def claim(status: int) -> None:
    """Make this exit status that of the job, unless it has one. Raises OSError where the file of the job is not to be seen."""
    place = job_file()
    mine = place.with_name(f"{place.name}.{os.getpid()}")
    mine.write_text(str(status))
    with contextlib.suppress(FileExistsError):
        os.link(mine, place)  # at once, and only the first of several


def end_job(status: int) -> NoReturn:
    """Tell the launcher that the job is to end with this exit status, and leave."""
    try:
        claim(status)
    except OSError:
        end_daemon()
    os._exit(status)


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
