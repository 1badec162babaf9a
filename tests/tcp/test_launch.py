"""``treecast launch --tcp``: real processes that meet, die, and end with the status of the job."""

import subprocess
import sys

import pytest

HEAD = "import os, sys, signal, numpy as np, treecast.tcp as tcp; comm = tcp.init(survive=1, deadline=20); "


def launch(*words, program, ranks=3):
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", str(ranks), *words, "--"]
    done = subprocess.run(
        [*line, sys.executable, "-c", HEAD + program], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


def test_ranks_meet_and_a_death_is_survived():
    program = (
        "total = np.zeros(2); comm.Allreduce(np.full(2, comm.rank + 1.0), total)\n"
        "if comm.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "comm.Allreduce(np.full(2, comm.rank + 1.0), total)\n"
        "sys.stdout.write(f'{comm.rank} {total} {comm.last.failed} {comm.members}\\n')"
    )
    assert launch(program=program) == (0, ["0 [4. 4.] (1,) (0, 2)", "2 [4. 4.] (1,) (0, 2)"], "")


@pytest.mark.parametrize("end", ["sys.exit(7)", "1 / 0"])
def test_a_rank_that_fails_ends_the_job_with_its_status(end):
    status, _, shown = launch(program=f"\nif comm.rank == 1: {end}\ncomm.barrier(); comm.barrier(); comm.recv()")
    assert status == (7 if "7" in end else 1)
    assert ("ZeroDivisionError" in shown) == ("0" in end)


def test_the_time_limit_ends_all():
    status, _, shown = launch(
        "--timeout", "2", program="comm.bcast(comm.rank and None) if comm.rank else signal.pause()"
    )
    assert status == 124
    assert "time is up" in shown


def test_a_job_whose_ranks_are_all_killed_has_failed():
    assert launch(program="os.kill(os.getpid(), signal.SIGKILL)")[0] == 137
