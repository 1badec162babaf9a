"""How jobs end: by a signal, by a rank that fails, stops or dies late, by time. Nothing of them may be left 5 s later."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mpi.conftest import ROOT, missing
from treecast.running.jobs.command import ending_the_job

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")
FAULTY = ROOT / "tests" / "mpi" / "faulty"
LAUNCH = [sys.executable, "-m", "treecast", "launch"]

STAY = """
import os, signal, subprocess, sys, time
if {mpi}: from mpi4py import MPI
subprocess.Popen(["sleep", "500"])
print("ready", flush=True)
if os.environ["OMPI_COMM_WORLD_RANK"] == "1": os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(500)
"""


def processes():
    """Return the parent of every process, as ps tells: a process is its number and when it began."""
    table = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,stat=,lstart="], capture_output=True, text=True, check=True, timeout=100
    ).stdout
    lines = [line.split(maxsplit=3) for line in table.splitlines()]
    return {(int(pid), began): int(parent) for pid, parent, stat, began in lines if not stat.startswith("Z")}


def started_by(pid):
    """Return a process and all that it has started, and they."""
    every = processes()
    found, more = set(), {pid}
    while more:
        found |= (new := {process for process in every if process[0] in more} - found)
        more = {pid for (pid, began), parent in every.items() if parent in {p for p, _ in new}}
    return found


def assert_gone(those, seconds=200.0):
    """Wait until nothing is left of some processes."""
    until = time.monotonic() + seconds
    while left := those & set(processes()):
        assert time.monotonic() < until, left
        time.sleep(0.1)


@contextlib.contextmanager
def followed(command, **environment):
    """Start a command, and see to it that nothing is left of it in the end; yield it, and a list of what was seen of it."""
    started = subprocess.Popen(
        [*map(str, command)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup, or what began the tests, ignores it
    )
    try:
        yield started
    finally:
        if started.poll() is None:
            started.terminate()
        started.communicate(timeout=60)


def end_to_end(command, **environment):
    """Run a command; return its status and what it printed, when nothing is left of what it had started."""
    seen = set()
    with followed(command, **environment) as started:
        while started.poll() is None:
            seen |= started_by(started.pid)
            time.sleep(0.2)
        out, err = started.communicate(timeout=100)
        assert seen
        assert_gone(seen)
    return started.returncode, out, err


def check_signals(numbers, program):
    """Send each signal to a launcher of its own: all end at once, with what they started, stopped ranks and their children."""
    with contextlib.ExitStack() as stack:
        jobs = [stack.enter_context(followed([*LAUNCH, "-n", 2, "--", sys.executable, "-c", program])) for _ in numbers]
        for job in jobs:
            assert [job.stdout.readline(), job.stdout.readline()] == ["ready\n"] * 2
        seen = [started_by(job.pid) for job in jobs]
        assert all(len(each) >= 6 for each in seen)
        for job, number in zip(jobs, numbers, strict=True):
            job.send_signal(number)
        for job, number in zip(jobs, numbers, strict=True):
            assert job.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
        for each in seen:
            assert_gone(each)


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


EARLY = """
import os, signal, sys, time
if os.environ["OMPI_COMM_WORLD_RANK"] == "1": {before}
from mpi4py import MPI
import treecast.mpi
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive={survive})
if comm.rank == 1: {after}
comm.Barrier()
comm.Barrier()
"""
STOP = "os.kill(os.getpid(), signal.SIGSTOP)"
TIMER = "signal.setitimer(signal.ITIMER_REAL, {})"


def run_of(tmp_path, treecast, kind="broadcast", network="hypercube:2", *options):
    """Return a command that carries a small plan out over MPI."""
    assert treecast("plan", kind, network, "--messages", 6, "-o", tmp_path / "plan.tc", *options).returncode == 0
    (tmp_path / "data").write_bytes(bytes(range(200)) * 50)
    run = ["run", tmp_path / "plan.tc", "--mpi", "--input", tmp_path / "data", "--json"]
    return [sys.executable, "-m", "treecast", *run]


def verdicts(out):
    """Return the findings, and the verdict on each rank."""
    found = json.loads(out)
    return found, [node["verdict"] for node in found["node_reports"]]


def paths():
    """Return a PYTHONPATH whose first folder makes ranks fail."""
    return os.pathsep.join([str(FAULTY), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize(
    ("words", "place"),
    [("python a.py -m b", 1), ("python3.12 -u -W ignore -X dev -m mod", 6), ("/x/python -Wignore -c 1", 2), ("python -", 1),
     ("python", 0), ("python -c", 0), ("python -uc 1", 0), ("python --version", 0), ("hostname -f", 0), ("pythonic a.py", 0)],
)  # fmt: skip
def test_a_python_program_is_known(words, place, monkeypatch, tmp_path):
    monkeypatch.setattr("treecast.running.jobs.command._find", str)  # no program is there under these names
    monkeypatch.chdir(tmp_path)
    Path("a.py").touch()
    words = words.split()
    found = ending_the_job(words)
    at = next(k for k, word in enumerate(found) if word.endswith("jobs/program.py"))
    if place:
        assert (at, found[:at] + found[at + 1 :]) == (place, words)
    else:
        assert found[at + 1 :] == ["exec", *words]


@pytest.mark.parametrize(
    ("program", "wanted"),
    [(["-c", "import sys; print(sys.argv, __name__)", "x"], "['-c', 'x'] __main__"),
     (["SCRIPT", "x"], "['SCRIPT', 'x'] __main__ FOLDER"), (["-m", "script", "x"], "['SCRIPT', 'x'] __main__ ")],
)  # fmt: skip
def test_a_program_is_run_as_python_runs_it(tmp_path, program, wanted):
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv, __name__, sys.path[0])")
    words = [word.replace("SCRIPT", str(script)) for word in program]
    command = ending_the_job([sys.executable, *words])
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=100)
    wanted = wanted.replace("SCRIPT", str(script)).replace("FOLDER", str(tmp_path))
    assert done.stdout in (f"{wanted}\n", f"{wanted}{tmp_path}\n")
