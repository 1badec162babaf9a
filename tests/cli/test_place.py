"""``treecast place``."""

import json
from pathlib import Path

import pytest

from treecast.cli import main

TURNS = ["--hosts", *"04152637"]


def test_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["place", "ring:8", *TURNS]) == 0
    said = capsys.readouterr().out
    assert "today    3 streams on the busiest cable" in said
    assert "gain     3 x on the busiest cable" in said
    assert main(["place", "ring:8", *TURNS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gain"] == 3
    assert main(["place", "ring:8", *TURNS, "--slots", "2", "--write", "slurm"]) == 0
    assert capsys.readouterr().out.split() == [host for host in found["hosts"] for _ in range(2)]
    assert main(["place", "ring:4", "--for", "tp2,dp4", "--write", "hostfile", "-o", str(tmp_path / "hosts")]) == 0
    assert (tmp_path / "hosts").read_text() == "".join(f"{host} slots=2\n" for host in range(4))


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["ring:4", "-o", "hosts"], "-o wants --write and its launcher, as in --write hostfile"),
        (["ring:4", "--write", "slurmm"], "did you mean 'slurm'?"),
        (
            ["ring:4", "--for", "tp3"],
            "tp3 has 3 ranks, which 4 hosts do not share evenly: take 3 of them, or a mesh of 4 or 8",
        ),
        (["ring:4", "--write", "lsf"], "'lsf' is no form of a placement: write one of hostfile"),
        (["ring:4", "--hosts", "a[1-"], "'a[1-'"),
    ],
)
def test_place_in_vain(arguments: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", *arguments]) == 2
    assert wrong in capsys.readouterr().err
