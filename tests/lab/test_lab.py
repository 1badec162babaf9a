"""Labs that are really built. They need root on Linux, ip and tc; elsewhere they are skipped."""

import functools
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from treecast import network, plan
from treecast.cli import main
from treecast.errors import LabError
from treecast.files import formats
from treecast.running.lab import outside
from treecast.running.lab.wiring import LinkCut, bucket, plan_wiring


@functools.cache
def _missing():
    try:
        outside.check_machine()
    except LabError as error:
        return str(error)
    return ""


needs_lab = pytest.mark.skipif(bool(_missing()), reason=_missing() or "there is a lab")
mpirun = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
needs_mpi = pytest.mark.skipif(not mpirun or not importlib.util.find_spec("mpi4py"), reason="needs mpi4py and mpirun")


def run(spec, rate, command, tmp_path, *, switched=False, **how):
    """Run a command in a lab and return the outcome and what was printed."""
    plan = plan_wiring(network(spec), rate, switched=switched)
    with (tmp_path / "out").open("wb") as out:
        outcome = outside.run_in_lab(plan, command, timeout=60, stdout=out.fileno(), **how)
    return outcome, (tmp_path / "out").read_text()


def outside_view():
    """What a lab must not change: namespaces, interfaces and routes outside of it."""
    commands = (["ip", "netns", "list"], ["ip", "-brief", "link"], ["ip", "route"])
    return [subprocess.run(command, capture_output=True, check=True, timeout=100).stdout for command in commands]


@needs_lab
def test_every_host_runs_the_command_and_reaches_the_others_by_name(tmp_path):
    before = outside_view()
    look = "h=$(hostname); ip -brief address show self; for v in h0 h1 h2 h3; do echo $h $v $(getent hosts $v); done"
    outcome, out = run("hypercube:2", 10**8, ["sh", "-c", look], tmp_path, how="hosts")
    assert outcome.status == 0
    assert {tuple(line.split()) for line in out.splitlines() if line.split()[1].startswith("h")} == {
        (f"0b{u:02b}:", f"h{u}", f"h{v}", f"10.9.0.{v + 1}", f"h{v}") for u in range(4) for v in range(4)
    }
    assert all(f"10.9.0.{u + 1}/32" in out for u in range(4))
    assert outside_view() == before


@needs_lab
def test_the_command_line_runs_a_command(capfd):
    assert main(["lab", "run", "path:2", "--rate", "10Mbit/s", "--no-mpi", "--", "sh", "-c", "hostname"]) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["0: h0", "1: h1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["path:2", "--rate", "fast", "--", "true"], "is no rate"),
        (["star:5", "--", "true"], "from 2 to 64 hosts"),
        (["cube:3", "--", "true"], "is no network"),
        (["path:2", "--cut-links", "0-1", "--", "true"], "names no cut"),
        (["path:3", "--cut-links", "0-2@1", "--", "true"], "no link"),
        (["ring:5", "--switch", "--", "true"], "write complete:5 --switch"),
        (["complete:3", "--switch", "--cut-links", "0-1@1", "--", "true"], "behind a --switch there are none"),
        (["path:2"], "nothing to run"),
        (["path:2", "--no-mpi", "--once", "--", "true"], "choose one"),
        (["path:2", "--mpirun", "'", "--", "true"], "cannot be split"),
        (["path:2", "--timeout", "0", "--", "true"], "time limit"),
    ],
)
def test_what_will_not_do_is_said_in_one_line(ask, arguments, said):
    status, out, err = ask("lab", "run", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("where", "what", "said"),
    [
        ("sys.platform", "darwin", "not Linux"),
        ("os.geteuid", lambda: 1000, "needs root"),
        ("shutil.which", lambda tool: None if tool == "tc" else tool, "apt install iproute2"),
    ],
)
def test_what_the_machine_lacks_is_said(ask, monkeypatch, where, what, said):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    monkeypatch.setattr("shutil.which", lambda tool: tool)
    monkeypatch.setattr(where, what)
    status, out, err = ask("lab", "run", "path:2", "--no-mpi", "--", "true")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_no_namespaces_are_said(ask, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    monkeypatch.setattr("shutil.which", lambda tool: tool)
    refused = subprocess.CompletedProcess([], 1, "", "unshare: unshare failed: Operation not permitted\n")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: refused)
    status, _, err = ask("lab", "run", "path:2", "--no-mpi", "--", "true")
    assert status == 2
    assert "no new namespaces" in err
    assert "Operation not permitted" in err


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@needs_lab
@needs_mpi
def test_mpi_ranks_are_on_their_hosts(tmp_path):
    say = "from mpi4py import MPI; import os; print(MPI.COMM_WORLD.allreduce(1), MPI.COMM_WORLD.rank, os.uname().nodename)"
    outcome, out = run("hypercube:2", 10**8, [sys.executable, "-c", say], tmp_path)
    assert outcome.status == 0
    assert sorted(out.splitlines()) == [f"4 {u} h{u}" for u in range(4)]


@pytest.mark.slow
@needs_lab
@needs_mpi
def test_a_rank_that_fails_ends_the_lab(tmp_path):
    fail = "import sys; from mpi4py import MPI; w = MPI.COMM_WORLD; w.rank and sys.exit(4); w.Barrier(); w.Barrier()"
    assert run("path:2", 10**8, [sys.executable, "-c", fail], tmp_path)[0].status == 4


@pytest.mark.slow
@needs_lab
def test_the_status_of_the_command_is_told(tmp_path):
    assert run("path:2", 10**8, ["sh", "-c", "exit 7"], tmp_path, how="once")[0].status == 7
    claimed = ["sh", "-c", "echo 4 > $TREECAST_JOB; exit 1"]  # as mpirun ends where the rank that failed first claims 4
    assert run("path:2", 10**8, claimed, tmp_path, how="once")[0].status == 4
    assert run("path:2", 10**8, ["sh", "-c", "test $(hostname) = h0"], tmp_path, how="hosts")[0].status == 1
    with pytest.raises(LabError, match="there is no nosuchprogram"):
        run("path:2", 10**8, ["nosuchprogram"], tmp_path, how="once")


@pytest.mark.slow
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


@pytest.mark.slow
@needs_lab
def test_time_runs_out(tmp_path):
    token = uuid.uuid4().hex
    plan = plan_wiring(network("path:2"), 10**8)
    with pytest.raises(LabError, match="not done after 1 seconds"):
        outside.run_in_lab(plan, ["sh", "-c", f"sleep 1000; : {token}"], "hosts", timeout=1)
    assert not processes(token)


@pytest.mark.long
@needs_lab
@needs_mpi
def test_a_plan_with_two_copies_gets_past_a_link_that_is_cut(tmp_path):
    """The link of the root goes down in mid-transfer; every rank has everything, the report is whole, and all ends by itself."""
    plan_file, data = tmp_path / "plan.tc", tmp_path / "data"
    formats.save(plan("broadcast", "hypercube:3", messages=96, survive=1), plan_file)
    data.write_bytes(os.urandom(3_000_000))
    program = [sys.executable, "-m", "treecast", "run", str(plan_file), "--mpi", "--input", str(data)]
    program += ["--deadline", "2", "--json"]
    outcome, out = run("hypercube:3", 50 * 10**6, program, tmp_path, cuts=[LinkCut(0, 1, 0.05, after_mark=True)])
    found = json.loads(out)
    assert outcome.status == 0
    assert [link[:2] for link in outcome.cuts] == [(0, 1)]
    assert (found["living"], found["delivered"]) == (8, 8)
    assert {tuple(node["cut_off"]) for node in found["node_reports"][:2]} == {("0b001",), ("0b000",)}


@pytest.mark.long
@needs_lab
@needs_mpi
@pytest.mark.parametrize("busy", [0, 2])
def test_a_cut_in_mid_run_keeps_no_rank_from_its_data_nor_from_its_end(tmp_path, busy):
    """The example of docs/reference/mpi.md, 20 times, on a loaded machine too. Its mpirun ends by itself, or time runs out."""
    plan_file, data = tmp_path / "plan.tc", tmp_path / "data"
    formats.save(plan("broadcast", "hypercube:3", messages=384, survive=1), plan_file)
    data.write_bytes(os.urandom(12_500_000))
    program = [sys.executable, "-m", "treecast", "run", str(plan_file), "--mpi", "--input", str(data)]
    program += ["--deadline", "3", "--json"]
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for _ in range(20):
            outcome, out = run("hypercube:3", 10**8, program, tmp_path, cuts=[LinkCut(0, 1, 0.2, after_mark=True)])
            found = json.loads(out)
            assert (outcome.status, found["living"], found["delivered"]) == (0, 8, 8)
            assert [link[:2] for link in outcome.cuts] == [(0, 1)]
    finally:
        for load in loads:
            load.kill()
            load.wait(60)
