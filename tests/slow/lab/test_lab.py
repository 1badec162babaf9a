"""Labs that are really built. They need root on Linux, ip and tc; elsewhere they are skipped."""

import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.lab.test_lab import needs_lab, needs_mpi, outside_view, run
from treecast import network
from treecast.errors import LabError
from treecast.running.lab import outside
from treecast.running.lab.wiring import LinkCut, bucket, plan_wiring

HERE = Path(__file__).parent


def processes(token):
    """Return the processes that have a word in their command lines, but for this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


def soon(true, seconds=200):
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def words(out):
    """Return what was printed, without the names of hosts in front of the lines."""
    return [word for line in out.splitlines() for word in line.split()[1:]]


@needs_lab
def test_links_carry_about_their_rate_and_two_carry_twice_as_much(tmp_path):
    size, rate = 2_000_000, 20 * 10**6
    _, out = run("path:3", rate, [sys.executable, str(HERE / "sender.py"), str(size)], tmp_path, how="hosts")
    one, two, relayed = map(float, words(out))
    least = (size - bucket(rate)) * 8 / rate
    assert min(one, two) >= least * 0.99
    assert relayed >= least * 0.99
    assert one < 3 * least
    assert two < 1.6 * one  # over one shared link it would be 2


@needs_lab
def test_behind_a_switch_a_host_has_one_port_for_all_it_sends(tmp_path):
    size, rate = 500_000, 10**7
    sender = [sys.executable, str(HERE / "sender.py"), str(size)]
    _, out = run("complete:3", rate, sender, tmp_path, how="hosts", switched=True)
    one, two, across = map(float, words(out))
    least = (size - 2 * bucket(rate)) * 8 / rate  # that of the host's end, and that of the switch's
    assert min(one, across) >= least * 0.99
    assert two >= (2 * size - bucket(rate)) * 8 / rate * 0.99
    assert across < 3 * least


@needs_lab
def test_a_cut_link_stops(tmp_path):
    receiver = [sys.executable, str(HERE / "sender.py"), "6000000", "1.5"]
    whole, out = run("path:2", 50 * 10**6, receiver, tmp_path, how="hosts")
    assert (whole.cuts, words(out)) == ((), ["closed", "6000000"])
    cut, out = run("path:2", 50 * 10**6, receiver, tmp_path, how="hosts", cuts=[LinkCut(0, 1, 0.2, after_mark=True)])
    assert [link[:2] for link in cut.cuts] == [(0, 1)]
    word, got = words(out)
    assert word == "silence"
    assert 0 < int(got) < 6_000_000


@needs_lab
def test_a_cut_in_seconds_takes_both_ends_down(tmp_path):
    look = "sleep 1.5; for d in /sys/class/net/to*; do echo $(hostname) ${d##*/} $(($(cat $d/flags) & 1)); done"
    outcome, out = run(
        "path:3", 10**8, ["sh", "-c", look], tmp_path, how="hosts", cuts=[LinkCut(0, 1, 1e3), LinkCut(1, 2, 0.3)]
    )
    assert sorted(out.splitlines()) == ["0: h0 to1 1", "1: h1 to0 1", "1: h1 to2 0", "2: h2 to1 0"]
    ((u, v, seconds),) = outcome.cuts
    assert (u, v) == (1, 2)
    assert seconds >= 0.3


@needs_lab
@needs_mpi
def test_mpi_ranks_are_on_their_hosts(tmp_path):
    say = "from mpi4py import MPI; import os; print(MPI.COMM_WORLD.allreduce(1), MPI.COMM_WORLD.rank, os.uname().nodename)"
    outcome, out = run("hypercube:2", 10**8, [sys.executable, "-c", say], tmp_path)
    assert outcome.status == 0
    assert sorted(out.splitlines()) == [f"4 {u} h{u}" for u in range(4)]


@needs_lab
@needs_mpi
def test_a_rank_that_fails_ends_the_lab(tmp_path):
    fail = "import sys; from mpi4py import MPI; w = MPI.COMM_WORLD; w.rank and sys.exit(4); w.Barrier(); w.Barrier()"
    assert run("path:2", 10**8, [sys.executable, "-c", fail], tmp_path)[0].status == 4


@needs_lab
def test_the_status_of_the_command_is_told(tmp_path):
    assert run("path:2", 10**8, ["sh", "-c", "exit 7"], tmp_path, how="once")[0].status == 7
    claimed = ["sh", "-c", "echo 4 > $TREECAST_JOB; exit 1"]  # as mpirun ends where the rank that failed first claims 4
    assert run("path:2", 10**8, claimed, tmp_path, how="once")[0].status == 4
    assert run("path:2", 10**8, ["sh", "-c", "test $(hostname) = h0"], tmp_path, how="hosts")[0].status == 1
    with pytest.raises(LabError, match="there is no nosuchprogram"):
        run("path:2", 10**8, ["nosuchprogram"], tmp_path, how="once")


@pytest.mark.each(6)
@needs_lab
@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)]
)
@pytest.mark.parametrize("how", ["--no-mpi", pytest.param("--timeout=90", marks=needs_mpi)])
def test_nothing_is_left_when_the_launcher_ends(sent, status, how):
    before, token = outside_view(), uuid.uuid4().hex
    sleeper = f"echo ready; sleep 1000 & : {token}; setsid sleep 1000.{int(token, 16)} & wait"
    launcher = subprocess.Popen(
        [sys.executable, "-m", "treecast", "lab", "run", "hypercube:2", how, "--", "sh", "-c", sleeper],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert [launcher.stdout.readline().split()[-1:] for _ in range(4)] == [["ready"]] * 4
    assert len(processes(token)) >= 4
    assert outside_view() == before  # nothing of it is seen outside, even while it lasts
    launcher.send_signal(sent)
    assert launcher.wait(20) == status
    launcher.stdout.close()
    soon(lambda: not processes(token) and not processes(f"1000.{int(token, 16)}"))
    assert outside_view() == before


@needs_lab
def test_time_runs_out(tmp_path):
    token = uuid.uuid4().hex
    plan = plan_wiring(network("path:2"), 10**8)
    with pytest.raises(LabError, match="not done after 1 seconds"):
        outside.run_in_lab(plan, ["sh", "-c", f"sleep 1000; : {token}"], "hosts", timeout=1)
    assert not processes(token)
