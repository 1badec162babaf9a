"""Ranks on hosts of a file, started by ssh; here ssh is a script that stays on this machine."""

import json
import os
import signal
import subprocess
import sys

import pytest

import treecast
from treecast.errors import PlanError
from treecast.tcp.hosts import deal_out, read_hosts, start_there


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a\nb:2\n\n# none\nc slots=3", [("a", 1), ("b", 2), ("c", 3)]),
        ("worker-1 slots = 4 max_slots=8", [("worker-1", 4)]),
        ('[{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b"}]', [("a", 1), ("b", 1)]),
        ("", []),
    ],
)
def test_files_of_hosts_as_others_write_them(text, hosts):
    assert read_hosts(text) == hosts


@pytest.mark.parametrize("text", ["a b c", "a slots=x", "a slots=", '[{"host": "a"}]', "["])
def test_what_is_no_file_of_hosts_is_one_line(text):
    with pytest.raises(PlanError):
        read_hosts(text)


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "-l", "", " a", "a b", "a\nb", "a\0b", "\ud800"])
def test_a_name_that_is_an_option_or_none_is_refused_in_both_forms(name):
    forms = [json.dumps([{"ssh": "a"}, {"ssh": name}]), f"a\n{name} slots=2\n"]
    for text in forms[: 1 if not name.startswith("-") else 2]:  # a line cannot say the others
        with pytest.raises(PlanError, match="names no host") as error:
            read_hosts(text)
        assert "\n" not in str(error.value)


def test_ssh_takes_no_name_for_an_option(tmp_path, monkeypatch):
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with start_there("-oProxyCommand=x", ["true"], {}, subprocess.PIPE) as child:
        words = child.communicate(timeout=60)[0].decode().splitlines()
    assert words[-3:-1] == ["--", "-oProxyCommand=x"]


def test_ranks_fill_the_slots_in_order(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("a slots=2\nb\n")
    assert deal_out(str(file), None) == ["a", "a", "b"]
    assert deal_out(str(file), 2) == ["a", "a"]
    with pytest.raises(PlanError, match="room for 3"):
        deal_out(str(file), 4)
    with pytest.raises(PlanError, match="cannot be read"):
        deal_out(str(tmp_path / "none"), 4)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="is no text, and names no host"):
        deal_out(str(file), 4)


@pytest.mark.parametrize("order", ["", "{}", '{"version": "0", "command": ["x"], "environment": {}}'])
def test_a_seat_without_a_right_order_says_so(order):
    done = subprocess.run(
        [sys.executable, "-m", "treecast.tcp.seat"], input=order + "\n", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


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


@pytest.mark.slow
def test_a_job_on_hosts_survives_a_death(tmp_path):
    program = PROGRAM.format(end="os.kill(os.getpid(), signal.SIGKILL)")
    status, printed, hosts, _ = launch(tmp_path, "localhost slots=2\n127.0.0.1\n", program)
    assert (status, printed, hosts) == (0, ["0 3 2", "2 3 2"], ["127.0.0.1", "localhost", "localhost"])


@pytest.mark.slow
def test_a_rank_that_fails_there_ends_the_job_with_its_status(tmp_path):
    status, _, _, _ = launch(tmp_path, "localhost slots=3\n", PROGRAM.format(end="raise SystemExit(5)"))
    assert status == 5


@pytest.mark.slow
def test_a_host_that_ssh_does_not_reach_ends_the_job(tmp_path):
    status, _, _, _ = launch(tmp_path, "localhost\nnowhere\n", PROGRAM.format(end="pass"), "--timeout", "60")
    assert status == 255


@pytest.mark.slow
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
