"""A cast to the hosts of a list: who does not answer is left out, and named; who comes late, or dies, holds up nobody."""

import json
import os
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest

pytestmark = pytest.mark.slow

SSH = """#!/bin/sh
# as ssh: options, a host, and a command for a shell there; here hosts are this machine, or none
shift 3; host=$1; shift  # -o BatchMode=yes --
cd /
case $host in
    dead) echo "ssh: connect to host dead port 22: No route to host" >&2; exit 255 ;;
    none) echo "ssh: Could not resolve hostname none: Name or service not known" >&2; exit 255 ;;
    locked) echo "me@locked: Permission denied (publickey,password)." >&2; exit 255 ;;
    silent) exec sleep 300 ;;
    late) while [ ! -s "$FOLDER/to1/file.part" ]; do sleep 0.02; done ;;
    noisy) echo Welcome; echo "Last login: never" >&2 ;;
    old) export PYTHONPATH="$FOLDER/old" ;;
    bare) export PYTHONPATH="$FOLDER/bare" ;;
esac
exec sh -c "echo \\$\\$ > $FOLDER/$host.pid; exec $*"
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a stand-in for ssh, and a file."""
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "file").write_bytes(os.urandom(3_000_000))
    for place, text in (("old/treecast", "__version__ = '0.0'"), ("bare/numpy", "raise ImportError")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "__init__.py").write_text(text)
    return tmp_path


def begin(folder, hosts, *words, path="file"):
    """Start a cast to hosts."""
    (folder / "hosts").write_text("\n".join(hosts))
    target = ["--as", f"{folder}/to{{rank}}/{path}"]
    line = [
        sys.executable,
        "-m",
        "treecast",
        "cast",
        str(folder / path),
        "--hosts",
        str(folder / "hosts"),
        *target,
        *words,
    ]
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "FOLDER": str(folder)}
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def cast(folder, hosts, *words, path="file"):
    """Cast to hosts; return the status, what was printed, and the errors."""
    with begin(folder, hosts, *words, path=path) as casting:
        out, err = casting.communicate(timeout=200)
    return casting.returncode, out.splitlines(), err


def has(folder, *numbers):
    whole = (folder / "file").read_bytes()
    return [(folder / f"to{number}" / "file").read_bytes() == whole for number in numbers]


def test_who_is_not_reached_is_named_and_left_out(folder):
    hosts = ["n1", "dead", "none", "locked", "silent", "noisy", "bare"]
    status, out, _ = cast(folder, hosts, "--start", "10")
    assert status == 1
    assert out[:-1] == [
        "rank 1 on n1: whole, 3,000,000 bytes came",
        "rank 2 on dead: not reached (ssh: No route to host)",
        "rank 3 on none: not reached (ssh: Name or service not known)",
        "rank 4 on locked: not reached (ssh: Permission denied (publickey,password))",
        out[4],
        "rank 6 on noisy: whole, 3,000,000 bytes came",
        "rank 7 on bare: left out (there is no numpy: pip install numpy)",
    ]
    assert out[4].startswith("rank 5 on silent: not reached (ssh: no answer within 1")
    assert out[-1].startswith("3,000,000 bytes to 2 of 7 hosts in ")
    assert has(folder, 1, 6) == [True] * 2
    status, out, _ = cast(folder, ["n1", "dead"], "--allow-missing")
    assert status == 0
    assert out[-1].startswith("nothing was sent: 1 of 2 hosts have all of 3,000,000 bytes, as was found in ")
    assert cast(folder, ["dead"], "--allow-missing")[0] == 1
    status, out, _ = cast(folder, ["n1", "dead"], "--json")
    found = json.loads("\n".join(out))
    assert (status, found["sent"], found["whole"]) == (1, 0, 1)
    assert [each["host"] for each in found["hosts"]] == ["n1", "dead"]


def test_over_links_those_behind_an_absent_host_are_left_out_too(folder, monkeypatch):
    monkeypatch.chdir(folder)  # the file of cables is here alone
    (folder / "cables.edges").write_text("0 1\n0 2\n1 3\n2 4\n")
    status, out, err = cast(folder, ["n1", "dead", "n3", "n4"], "--network", "cables.edges", "--start", "100")
    assert (status, out[:4]) == (
        1,
        [
            "rank 1 on n1: whole, 3,000,000 bytes came",
            "rank 2 on dead: not reached (ssh: No route to host)",
            "rank 3 on n3: whole, 3,000,000 bytes came",
            "rank 4 on n4: left out (its links lead to hosts that are not there)",
        ],
    ), err
    assert has(folder, 1, 3) == [True] * 2


def test_a_host_without_treecast_takes_it_from_here_and_leaves_nothing(folder, monkeypatch):
    (folder / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
    status, out, err = cast(folder, ["n1", "old"], "--start", "100")
    assert (status, out[1]) == (0, "rank 2 on old: whole, 3,000,000 bytes came"), err
    assert has(folder, 1, 2) == [True] * 2
    assert not list((folder / "temporary").glob("treecast-cast-*"))


def _wait(folder, number, size):
    until, part = monotonic() + 100, folder / f"to{number}" / "file.part"
    while not (part.exists() and part.stat().st_size > size):
        assert monotonic() < until, "no bytes came"
        sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_host_that_dies_on_the_way_is_named_and_the_others_have_all(folder, number):
    (folder / "file").write_bytes(os.urandom(200_000_000))
    with begin(folder, ["n1", "n2", "n3"]) as casting:
        _wait(folder, 1, 20_000_000)
        os.kill(int((folder / "n2.pid").read_text()), number)
        out, _ = casting.communicate(timeout=200)
    assert casting.returncode == 1
    assert "rank 2 on n2: died" in out.splitlines()
    assert has(folder, 1, 3) == [True] * 2


def test_who_comes_late_joins(folder):
    (folder / "file").write_bytes(os.urandom(300_000_000))
    status, out, err = cast(folder, ["n1", "late", "n3"], "--start", "3")
    assert (status, out[1]) == (0, "rank 2 on late: whole, 300,000,000 bytes came"), err
    assert has(folder, 1, 2, 3) == [True] * 3


def test_the_end_of_the_launcher_ends_all(folder):
    (folder / "file").write_bytes(os.urandom(200_000_000))
    with begin(folder, ["n1", "n2"]) as casting:
        _wait(folder, 1, 20_000_000)
        casting.kill()
    pids, until = [(folder / f"{name}.pid").read_text().strip() for name in ("n1", "n2")], monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert monotonic() < until
        sleep(0.05)


def test_under_a_launcher_a_death_is_a_failure_that_may_be_allowed(folder):
    (folder / "file").write_bytes(os.urandom(200_000_000))
    me = "import os, sys; open(f'{sys.argv.pop()}/pid' + os.environ['TREECAST_RANK'], 'w').write(str(os.getpid()))"
    program = f"{me}; from treecast.cli import main; sys.exit(main(sys.argv[1:]))"
    for words, expected in (((), 1), (("--allow-missing",), 0)):
        line = ["cast", str(folder / "file"), "--as", f"{folder}/{expected}{{rank}}/file", *words, str(folder)]
        with subprocess.Popen(
            [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "4", "--", sys.executable, "-c", program, *line],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as casting:  # fmt: skip
            part, until = folder / f"{expected}1" / "file.part", monotonic() + 100
            while not (part.exists() and part.stat().st_size > 20_000_000):
                assert monotonic() < until
                sleep(0.01)
            os.kill(int((folder / "pid2").read_text()), signal.SIGKILL)
            out, _ = casting.communicate(timeout=200)
        assert (casting.returncode, out.count("whole, 200,000,000 bytes came")) == (expected, 2)
        assert ": died\n" in out
