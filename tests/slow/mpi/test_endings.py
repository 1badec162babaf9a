"""How jobs end: by a signal, by a rank that fails, stops or dies late, by time. Nothing of them may be left 5 s later."""

import os
import re
import subprocess
import sys

import pytest

from tests.mpi.conftest import missing
from tests.mpi.test_endings import (
    EARLY,
    LAUNCH,
    SIGNALS,
    STAY,
    TIMER,
    check_signals,
    end_to_end,
    paths,
    run_of,
    verdicts,
)

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")

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
    how = "raised ValueError: a wrong value" if "raise" in fail else f"ended with {status}"
    assert f"treecast: rank 1 {how}; 0 of 3 ended with 0; ranks 0, 2 had not ended\n" in err
    assert "jobs/program.py" not in err  # the traceback is the program's own


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


def test_a_rank_that_is_stopped_is_silent_and_the_others_get_all(tmp_path, treecast):
    run = run_of(tmp_path, treecast, "broadcast", "hypercube:2", "--survive", 1)
    done, out, _ = end_to_end([*run, "--dead-nodes", "3@1", "--deadline", 1], TREECAST_FAULT="stop", PYTHONPATH=paths())
    found, said = verdicts(out)
    assert (done, said, found["silent"]) == (1, ["intact"] * 3 + ["silent"], ["0b11"])
    assert (found["living"], found["delivered"]) == (4, 3)
