"""``treecast verify``, and ``verify()`` and ``sweep()``."""

import pytest

import treecast
from treecast.cli import main


@pytest.mark.parametrize("kind", ["nodes", "links"])
def test_a_sweep_of_one_copy_says_that_it_survives_nothing(tmp_path, kind, capsys):
    treecast.save(treecast.plan("broadcast", "ring:4"), tmp_path / "plan.tc")
    plan = str(tmp_path / "plan.tc")
    assert main(["verify", plan, "--sweep", kind]) == 0
    assert f"one copy survives none: 'verify --sweep {kind} --most 1' tells which do harm" in capsys.readouterr().out
    assert main(["verify", plan, "--sweep", kind, "--most", "1"]) == 1
    assert "does NOT survive" in capsys.readouterr().out
