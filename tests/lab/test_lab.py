"""Labs that are really built. They need root on Linux, ip and tc; elsewhere they are skipped."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treecast import network
from treecast.cli import main
from treecast.errors import LabError
from treecast.running.lab import outside
from treecast.running.lab.wiring import plan_wiring


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
