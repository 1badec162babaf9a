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
from treecast.mpi.job.records import marked_records
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


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


FAIL = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    print("last words")
    {fail}
MPI.COMM_WORLD.Barrier()
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.slow
def test_a_launcher_that_is_ended_leaves_nothing():
    check_signals(SIGNALS, STAY.format(mpi=False))


@pytest.mark.slow
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
    how = "raised ValueError: a wrong value" if "raise" in fail else f"ended with {status}"
    assert f"treecast: rank 1 {how}; 0 of 3 ended with 0; ranks 0, 2 had not ended\n" in err
    assert "jobs/program.py" not in err  # the traceback is the program's own


SURVIVED = "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"


NOT_BEGUN = (
    "treecast: MPI_Init cannot end without ranks that have ended; rank 1 was killed (signal {}); 0 of 3 ended with 0"
)


LONG = pytest.mark.long


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("before", "after", "survive", "status", "says"),
    [(KILL, "0", 1, 1, NOT_BEGUN.format(9)),
     pytest.param(TIMER.format(0.15), "0", 1, 1, NOT_BEGUN.format(14), marks=LONG),
     pytest.param("sys.exit(0)", "0", 1, 1, "treecast: MPI_Init cannot end without ranks that have ended; 1 of 3", marks=LONG),
     ("0", "sys.exit(0)", 1, 1, "rank 0 waits in call 1 for rank 1, which has ended; 1 of 3 ended with 0; ranks 0, 2 had"),
     pytest.param("0", "MPI.Finalize(); time.sleep(50)", 1, 1, "treecast: rank 0 waits in call 1 for rank 1", marks=LONG),
     ("0", "os._exit(3)", 1, 3, "treecast: rank 1 ended with 3; 0 of 3 ended with 0; ranks 0, 2 had not ended\n"),
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


@pytest.mark.slow
@pytest.mark.each(5)
@pytest.mark.parametrize(
    ("script", "options", "status", "says"),
    [("kill -9 $$", [], 137, "ranks N were killed (signal 9); 0 of 3 ended with 0"),
     (IF_1 + "kill -15 $$", [], 0, "rank 1 was killed (signal 15); 2 of 3 ended with 0"),
     (IF_1 + "kill -9 $$", ["--intact"], 137, "rank 1 was killed (signal 9); 2 of 3 ended with 0"),
     (IF_1 + "exit 1; sleep 100", [], 1, "rank 1 ended with 1; 0 of 3 ended with 0; ranks 0, 2 had not ended"),
     (IF_1 + "kill -STOP $$", [], 0, "2 of 3 ended with 0; rank 1 was stopped, and was ended"),
     ("sleep 100", ["--timeout", 1], 124, "0 of 3 ended with 0; ranks N had not ended"),
     ("exit 0", ["--intact"], 0, "")],
)  # fmt: skip
def test_a_line_says_who_ended_how(script, options, status, says):
    limit = [] if "--timeout" in options else ["--timeout", 60]
    done, _, err = end_to_end([*LAUNCH, "-n", 3, *limit, *options, "--", "sh", "-c", script])
    said = re.sub(r"[012], [012], [012]", "N", err)  # in the order of time
    assert (done, said) == (status, f"treecast: {says}\n" if says else "")


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_rank_that_is_stopped_is_silent_and_the_others_get_all(tmp_path, treecast):
    run = run_of(tmp_path, treecast, "broadcast", "hypercube:2", "--survive", 1)
    done, out, _ = end_to_end([*run, "--dead-nodes", "3@1", "--deadline", 1], TREECAST_FAULT="stop", PYTHONPATH=paths())
    found, said = verdicts(out)
    assert (done, said, found["silent"]) == (1, ["intact"] * 3 + ["silent"], ["0b11"])
    assert (found["living"], found["delivered"]) == (4, 3)


@pytest.mark.long
def test_a_launcher_that_is_ended_leaves_nothing_of_mpi():
    check_signals(SIGNALS, STAY.format(mpi=True))


LATE = """
import sys, time
from mpi4py import MPI
import treecast.mpi
comm = treecast.mpi.wrap(MPI.COMM_WORLD, survive=1)
half = comm.Split(comm.rank == 1)
def slow(a, b):
    time.sleep(4)
    return a + b
found = comm.reduce(1, slow)  # which rank 0 adds when the others have left
if comm.rank != 1:
    half.barrier()
    if comm.rank == 0: time.sleep(4)
    half.barrier()
    print(found)
"""


@pytest.mark.long
def test_who_has_left_is_not_missed_where_nobody_waits_for_it():
    done, out, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", LATE])
    assert (done, sorted(out.split()), err) == (0, ["3", "None"], "")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0])
def test_so_it_does_whenever_that_is(seconds):
    """A timer of the kernel kills it, wherever it is."""
    program = EARLY.format(before=TIMER.format(seconds), after="time.sleep(10)", survive=1)
    done, _, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", program])
    assert done in (0, 1)
    assert "rank 1 was killed (signal 14)" in err


@pytest.mark.long
def test_a_stopped_rank_does_not_keep_the_others_from_ending_with_a_deadline():
    program = EARLY.format(before="0", after=STOP, survive=1).replace("survive=1", "survive=1, deadline=1")
    done, _, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", program])
    assert (done, "2 of 3 ended with 0; rank 1 was stopped, and was ended" in err) == (0, True), err


@pytest.mark.long
def test_a_lost_root_is_said(tmp_path, treecast):
    run = run_of(tmp_path, treecast)
    done, out, _ = end_to_end([*run, "--dead-nodes", "0@1"])
    found, said = verdicts(out)
    assert (done, said) == (1, ["dead"] + ["INCOMPLETE"] * 3)
    assert found["lost_with_root"]
    assert (found["living"], found["delivered"], found["silent"]) == (3, 0, [])


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "said", "status"),
    [("after 2", ["intact"] * 4, 0),
     pytest.param("before 2", ["intact", "intact", "dead", "intact"], 0, marks=pytest.mark.long)],
)  # fmt: skip
def test_a_death_at_the_end_loses_no_report(tmp_path, treecast, fault, said, status):
    run = run_of(tmp_path, treecast)
    done, out, _ = end_to_end(run, TREECAST_FAULT=fault, PYTHONPATH=paths())
    assert (done, verdicts(out)[1]) == (status, said)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "kill", "said", "status"),
    [("allgather", "1@1", {"all but the dead's", "dead", "intact"}, 0), ("gather", "0@0", {"dead", "intact"}, 1),
     ("gather", "3@0", {"all but the dead's", "dead", "intact"}, 0), ("allreduce", "1@1", {"INCOMPLETE", "dead"}, 1)],
)  # fmt: skip
def test_who_lacks_only_what_the_dead_had_lacks_nothing(tmp_path, treecast, kind, kill, said, status):
    survive = ("--survive", 1) if kind != "allreduce" else ()
    done, out, _ = end_to_end([*run_of(tmp_path, treecast, kind, "hypercube:2", *survive), "--dead-nodes", kill])
    found, verdict = verdicts(out)
    assert (done, found["lost_with_root"]) == (status, kind == "gather" and kill == "0@0")
    assert {"dead"} < set(verdict) <= said


@pytest.mark.long
def test_time_runs_out_with_a_report(tmp_path, treecast):
    run = [*run_of(tmp_path, treecast), "--dead-nodes", "3@1", "--timeout", 8]
    done, out, _ = end_to_end(run, TREECAST_FAULT="stop", PYTHONPATH=paths())
    found, said = verdicts(out)
    assert (done, found["mpirun_status"]) == (124, 124)
    assert "silent" in said


@pytest.mark.long
def test_a_rank_that_raises_is_an_error_of_one_line(tmp_path, treecast):
    done, out, err = end_to_end(run_of(tmp_path, treecast), TREECAST_FAULT="raise 2", PYTHONPATH=paths())
    assert (done, out) == (2, "")
    assert "RuntimeError: as asked for" in err


@pytest.mark.long
@pytest.mark.parametrize("number", SIGNALS)
def test_a_run_that_is_ended_leaves_nothing(tmp_path, treecast, number):
    run = [*run_of(tmp_path, treecast), "--dead-nodes", "1@0,2@0,3@0"]
    with followed(run, TREECAST_FAULT="stop", PYTHONPATH=paths()) as started:
        while len(seen := started_by(started.pid)) < 6:
            time.sleep(0.1)
        time.sleep(4)
        seen |= started_by(started.pid)
        started.send_signal(number)
        assert started.wait(10) == (-number if number == signal.SIGKILL else 128 + number)
        assert_gone(seen)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["after 2", "before 2", "stop"])
def test_under_an_mpirun_that_is_there_one_rank_reports(tmp_path, treecast, fault):
    run = run_of(tmp_path, treecast, "broadcast", "hypercube:2", "--survive", 1)
    run += ["--dead-nodes", "3@1", "--deadline", 1] if fault == "stop" else []
    done, out, _ = end_to_end([*LAUNCH, "-n", 4, "--timeout", 60, "--", *run], TREECAST_FAULT=fault, PYTHONPATH=paths())
    found, said = verdicts(out)
    wanted = {
        "stop": [*["intact"] * 3, "silent"],
        "after 2": ["intact"] * 4,
        "before 2": ["intact", "intact", "dead", "intact"],
    }
    assert said == wanted[fault]
    assert (done != 0) == (fault == "stop") == bool(found["silent"])


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_ranks_that_do_not_see_the_folder_print_their_records(tmp_path, treecast):
    """Ranks 2 and 3 have a /tmp of their own, as on another host."""
    run = run_of(tmp_path, treecast)
    for name in ("plan.tc", "data"):  # elsewhere: tmp_path is hidden, too
        Path("/var/tmp", f"treecast-{os.getpid()}-{name}").write_bytes((tmp_path / name).read_bytes())
    run = [str(word).replace(f"{tmp_path}/", f"/var/tmp/treecast-{os.getpid()}-") for word in run]
    hidden = Path(f"/tmp/treecast-hidden-{os.getpid()}")
    hidden.mkdir()
    own = f'export TMPDIR={hidden}; test $OMPI_COMM_WORLD_RANK -lt 2 || mount -t tmpfs none $TMPDIR; exec "$@"'
    try:
        done, out, _ = end_to_end(
            [*LAUNCH, "-n", 4, "--timeout", 60, "--", "unshare", "-m", "sh", "-c", own, "sh", *run]
        )
    finally:
        hidden.rmdir()  # so nothing is left in it
        for name in ("plan.tc", "data"):
            Path("/var/tmp", f"treecast-{os.getpid()}-{name}").unlink()
    marked, rest = marked_records(out)
    assert sorted(marked) == [2, 3]
    assert (done, verdicts(rest)[1]) == (0, ["intact"] * 4)
