"""The end of a job's processes: it is known at once, and leaves none behind."""

import subprocess
import sys

import pytest

from treecast.running.jobs.ending import end_all, letter_of, processes_of

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


@pytest.mark.parametrize("words", [(), ("deaf",)])
def test_all_are_ended_with_what_they_have_started(words):
    pairs = [start(*words), start()]
    leaders = {child.pid for child, _ in pairs}
    assert {process.pid for process in processes_of(leaders)} == leaders | {far for _, far in pairs}
    end_all(*(child for child, _ in pairs))
    assert all(child.returncode is not None for child, _ in pairs)
    assert all(letter_of(far) in "ZX" for _, far in pairs)
    assert not processes_of(leaders)
