"""The end of a job's processes: it is known at once, and leaves none behind."""

import os
import subprocess
import sys

import pytest

from treecast.running.jobs.ending import await_end, end_all
from treecast.running.jobs.watch import Watch

FOREVER = 600.0  # seconds: what waits so long has failed


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells so")
def test_the_first_end_of_several_ends_the_wait():
    long = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    short = subprocess.Popen([sys.executable, "-c", ""])
    await_end([long.pid, short.pid], FOREVER)
    assert (short.wait(FOREVER), long.poll()) == (0, None)
    end_all(long)


def test_a_wait_for_nobody_ends_in_time():
    await_end([], 0.0)


def test_a_job_in_which_no_rank_ended_well_has_not_ended_with_0(tmp_path):
    """As mpirun may say where all ranks have ended the job at once."""
    for rank in range(2):
        (tmp_path / f"ended-{rank}").write_text("1 ")
    assert Watch(tmp_path / "status", 2).ending(0).status == 1
    assert Watch(tmp_path / "status", 3).ending(0).status == 0
