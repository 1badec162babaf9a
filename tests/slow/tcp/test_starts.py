"""Starts of real ranks: early deaths, many strangers, and what a killed launcher leaves."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.tcp.test_starts import IPV6, among_strangers

HEAD = "import os, signal, sys, time; rank = int(os.environ['TREECAST_RANK'])\n"
JOIN = "import treecast; comm = treecast.connect(survive=1, deadline=20)\n"


def launch(*words, program, ranks=3, **environment):
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", str(ranks), *words, "--"]
    line += [sys.executable, "-c", program]
    begin = time.monotonic()
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - begin


@pytest.mark.parametrize(
    ("end", "says", "status"),
    [("os.kill(os.getpid(), 9)", "rank 1 was killed (signal 9); 0 of 3 ended with 0; ranks 0, 2 had not ended", 1),
     ("sys.exit(0)", "1 of 3 ended with 0; ranks 0, 2 had not ended", 1),
     ("raise ValueError('early')", "rank 1 raised ValueError: early; 0 of 3 ended with 0", 1)],
)  # fmt: skip
@pytest.mark.parametrize("respawn", [0, 3])
def test_a_death_before_all_are_connected_ends_the_start(end, says, status, respawn):
    done, _, err, seconds = launch("--respawn", str(respawn), program=f"{HEAD}if rank == 1: {end}\n{JOIN}")
    assert (done, says in err) == (status, True), err
    assert ("the job cannot begin without rank 1, which ended before all were connected" in err) == ("Value" not in end)
    assert seconds < 60  # 300 without this rule


@pytest.mark.parametrize("late", [0, 2])
def test_so_does_one_while_others_come_late(late):
    program = f"{HEAD}if rank == 1: os.kill(os.getpid(), 9)\nif rank == 2: time.sleep({late})\n{JOIN}"
    done, _, err, seconds = launch("--respawn", "2", program=program)
    assert (done, "cannot begin without rank 1" in err, seconds < 60) == (1, True, True), err


def test_ranks_that_join_nobody_may_die_early():
    done, out, err, _ = launch(program=f"{HEAD}if rank == 1: os.kill(os.getpid(), 9)\ntime.sleep(2); print('end')")
    assert (done, out) == (0, "end\nend\n")
    assert err == "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"


def test_five_hundred_silent_strangers_refuse_nobody():
    seconds, threads = among_strangers(500)
    assert seconds < 60
    assert threads <= 64 + 3


@IPV6
def test_ranks_on_hosts_of_ipv6_meet(tmp_path):
    (tmp_path / "ssh").write_text('#!/bin/sh\nshift 3; test "$1" = ::1 || exit 255; shift\nexec sh -c "$*"\n')
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "hosts").write_text("::1\n[::1]:2\n")
    program = f"{JOIN}print(os.environ['TREECAST_MEET'].startswith('[::1]:'), comm.allreduce(1))"
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tag", "--hosts", str(tmp_path / "hosts"), "--"]
    done = subprocess.run(
        [*line, sys.executable, "-c", f"import os; {program}"], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] True 3" for rank in range(3)]


def folders(place):
    return {path.name for path in place.glob("treecast-*")}


def test_the_next_launch_removes_the_folder_of_a_killed_launcher(tmp_path):
    environment = {"TMPDIR": str(tmp_path)}
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", "1", "--", sys.executable, "-c"]
    program = "print('began', flush=True); import time; time.sleep(600)"
    jobs = [
        subprocess.Popen([*line, program], env={**os.environ, **environment}, stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [job.stdout.readline() for job in jobs] == [b"began\n"] * 2
    both = folders(tmp_path)
    jobs[0].kill()
    jobs[0].communicate(timeout=60)
    (tmp_path / "treecast-of-others").mkdir()
    assert launch(program="pass", ranks=1, **environment)[0] == 0
    left = folders(tmp_path)
    jobs[1].send_signal(signal.SIGTERM)
    jobs[1].communicate(timeout=60)
    assert (len(both), len(left - {"treecast-of-others"}), "treecast-of-others" in left) == (2, 1, True)
    assert left < both | {"treecast-of-others"}
    assert folders(tmp_path) == {"treecast-of-others"}
