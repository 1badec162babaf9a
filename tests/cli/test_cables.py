"""``treecast cables``."""

import json
from pathlib import Path

import pytest

from treecast.cli import main


def test_cables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cables", "examples/fabric.ibnetdiscover", "--plans", "0", "-o", str(tmp_path / "net.svg")]) == 0
    said = capsys.readouterr().out
    assert "switch spine0: +9.1%" in said
    assert "host0-1/mlx5_0 - leaf0-0/P5" in said
    assert "cuts off 1 rank" in said
    assert 'id="cut-off"' in (tmp_path / "net.svg").read_text()
    assert main(["cables", "ring:6", "broadcast", "--plans", "0", "--json"]) == 0
    (part, *others) = json.loads(capsys.readouterr().out)["parts"]
    assert (part["sort"], part["name"], len(others)) == ("cable", "0 - 1", 5)
    assert part["more"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["cables", "ring:6", "allredcue"], "did you mean 'allreduce'?"),
        (["cables", "none.txt"], "cannot read the network 'none.txt'"),
        (["cables", "ring:6", "--rate", "7"], "'7' has no unit"),
    ],
)
def test_cables_in_vain(arguments: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert wrong in capsys.readouterr().err
