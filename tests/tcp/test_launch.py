"""``treecast launch --tcp``: real processes that meet, die, and end with the status of the job."""

import os
import re
import subprocess
import sys
from pathlib import Path

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
    said = "treecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"
    assert launch(program=program) == (0, ["0 [4. 4.] (1,) (0, 2)", "2 [4. 4.] (1,) (0, 2)"], said)


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
    assert "the time limit of" in shown


def test_a_job_whose_ranks_are_all_killed_has_failed():
    assert launch(program="os.kill(os.getpid(), signal.SIGKILL)")[0] == 137


def test_ranks_go_on_when_their_launcher_is_killed():
    program = (
        "print('began', flush=True)\n"
        "while comm.allreduce(os.getppid() != int(os.environ['LAUNCHER'])) < 3: pass\n"
        "found = comm.allreduce(1); print(found, flush=True)"
    )
    start = (
        "import os, sys; os.environ['LAUNCHER'] = str(os.getpid()); from treecast.cli import main;"
        f"sys.exit(main(['launch', '--tcp', '-n', '3', '--', sys.executable, '-c', {HEAD + program!r}]))"
    )
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True) as launcher:
        assert [launcher.stdout.readline() for _ in range(3)] == ["began\n"] * 3
        launcher.kill()
        assert sorted(launcher.stdout.read().split()) == ["3"] * 3


ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_demo_prints_what_its_page_says():
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "examples/demo-tcp.sh"], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        env={**os.environ, "BIN": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = re.search(r"prints, after a few seconds:\n\n```\n(.*?)```", (ROOT / "docs/tcp.md").read_text(), re.DOTALL)
    assert done.stdout.splitlines()[1:] == shown[1].splitlines()


def joins(*words, ranks, respawn):
    program = str(Path(__file__).with_name("joins.py"))
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", str(ranks), "--respawn", str(respawn), "--"]
    done = subprocess.run(
        [*line, sys.executable, program, *words], capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_the_dead_come_back_and_have_what_a_serial_sum_gives():
    said = joins("1", "60", "2", ranks=3, respawn=2)
    assert all(same == "True" for same, _ in said)
    assert all(0 < int(fewer) < 60 for _, fewer in said)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_many_die_and_come_back(seed):
    said = joins(str(seed), "300", "50", ranks=5, respawn=200)
    assert len(said) >= 2
    assert all(same == "True" for same, _ in said)
