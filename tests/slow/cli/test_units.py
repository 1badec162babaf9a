"""Bytes, times and rates on the command line: one grammar in all verbs, kept in plans, and old names for one version."""

import re
from pathlib import Path

import pytest

from tests.cli.test_units import SPEED, found, refused
from tests.cli.test_units import plans as plans
from treecast.cli import main


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
