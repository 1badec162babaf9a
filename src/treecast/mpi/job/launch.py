"""Starting ranks: mpirun with what it needs to outlive the deaths of ranks, a time limit, and an end that ends all of it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from treecast.errors import PlanError

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
_GRACE = 3.0  # seconds between asking mpirun to end and killing it


def find_mpirun() -> str:
    """Return the path of mpirun, the one beside this Python first. Raises PlanError when there is none."""
    beside = Path(sys.executable).parent / "mpirun"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("mpirun")
    if found is None:
        raise PlanError(
            "mpirun is missing: pip install 'treecast[mpi]', or install Open MPI 5 and put mpirun on the PATH"
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
    if "Open MPI" not in version:
        raise PlanError(f"{mpirun} is not of Open MPI, whose fault tolerance is needed: pip install 'treecast[mpi]'")
    return [mpirun, "--oversubscribe", *FAULT_TOLERANT, *extra, "-n", str(ranks), *program]


def launch(
    ranks: int,
    program: Sequence[str],
    timeout: float | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
    stderr: int | None = None,
) -> int:
    """Start ranks, wait for them, and return mpirun's exit status; 124 when ``timeout`` seconds passed first.

    Whatever is left then, or at Ctrl-C, is ended: mpirun, its process group and the processes that it started, no others.
    ``stderr``: an open file for what they complain of. Raises PlanError when mpirun cannot be started.
    """
    line = command(ranks, program, extra)
    # what an mpirun around us has set would confuse the one that we start
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PMIX_", "PRTE_", "OMPI_COMM_WORLD"))}
    try:
        child = subprocess.Popen(
            line,
            env={**inherited, **ENVIRONMENT, **(environment or {})},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stderr=stderr,
        )
    except OSError as error:
        raise PlanError(f"mpirun cannot be started: {error.strerror}") from None
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        if child.poll() is None:
            _end(child)


def _end(child: "subprocess.Popen[bytes]") -> None:
    started = descendants(child.pid)
    _signal_group(child.pid, signal.SIGTERM)
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        _signal_group(child.pid, signal.SIGKILL)
        child.wait()
    # mpirun gives each rank a process group of its own; those that outlived it are still in its session
    for pid in started:
        if _session(pid) == child.pid:
            _signal(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = list(children.get(pid, []))
    for child in found:
        found.extend(children.get(child, []))
    return found


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        return
