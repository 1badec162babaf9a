"""How jobs end: by a signal, by a rank that fails, stops or dies late, by time. Nothing of them may be left 5 s later."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.mpi.conftest import ROOT, missing
from treecast.jobs.command import ending_the_job

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

FAIL = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    print("last words")
    {fail}
MPI.COMM_WORLD.Barrier()
MPI.COMM_WORLD.Barrier()
"""


def processes():
    """Return the parent of every process, as ps tells: a process is its number and when it began."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid=,stat=,lstart="], capture_output=True, text=True, check=True).stdout
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
        out, err = started.communicate()
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


def test_a_launcher_that_is_ended_leaves_nothing():
    check_signals(SIGNALS, STAY.format(mpi=False))


@pytest.mark.parametrize(
    ("fail", "status", "says"),
    [('raise ValueError("a wrong value")', 1, "ValueError: a wrong value"),
     pytest.param("sys.exit(4)", 4, "", marks=pytest.mark.long),
     pytest.param('sys.exit("no good")', 1, "no good", marks=pytest.mark.long)],
)  # fmt: skip
def test_a_rank_that_fails_ends_the_job(fail, status, says, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(FAIL.format(fail=fail))
    program = ["-c", FAIL.format(fail=fail)] if "raise" in fail else [script]
    done, out, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, *program])
    assert (done, out) == (status, "last words\n")
    assert says in err
    assert f"treecast: rank 1 ended with {status}; 0 of 3 ended with 0; 2 had not ended\n" in err
    assert "jobs/program.py" not in err  # the traceback is the program's own


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
KILL, STOP = "os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGSTOP)"
TIMER = "signal.setitimer(signal.ITIMER_REAL, {})"
SURVIVED = "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"
NOT_BEGUN = (
    "treecast: MPI_Init cannot end without ranks that have ended; rank 1 was killed (signal {}); 0 of 3 ended with 0"
)
LONG = pytest.mark.long


@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("before", "after", "survive", "status", "says"),
    [(KILL, "0", 1, 1, NOT_BEGUN.format(9)),
     pytest.param(TIMER.format(0.15), "0", 1, 1, NOT_BEGUN.format(14), marks=LONG),
     pytest.param("sys.exit(0)", "0", 1, 1, "treecast: MPI_Init cannot end without ranks that have ended; 1 of 3", marks=LONG),
     ("0", "sys.exit(0)", 1, 1, "treecast: rank 0 waits in call 1 for rank 1, which has ended; 0 of 3 ended with 0"),
     pytest.param("0", "MPI.Finalize(); time.sleep(50)", 1, 1, "treecast: rank 0 waits in call 1 for rank 1", marks=LONG),
     ("0", "os._exit(3)", 1, 3, "treecast: rank 1 ended with 3; 0 of 3 ended with 0; 2 had not ended\n"),
     pytest.param("0", "os._exit(3)", 0, 3, "treecast: rank 1 ended with 3", marks=LONG),
     ("0", "comm.Abort(7)", 1, 7, "treecast: rank 1 ended with 7"),
     pytest.param("0", "comm.Abort(7)", 0, 7, "treecast: rank 1 ended with 7", marks=LONG),
     ("0", KILL, 1, 0, SURVIVED)],
)  # fmt: skip
def test_a_rank_that_ends_early_ends_the_job_or_is_survived(before, after, survive, status, says):
    program = EARLY.format(before=before, after=after, survive=survive)
    done, _, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", program])
    assert (done, says in err) == (status, True), err


# no MPI, so one rank says nothing to the others: who ends how, and what becomes of it
IF_1 = "test $OMPI_COMM_WORLD_RANK != 1 || "


@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("script", "options", "status", "says"),
    [("kill -9 $$", [], 137, "ranks N were killed (signal 9); 0 of 3 ended with 0"),
     (IF_1 + "kill -15 $$", [], 0, "rank 1 was killed (signal 15); 2 of 3 ended with 0"),
     (IF_1 + "kill -9 $$", ["--intact"], 137, "rank 1 was killed (signal 9); 2 of 3 ended with 0"),
     (IF_1 + "exit 1; sleep 100", [], 1, "rank 1 ended with 1; 0 of 3 ended with 0; 2 had not ended"),
     (IF_1 + "kill -STOP $$", [], 0, "rank 1 did not end, being stopped; 2 of 3 ended with 0; 1 had not ended"),
     ("sleep 100", ["--timeout", 1], 124, "the time limit of 1 s was up; 0 of 3 ended with 0; 3 had not ended"),
     ("exit 0", ["--intact"], 0, "")],
)  # fmt: skip
def test_a_line_says_who_ended_how(script, options, status, says):
    limit = [] if "--timeout" in options else ["--timeout", 60]
    done, _, err = end_to_end([*LAUNCH, "-n", 3, *limit, *options, "--", "sh", "-c", script])
    said = re.sub(r"[012], [012], [012]", "N", err)  # in the order of time
    assert (done, said) == (status, f"treecast: {says}\n" if says else "")


@pytest.mark.parametrize("terminal", [False, True])
def test_rank_0_gets_standard_input(terminal):
    ours, theirs = os.openpty() if terminal else os.pipe()[::-1]
    try:
        script = "test $OMPI_COMM_WORLD_RANK != 0 || { read line; echo got $line; }"
        started = subprocess.Popen(
            [*map(str, [*LAUNCH, "-n", 2, "--timeout", 60, "--", "sh", "-c", script])],
            stdin=theirs,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        os.write(ours, b"this line\n")
        assert started.communicate(timeout=60)[0] == b"got this line\n"
    finally:
        os.close(ours)
        os.close(theirs)


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


def test_a_rank_that_is_stopped_is_silent_and_the_others_get_all(tmp_path, treecast):
    run = run_of(tmp_path, treecast, "broadcast", "hypercube:2", "--survive", 1)
    done, out, _ = end_to_end([*run, "--kill", "3@1", "--deadline", 1], TREECAST_FAULT="stop", PYTHONPATH=paths())
    found, said = verdicts(out)
    assert (done, said, found["silent"]) == (1, ["intact"] * 3 + ["silent"], ["0b11"])
    assert (found["living"], found["delivered"]) == (4, 3)


def paths():
    """Return a PYTHONPATH whose first folder makes ranks fail."""
    return os.pathsep.join([str(FAULTY), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize(
    ("words", "place"),
    [("python a.py -m b", 1), ("python3.12 -u -W ignore -X dev -m mod", 6), ("/x/python -Wignore -c 1", 2), ("python -", 1),
     ("python", 0), ("python -c", 0), ("python -uc 1", 0), ("python --version", 0), ("hostname -f", 0), ("pythonic a.py", 0)],
)  # fmt: skip
def test_a_python_program_is_known(words, place):
    words = words.split()
    found = ending_the_job(words)
    at = next(k for k, word in enumerate(found) if word.endswith("jobs/program.py"))
    if place:
        assert (at, found[:at] + found[at + 1 :]) == (place, words)
    else:
        assert found[at + 1 :] == ["exec", *words]


def test_a_script_that_names_its_python_is_known(tmp_path):
    script = tmp_path / "program"
    script.write_text("#!/usr/bin/env python3\nprint(1)\n")
    script.chmod(0o755)
    found = ending_the_job([str(script), "5"])
    assert (found[0], Path(found[1]).name, found[2:]) == ("python3", "program.py", [str(script), "5"])
    script.write_text("#!/bin/sh\n")
    assert ending_the_job([str(script)])[-2:] == ["exec", str(script)]


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
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    wanted = wanted.replace("SCRIPT", str(script)).replace("FOLDER", str(tmp_path))
    assert done.stdout in (f"{wanted}\n", f"{wanted}{tmp_path}\n")
