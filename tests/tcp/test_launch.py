"""``treecast launch --tcp``: real processes that meet, die, and end with the status of the job."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "import os, sys, signal, numpy as np, treecast.tcp as tcp; comm = tcp.init(survive=1, deadline=20); "


def launch(*words, program, ranks=3, deadline=20, head=HEAD):
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", "-n", str(ranks), *words, "--"]
    line += [sys.executable, "-c", head.replace("deadline=20", f"deadline={deadline}") + program]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


ROOT = Path(__file__).parents[2]


def joins(*words, ranks, respawn):
    program = str(Path(__file__).with_name("joins.py"))
    words = ["-n", str(ranks), "--respawn", str(respawn), "--", sys.executable, program, *words]
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--tie", *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_ranks_meet_and_a_death_is_survived():
    program = (
        "total = np.zeros(2); comm.Allreduce(np.full(2, comm.rank + 1.0), total)\n"
        "if comm.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "comm.Allreduce(np.full(2, comm.rank + 1.0), total)\n"
        "sys.stdout.write(f'{comm.rank} {total} {comm.last.failed} {comm.members}\\n')"
    )
    said = (
        "treecast: Allreduce, call 2 of its communicator: rank 1 has died, and the result leaves out its data, now and in"
        " later calls without it\ntreecast: rank 1 was killed (signal 9); 2 of 3 ended with 0\n"
    )
    assert launch(program=program) == (0, ["0 [4. 4.] (1,) (0, 2)", "2 [4. 4.] (1,) (0, 2)"], said)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["sys.exit(7)", "1 / 0"])
def test_a_rank_that_fails_ends_the_job_with_its_status(end):
    status, _, shown = launch(program=f"\nif comm.rank == 1: {end}\ncomm.barrier(); comm.barrier(); comm.recv()")
    assert status == (7 if "7" in end else 1)
    assert ("ZeroDivisionError" in shown) == ("0" in end)


@pytest.mark.slow
def test_the_time_limit_ends_all():
    status, _, shown = launch(
        "--timeout", "2", program="comm.bcast(comm.rank and None) if comm.rank else signal.pause()"
    )
    assert status == 124
    assert "the time limit of" in shown


@pytest.mark.slow
def test_a_job_whose_ranks_are_all_killed_has_failed():
    assert launch(program="os.kill(os.getpid(), signal.SIGKILL)")[0] == 137


GONE = """
import time
sys.stdout.write('began\\n'); sys.stdout.flush()
while not comm.allreduce(int(not os.path.exists(f"/proc/{os.environ['LAUNCHER']}"))):
    time.sleep(0.01)
"""  # a line is one write: whole, whatever others print meanwhile


def kill_launcher(program, *words):
    """Kill a launcher whose ranks have begun; return what they print then."""
    start = (
        "import os, sys; os.environ['LAUNCHER'] = str(os.getpid()); from treecast.cli import main;"
        f"sys.exit(main(['launch', '--tcp', '-n', '3', *{words}, '--', sys.executable, '-c', {HEAD + GONE + program!r}]))"
    )
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
        assert [launcher.stdout.readline() for _ in range(3)] == [b"began\n"] * 3
        launcher.kill()
        launcher.wait(60)
        return launcher.stdout.read().split()


@pytest.mark.slow
def test_ranks_go_on_when_their_launcher_is_killed():
    assert kill_launcher("sys.stdout.write(f'{comm.allreduce(1)}\\n')") == [b"3"] * 3


@pytest.mark.slow
def test_ranks_whose_launcher_was_killed_end_with_the_first_that_fails():
    """Their output ends, and so do they: two that add for ever, and one whose output nobody reads any more, say."""
    program = "if comm.rank == 1: raise BrokenPipeError\nwhile True: comm.allreduce(1)"
    assert kill_launcher(program) == []


@pytest.mark.slow
def test_ranks_that_are_tied_to_their_launcher_end_with_it():
    assert kill_launcher("while True: comm.allreduce(1)", "--tie") == []


@pytest.mark.slow
def test_the_error_of_a_rank_that_is_out_ends_nothing():
    program = (
        "pids = comm.allgather(os.getpid())\n"
        "if comm.rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\n"
        "total = comm.allreduce(1)\n"
        "if comm.rank == 0: os.kill(pids[1], signal.SIGCONT)\n"
        "sys.stdout.write(f'{total} {comm.allreduce(1)}\\n')"
    )
    status, printed, shown = launch(program=program, deadline=1)
    assert (status, printed) == (0, ["2 2"] * 2)
    assert "Evicted: rank 1 is cut off" in shown


@pytest.mark.slow
def test_the_dead_come_back_and_have_what_a_serial_sum_gives():
    said = joins("1", "60", "2", ranks=3, respawn=20)  # deaths while others come back count as well
    assert all(same == "True" for same, _ in said)
    assert all(0 < int(fewer) < 60 for _, fewer in said)


@pytest.mark.slow
def test_each_rank_of_unlike_calls_says_where_it_made_its_own():
    """The rank with the odd call was ended before it could: it slept, as another had ended the job."""
    program = "\nif comm.rank == 1: comm.bcast(1)\nelse: comm.allreduce(1)"
    status, _, shown = launch(program=program)
    said = re.search(r"UnlikeCallsError: (.*)", shown)[1]
    assert said.endswith("all ranks make the same calls, in the same order (TREECAST_SITES=1 names their lines)")
    assert shown.count("Traceback") == 3
    assert (
        re.search(r"treecast: ranks \d, \d, \d raised (.*)", shown)[1]
        == f"UnlikeCallsError: {said}; 0 of 3 ended with 0"
    )
    assert (status, shown.count("line 2, in <module>"), shown.count("line 3, in <module>")) == (1, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("dies", [0, 1])
def test_a_rank_that_is_back_is_told_of(dies):
    program = (
        "import time\n"
        f"if comm.rank == {dies} and not comm.is_new: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if not comm.is_new:\n"
        "    comm.allreduce(1)\n"
        "    while not comm.admit(): time.sleep(0.01)\n"
        "sys.stdout.write(f'{comm.allreduce(1)}\\n')"
    )
    status, printed, shown = launch("--respawn", "1", program=program)
    died, back, last = shown.splitlines()
    assert (status, printed) == (0, ["3"] * 3)
    assert died.endswith(f"rank {dies} has died, and the result leaves out its data, now and in later calls without it")
    assert re.fullmatch(rf"treecast: allreduce, call \d+ of its communicator: rank {dies} is back", back)
    assert last == f"treecast: rank {dies} was started anew; 3 of 3 ended with 0"


@pytest.mark.slow
def test_a_job_whose_ranks_are_all_killed_begins_again(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, signal, sys, treecast\n"
        "comm = treecast.connect(survive=2)\n"
        "comm.barrier()\n"
        "mark = f'{sys.argv[1]}/{comm.rank}'\n"
        "if not os.path.exists(mark):\n"
        "    open(mark, 'w').close()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "print(comm.is_new, comm.allreduce(comm.rank), comm.members)\n"
    )
    for respawn, status in ((3, 0), (2, 137)):
        marks = tmp_path / str(respawn)
        marks.mkdir()
        words = ["-n", "3", "--respawn", str(respawn), "--", sys.executable, str(program), str(marks)]
        line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--timeout", "200", *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=220)
        assert done.returncode == status, done.stderr
        assert done.stdout.split("\n")[:-1] == ["False 3 (0, 1, 2)"] * (3 * (not status))


@pytest.mark.long
def test_the_demo_prints_what_its_page_says():
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "examples/demo-tcp.sh"], capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        env={**os.environ, "BIN": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = re.search(
        r"prints, after a few seconds:\n\n```\n(.*?)```", (ROOT / "docs/reference/tcp.md").read_text(), re.DOTALL
    )
    assert done.stdout.splitlines()[1:] == shown[1].splitlines()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_many_die_and_come_back(seed):
    said = joins(str(seed), "300", "50", ranks=5, respawn=200)
    assert len(said) >= 2
    assert all(same == "True" for same, _ in said)


@pytest.mark.long
def test_a_thousand_die_and_come_back():
    said = joins("7", "6000", "1000", ranks=5, respawn=4000)
    assert len(said) >= 3
    assert all(same == "True" and int(fewer) >= 1000 for same, fewer in said)
