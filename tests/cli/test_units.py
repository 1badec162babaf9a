"""Bytes, times and rates on the command line: one grammar in all verbs, kept in plans, and old names for one version."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import treecast
from treecast.cli import main
from treecast.cli.slips import modern
from treecast.files import formats
from treecast.plans.timing import time_plan
from treecast.schedule.costs import Costs, seconds_by_steps

SPEED = ["--latency", "1us", "--rate", "12.5GB/s"]


@pytest.fixture(autouse=True)
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with a plan for bytes, and one for none."""
    monkeypatch.chdir(tmp_path)
    formats.save(treecast.plan("broadcast", "torus:4x4", bytes="16MB", latency="1us", rate="12.5GB/s"), "bytes.tc")
    formats.save(treecast.plan("broadcast", "hypercube:3", messages=4), "plain.tc")


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return what a command finds, from its JSON."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line in which a command is refused."""
    capsys.readouterr()
    assert main([*arguments]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    return error[0].removeprefix("error: ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("plan broadcast ring:4 --latency 1us --bytes 1MB", "say both, as in --latency 1us, --rate 12.5GB/s"),
        ("plan broadcast ring:4 --chunk 64KiB", "as in --bytes 16MiB"),
        ("plan broadcast ring:4 --latency 1us --rate 1GB/s", "as in --bytes 16MiB"),
        ("plan broadcast ring:4 --bytes 1MB", "say --latency 1us, --rate 12.5GB/s, or messages"),
        ("plan broadcast ring:4 --bytes 1MB --costs none.csv", "say the cost of the others, by --latency and --rate"),
        ("plan allgatherv ring:4 --bytes 1MB", "needs lengths: how many flits for each node, as in --lengths 3"),
        (
            "bounds broadcast ring:4 --bytes 1MB",
            "nothing says how fast a link is: name the gpu of a matrix, as in --gpu H100",
        ),
        ("bounds broadcast ring:4 --latency 1us --rate 1GB/s", "write --bytes 16MiB, too"),
        ("simulate plain.tc --latency 1us --rate 1GB/s", "say --bytes 16MiB, or --chunk 64KiB"),
        ("simulate plain.tc --bytes 2 --latency 1us --rate 1GB/s", "2 bytes are no 4 chunks for each block"),
        ("export plain.tc -o out.xml --bytes 4MiB", "format msccl takes no --bytes: it takes copies"),
        ("lab run path:2 --rate 10Mb/s --no-mpi -- true", "may be bits or bytes: write Mbit/s or MB/s"),
    ],
)
def test_errors_speak_command_line(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert says in refused(capsys, *words.split())


def test_errors_of_functions_speak_python() -> None:
    with pytest.raises(treecast.errors.PlanError, match=r"say both, as in latency='1us', rate='12\.5GB/s'"):
        treecast.plan("broadcast", "ring:4", bytes="1MB", rate="1GB/s")


# --- seconds stay in the plan ---


def test_verbs_say_the_seconds_of_a_plan_that_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = treecast.load("bytes.tc")
    taken = time_plan(schedule)
    assert schedule.costs == Costs.of("1us", "12.5GB/s")
    for verb in ("verify", "simulate"):
        assert found(capsys, verb, "bytes.tc")["time"] == pytest.approx(taken.by_steps, rel=1e-12)
        slow = found(capsys, verb, "bytes.tc", "--latency", "10us", "--rate", "1GB/s")["time"]
        assert slow == pytest.approx(seconds_by_steps(schedule, Costs.of("10us", "1GB/s")))
    assert "time" not in found(capsys, "verify", "plain.tc")
    again = found(capsys, "repair", "bytes.tc", "--cut-links", "0,0-0,1", "-o", "less.tc")
    assert again["time_before"] == pytest.approx(taken.by_steps) != pytest.approx(again["time"])
    assert found(capsys, "diff", "bytes.tc", "less.tc")["time"] == again["time"]
    bound = found(capsys, "bounds", "broadcast", "torus:4x4", "--bytes", "16MB", *SPEED)["time_lower_bound"]
    assert taken.bound is not None
    assert bound == taken.bound.seconds


def test_clocks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "broadcast", "torus:4x4", "--bytes", "16MB", *SPEED]) == 0
    names = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert {"takes", "planned in", "verified in"} <= set(names)
    assert "seconds" not in names
    assert "time" not in names


def test_costs_of_arcs_stay_in_the_plan_and_follow_its_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("costs.csv").write_text("source,target,latency,rate\n0,1,3us,1GB/s\n2,3,1us,100MB/s\n")
    asked = ["plan", "broadcast", "ring:5", "--bytes", "1MB", *SPEED, "--costs", "costs.csv"]
    planned = found(capsys, *asked)["time"]
    for name in ("plan.tc", "plan.tcb", "plan.csv"):
        assert main([*asked, "-o", "plan.tc"]) == 0
        formats.save(treecast.load("plan.tc"), name)
        again = treecast.load(name)
        assert again.costs is not None
        assert set(again.costs.arcs) == {(0, 1), (2, 3)}
        assert found(capsys, "verify", name)["time"] == planned
    repaired = treecast.repair(treecast.load("plan.tc"), dead_nodes=["1"]).schedule
    assert repaired.costs is not None
    assert [tuple(repaired.network.labels(list(arc))) for arc in repaired.costs.arcs] == [("2", "3")]


@pytest.mark.parametrize(
    "wrong", ["latency 1us", "rate 1GB/s", "latency 5\nrate 1GB/s", "latency 1us\nrate 1GB/s\narc-costs 0>9:1us:1GB/s"]
)
def test_a_file_with_half_a_cost_is_refused(wrong: str) -> None:
    lines = [line for line in Path("plain.tc").read_text().splitlines() if not line.startswith("digest")]
    assert formats.decode("\n".join([*lines, ""]).encode()).costs is None
    with pytest.raises(treecast.errors.FormatError):
        formats.decode("\n".join([*lines[:2], wrong, *lines[2:], ""]).encode())


def test_exports_take_the_costs_of_the_plan() -> None:
    assert main(["export", "bytes.tc", "-o", "out.simgrid"]) == 0
    assert 'bandwidth="12500000000Bps" latency="1e-06s"' in Path("out.simgrid/platform.xml").read_text()
    assert main(["export", "bytes.tc", "-o", "slow.simgrid", "--rate", "1Gbit/s", "--latency", "1ms"]) == 0
    assert 'bandwidth="125000000Bps" latency="0.001s"' in Path("slow.simgrid/platform.xml").read_text()


# --- old names ---


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "simulate plain.tc --startup 1e-5 --per-byte=1e-9 --chunk-bytes 4096",
            "simulate plain.tc --latency 1e-5s --rate 1000000000B/s --chunk 4096",
        ),
        ("simulate plain.tc --startup 1", "simulate plain.tc --latency 1s --rate inf --chunk 1"),
        ("times hypercube:4 --per-byte 1e-9", "times hypercube:4 --rate 1000000000B/s --latency 0 --bytes 1"),
        ("export p.tc --bandwidth 1e9 --latency 1e-6", "export p.tc --rate 1e9B/s --latency 1e-6s"),
        ("simulate p.tc --kill-nodes 1 2@3 --json", "simulate p.tc --dead-nodes 1 2@3 --json"),
        (
            "plan broadcast ring:5 --without-nodes=3 --without-links 0-1 1-2",
            "plan broadcast ring:5 --dead-nodes 3 --cut-links 0-1 1-2",
        ),
        ("run p.tc --mpi --kill 5@3", "run p.tc --mpi --dead-nodes 5@3"),
        ("lab run path:2 --cut 0-1@2 -- prog --cut 1", "lab run path:2 --cut-links 0-1@2 -- prog --cut 1"),
        ("lab run path:2 --rate 2.5gbit -- prog --rate 1kbit", "lab run path:2 --rate 2.5Gbit/s -- prog --rate 1kbit"),
    ],
)
def test_old_names_say_the_new_ones(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert modern(old.split()) == new.split()
    said = capsys.readouterr().err
    assert said.count("is now written") == len(said.splitlines()) > 0
    assert modern(new.split()) == new.split()
    assert not capsys.readouterr().err


def test_old_names_do_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    old = found(capsys, "simulate", "plain.tc", "--startup", "1e-5", "--per-byte", "1e-9", "--chunk-bytes", "4096")
    assert old["time"] == pytest.approx(old["steps"] * (1e-5 + 4096e-9))
    with pytest.warns(DeprecationWarning, match="bandwidth= is now rate="):
        formats.save(treecast.load("plain.tc"), "old.simgrid", to="simgrid", bandwidth=1e9)
    assert 'bandwidth="1000000000Bps"' in Path("old.simgrid/platform.xml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "plan broadcast torus:4x4 --latency {} --rate 1GB/s --bytes 16MB",
        "bounds broadcast torus:4x4 --latency {} --rate 1GB/s --bytes 16MB",
        "advise broadcast --nodes 8 --latency {} --rate 1GB/s --bytes 16MB",
        "simulate plain.tc --latency {} --rate 1GB/s --bytes 16MB",
        "verify plain.tc --latency {} --rate 1GB/s",
        "times hypercube:4 --latency {} --rate 1GB/s --bytes 4KiB",
    ],
)
@pytest.mark.parametrize(
    ("time", "says"),
    [("5", "'5' has no unit: write 5us or 5ms or 5s"), ("-1us", "'-1us' is no time: write 1us, 1.5ms or 2s")],
)
def test_a_time_is_read_alike_in_every_verb(
    words: str, time: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *words.format(time).split()) == says


@pytest.mark.slow
@pytest.mark.parametrize("size", ["100MB", "0.1GB"])
def test_bytes_are_read_alike_in_every_verb(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys, "plan", "broadcast", "ring:4", "--bytes", size, *SPEED)["bytes"] == 10**8
    assert found(capsys, "advise", "broadcast", "--nodes", "4", "--bytes", size, *SPEED)["bytes"] == 10**8
    assert found(capsys, "simulate", "plain.tc", "--bytes", size, *SPEED)["bytes"] == 10**8
    assert main(["export", "plain.tc", "--bytes", size, "-o", "out.csv"]) == 0
    assert "# bytes 100000000" in Path("out.csv").read_text()
    told = ["--network", "hypercube:3", "--collective", "broadcast", "--messages", "4", "--bytes", size]
    assert main(["export", "plain.tc", "--bytes", size, "-o", "out.goal"]) == 0
    bare = re.sub(r"^//.*\n", "", Path("out.goal").read_text(), flags=re.MULTILINE)
    Path("bare.goal").write_text(bare)
    assert main(["verify", "bare.goal", *told]) == 0
