"""The end of a job's processes: it is known at once, and leaves none behind."""

import os
import subprocess
import sys

import pytest

from treecast.running.jobs.ending import await_end, end_all, letter_of, processes_of
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


STUBBORN = """
import os, signal, subprocess, sys
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def start(*words):
    """Return a child that leads a session, and the process that it has started in a session of its own."""
    line = [sys.executable, "-c", STUBBORN, *words]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, start_new_session=True)
    with child.stdout as said:
        return child, int(said.readline())


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("deaf",)])
def test_all_are_ended_with_what_they_have_started(words):
    pairs = [start(*words), start()]
    leaders = {child.pid for child, _ in pairs}
    assert {process.pid for process in processes_of(leaders)} == leaders | {far for _, far in pairs}
    end_all(*(child for child, _ in pairs))
    assert all(child.returncode is not None for child, _ in pairs)
    assert all(letter_of(far) in "ZX" for _, far in pairs)
    assert not processes_of(leaders)
