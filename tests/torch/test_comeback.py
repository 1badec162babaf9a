"""The example of the tutorial: a rank is killed, and a new process takes its seat with the state of the others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_comeback.py"


def test_a_rank_is_killed_and_comes_back(tmp_path):
    out = tmp_path / "losses.json"
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--respawn", "1", "-n", "3", "--timeout", "120", "--"]
    done = subprocess.run(
        [*line, sys.executable, str(EXAMPLE), str(out), "40"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PAUSE": "0.6"},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    losses = json.loads(out.read_text())
    assert [step for step, _, _ in losses] == list(range(120))
    alive = [count for _, _, count in losses]
    assert (alive[39], alive[40], alive[119]) == (3, 2, 3)
    assert "3 ranks, of which 3 live" in done.stdout
    assert losses[119][1] < 0.6
