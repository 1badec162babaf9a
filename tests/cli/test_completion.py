"""Shell completion, tried in a real shell."""

import pytest

from treecast.cli import main


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err
