"""What a child of a fork has of its parent's jobs: nothing that it could wait for, hear or be heard by."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

AFTER = {
    "a job of its own": "assert run_ranks(4, bcast, spec='ring:4') == [7.0] * 4",
    "a call of the parent's": """
try:
    comm.Barrier()
except PlanError as error:
    assert "the job is over" in str(error)
else:
    raise SystemExit(3)""",
    "its end": "sys.exit(0)",
}
PROGRAM = """
import os, socket, sys, threading
import numpy as np
import treecast.tcp
from tests.tcp.threads import run_ranks
from treecast.errors import PlanError
from treecast import compiled

def bcast(comm):
    data = np.full(200_000, 7.0 if comm.rank == 1 else 0.0)
    comm.Bcast(data, 1)
    return float(data.min())

assert run_ranks(4, bcast, spec="ring:4") == [7.0] * 4  # so a plan has been made
with socket.create_server(("127.0.0.1", 0)) as server:
    place = f"127.0.0.1:{server.getsockname()[1]}"
other = os.fork()
comm = treecast.tcp.init(int(other == 0), 2, place, start=60, survive=1)
if other:
    begun = comm.Ibarrier()  # a thread waits in it, and has what a call takes
    with comm.process.transport.lock:
        child = os.fork()
        if not child:
{after}
            sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, flush=True)
    begun.Wait()
else:
    comm.Barrier()
"""


@pytest.mark.parametrize("after", AFTER)
def test_a_child_neither_hangs_nor_says_anything(after):
    lines = "\n".join("            " + line for line in AFTER[after].splitlines())
    line = [sys.executable, "-c", PROGRAM.replace("{after}", lines)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)


def test_a_child_compiles_though_another_thread_of_its_parent_did():
    program = """
import os, threading
from treecast import compiled
held, go = threading.Event(), threading.Event()

def hold():
    with compiled._lock:
        held.set()
        go.wait(0.3)

threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if not child:
    with compiled._lock:
        os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
