"""Ranks on hosts of a file, started by ssh; here ssh is a script that stays on this machine."""

import json
import os
import signal
import subprocess
import sys

import pytest

import treecast

SSH = """#!/bin/sh
# as ssh: options, a host, and a command for a shell there
shift 3; host=$1; shift  # -o BatchMode=yes --
echo "$host" >> "$SEEN"
test "$host" = nowhere && exit 255
exec sh -c "$*"
"""


def launch(folder, hosts, program, *words):
    """Launch a program on hosts; return the status, what was printed, and which hosts were asked."""
    (folder / "hosts").write_text(hosts)
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--hosts", str(folder / "hosts"), *words, "--"]
    done = subprocess.run(
        [*line, sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SEEN": str(folder / "seen")},
    )  # fmt: skip
    return done.returncode, sorted(done.stdout.splitlines()), sorted((folder / "seen").read_text().split()), done.stderr


PROGRAM = """
import os, signal, sys, treecast
comm = treecast.connect(survive=1)
first = comm.allreduce(1)
if comm.rank == 1:
    {end}
sys.stdout.write(f"{{comm.rank}} {{first}} {{comm.allreduce(1)}}\\n")
"""


def test_a_job_on_hosts_survives_a_death(tmp_path):
    program = PROGRAM.format(end="os.kill(os.getpid(), signal.SIGKILL)")
    status, printed, hosts, _ = launch(tmp_path, "localhost slots=2\n127.0.0.1\n", program)
    assert (status, printed, hosts) == (0, ["0 3 2", "2 3 2"], ["127.0.0.1", "localhost", "localhost"])


def test_a_rank_that_fails_there_ends_the_job_with_its_status(tmp_path):
    status, _, _, _ = launch(tmp_path, "localhost slots=3\n", PROGRAM.format(end="raise SystemExit(5)"))
    assert status == 5


def test_a_host_that_ssh_does_not_reach_ends_the_job(tmp_path):
    status, _, _, _ = launch(tmp_path, "localhost\nnowhere\n", PROGRAM.format(end="pass"), "--timeout", "60")
    assert status == 255


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_seat_that_is_ended_ends_its_rank(number, tmp_path):
    order = {"version": treecast.__version__, "environment": {}, "folder": str(tmp_path)}
    order["command"] = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(300)"]
    command = [sys.executable, "-m", "treecast.tcp.seat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as seat:
        seat.stdin.write(json.dumps(order) + "\n")
        seat.stdin.flush()
        assert seat.stdout.readline() == "here\n"
        seat.send_signal(number)
        assert seat.stdout.read() == ""  # until the rank, too, has ended
        assert seat.wait(30) > 128 or number == signal.SIGKILL
