"""``treecast advise``."""

import json
from typing import Any

import pytest

from treecast.cli import main


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    words = ["advise", "broadcast", "--nodes", "4..5", "--bytes", "72kB", "--latency", "1us", "--rate", "12.5GB/s"]
    picture = tmp_path / "advice.svg"
    assert main([*words, "--json", "--max-degree", "3", "-o", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["options"][0]["front"]
    assert max(option["degree"] for option in found["options"]) == 3  # of complete:5 over all ports it is 4
    assert b"survives-0-front" in picture.read_bytes()
    for changed, says in (
        ({"--nodes": "9..8"}, "names no sizes"),
        ({"--nodes": "few"}, "a number or a range"),
        ({"--nodes": "8.."}, "a number or a range"),
        ({"--nodes": "0"}, "names no sizes"),
        ({"--rate": "12.5Gb/s"}, "bits or bytes"),
        ({"--survive": "99"}, "survives 99 faults"),
    ):
        given = dict(zip(words[2::2], words[3::2], strict=True)) | changed
        assert main(["advise", "broadcast", *(word for pair in given.items() for word in pair)]) == 2
        assert says in capsys.readouterr().err


def test_the_command_prints_what_to_plug(capsys):
    words = [
        "advise",
        "allgather",
        "--nodes",
        "3",
        "--ports",
        "2",
        "--bytes",
        "1MiB",
        "--latency",
        "1us",
        "--rate",
        "5GB/s",
    ]
    assert main([*words, "--wire"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "m1 port 1 - m2 port 1",
        "m1 port 2 - m3 port 1",
        "m2 port 2 - m3 port 2",
    ]
    assert main(words) == 0
    assert "no other can do it sooner" in capsys.readouterr().out
    assert main(["advise", "allgather", "--nodes", "3..4", "--wire", *words[6:]]) == 2
