"""``treecast doctor``."""

import json

import pytest

from treecast.cli import main

LOG = "examples/allreduce.log"


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", LOG, "--network", "examples/fabric.ibnetdiscover"]) == 0
    said = capsys.readouterr().out
    assert "log      nccl-tests: allreduce, 8 ranks on 8 hosts" in said
    assert "reached  63% of what the cables allow at 1 GiB" in said
    assert "at most 64.52 GB/s busbw" in said
    assert "no better order" in said
    assert main(["doctor", LOG, "--network", "ring:8", "--rate", "100GB/s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [size["size"] for size in found["sizes"]] == [1 << 20, 1 << 25, 1 << 30]
    assert found["rings"]["load"] == 1


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (
            [LOG, "--network", "ring:8"],
            "nothing says how fast a link is: name the gpu of a matrix, as in --gpu H100, or --rate",
        ),
        (["README.md", "--network", "ring:8"], "this log has no table of a collective: give the output of nccl-tests"),
        (["none.log", "--network", "ring:8"], "none.log"),
        ([LOG], "--network"),
    ],
)
def test_doctor_in_vain(arguments: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *arguments]) == 2
    assert wrong in capsys.readouterr().err
