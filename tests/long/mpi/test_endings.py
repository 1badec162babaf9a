"""How jobs end: by a signal, by a rank that fails, stops or dies late, by time. Nothing of them may be left 5 s later."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.mpi.conftest import missing
from tests.mpi.test_endings import (
    EARLY,
    LAUNCH,
    SIGNALS,
    STAY,
    STOP,
    TIMER,
    assert_gone,
    check_signals,
    end_to_end,
    followed,
    paths,
    run_of,
    started_by,
    verdicts,
)
from treecast.mpi.job.records import marked_records

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "MPI is there")


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


def test_who_has_left_is_not_missed_where_nobody_waits_for_it():
    done, out, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", LATE])
    assert (done, sorted(out.split()), err) == (0, ["3", "None"], "")


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0])
def test_so_it_does_whenever_that_is(seconds):
    """A timer of the kernel kills it, wherever it is."""
    program = EARLY.format(before=TIMER.format(seconds), after="time.sleep(10)", survive=1)
    done, _, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", program])
    assert done in (0, 1)
    assert "rank 1 was killed (signal 14)" in err


def test_a_stopped_rank_does_not_keep_the_others_from_ending_with_a_deadline():
    program = EARLY.format(before="0", after=STOP, survive=1).replace("survive=1", "survive=1, deadline=1")
    done, _, err = end_to_end([*LAUNCH, "-n", 3, "--timeout", 60, "--", sys.executable, "-c", program])
    assert (done, "2 of 3 ended with 0; rank 1 was stopped, and was ended" in err) == (0, True), err


def test_a_lost_root_is_said(tmp_path, treecast):
    run = run_of(tmp_path, treecast)
    done, out, _ = end_to_end([*run, "--dead-nodes", "0@1"])
    found, said = verdicts(out)
    assert (done, said) == (1, ["dead"] + ["INCOMPLETE"] * 3)
    assert found["lost_with_root"]
    assert (found["living"], found["delivered"], found["silent"]) == (3, 0, [])


@pytest.mark.parametrize(
    ("fault", "said", "status"),
    [("after 2", ["intact"] * 4, 0),
     pytest.param("before 2", ["intact", "intact", "dead", "intact"], 0, marks=pytest.mark.long)],
)  # fmt: skip
def test_a_death_at_the_end_loses_no_report(tmp_path, treecast, fault, said, status):
    run = run_of(tmp_path, treecast)
    done, out, _ = end_to_end(run, TREECAST_FAULT=fault, PYTHONPATH=paths())
    assert (done, verdicts(out)[1]) == (status, said)


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


def test_time_runs_out_with_a_report(tmp_path, treecast):
    run = [*run_of(tmp_path, treecast), "--dead-nodes", "3@1", "--timeout", 8]
    done, out, _ = end_to_end(run, TREECAST_FAULT="stop", PYTHONPATH=paths())
    found, said = verdicts(out)
    assert (done, found["mpirun_status"]) == (124, 124)
    assert "silent" in said


def test_a_rank_that_raises_is_an_error_of_one_line(tmp_path, treecast):
    done, out, err = end_to_end(run_of(tmp_path, treecast), TREECAST_FAULT="raise 2", PYTHONPATH=paths())
    assert (done, out) == (2, "")
    assert "RuntimeError: as asked for" in err


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
