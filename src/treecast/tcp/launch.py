"""Starts the ranks of a job on this machine: processes that meet here, a time limit, and an end that ends all of it."""

import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from treecast.errors import PlanError
from treecast.mpi.job.ending import end_all, ended_by_signals
from treecast.mpi.job.launch import TIMED_OUT, ending_the_job
from treecast.mpi.job.watch import Ending, Watch
from treecast.tcp.meeting import Place
from treecast.tcp.proof import Trust

_LOOK = 0.05
_PRINTING = 0.3  # seconds that other ranks have to print, when one has failed


def launch(
    ranks: int,
    program: Sequence[str],
    timeout: float | None = None,
    *,
    respawn: int = 0,
    environment: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> Ending:
    """Start ranks of a program, wait for them, and return how the job ended.

    The job ends with the first rank that fails, with its status; after ``timeout`` seconds with 124; and with SIGINT, SIGTERM and
    SIGHUP. A rank that a signal ends (SIGKILL, say) ends nothing: that is what the others survive. Then the status is 0 if
    some rank ends well. ``respawn``: how many such ranks are started anew, as newcomers (``Comm.admit``). Raises PlanError when
    nothing starts.
    """
    if ranks < 1:
        raise PlanError(f"{ranks} ranks do nothing: write -n 4, say")
    if not program:
        raise PlanError("there is nothing to start: write treecast launch --tcp -n 4 -- COMMAND …")
    secret = secrets.token_bytes(32)
    place = Place(ranks, Trust(secret), ("127.0.0.1", 0))
    with ended_by_signals(), tempfile.TemporaryDirectory(prefix="treecast-") as folder:
        watch = Watch(Path(folder, "status"), ranks)
        shared = {
            **os.environ,
            **(environment or {}),
            "TREECAST_SIZE": str(ranks),
            "TREECAST_MEET": f"127.0.0.1:{place.port}",
            "TREECAST_SECRET": secret.hex(),
            "TREECAST_JOB": str(watch.status),
        }
        line = ending_the_job(program)
        children: dict[int, subprocess.Popen[bytes]] = {}
        try:
            for rank in range(ranks):
                children[rank] = _start(line, {**shared, "TREECAST_RANK": str(rank)}, stdout)
            return _wait(children, timeout, watch, _Respawn(line, shared, respawn, stdout))
        finally:
            for child in children.values():
                if child.poll() is None:
                    child.terminate()
            for child in children.values():
                end_all(child)
            place.close()


class _Respawn:
    """Starts ranks anew, as often as is allowed."""

    def __init__(self, line: Sequence[str], shared: Mapping[str, str], left: int, stdout: int | None) -> None:
        self._line, self._shared, self._left, self._stdout = line, shared, left, stdout

    def start(self, rank: int) -> "subprocess.Popen[bytes] | None":
        """Return a new process of a rank; None when there have been enough."""
        if not self._left:
            return None
        self._left -= 1
        return _start(self._line, {**self._shared, "TREECAST_RANK": str(rank), "TREECAST_JOIN": "1"}, self._stdout)


def _start(line: Sequence[str], environment: Mapping[str, str], stdout: int | None) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(line, env=environment, start_new_session=True, stdin=subprocess.DEVNULL, stdout=stdout)
    except OSError as error:
        raise PlanError(f"{line[0]} cannot be started: {error.strerror}") from None


def _wait(
    children: "dict[int, subprocess.Popen[bytes]]", timeout: float | None, watch: Watch, respawn: _Respawn
) -> Ending:
    """Wait until all have ended, one has failed, or the time is up; return the status of the job."""
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        if watch.status.exists():
            time.sleep(_PRINTING)
            return watch.ending(0)
        statuses = {rank: child.poll() for rank, child in children.items()}
        for rank, status in statuses.items():
            if status is not None and status > 0:
                return watch.ending(status)
            if status is not None and status < 0 and any(other is None for other in statuses.values()):
                started = respawn.start(rank)
                if started is not None:
                    children[rank] = started
                    statuses[rank] = None
        if all(status is not None for status in statuses.values()):
            ended = [status for status in statuses.values() if status is not None]
            return watch.ending(0 if 0 in ended else 128 - min(ended))
        if until is not None and time.monotonic() >= until:
            return watch.ending(TIMED_OUT, f"the time limit of {timeout:g} s was up")
        time.sleep(_LOOK)
