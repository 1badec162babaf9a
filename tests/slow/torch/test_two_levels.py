"""The example of two levels: a replica dies, the other goes on, and both ranks come back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch_two_levels.py"


def test_a_replica_dies_and_comes_back(tmp_path):
    out = tmp_path / "rounds.json"
    line = [sys.executable, "-m", "treecast", "launch", "--tcp", "--respawn", "2", "-n", "4", "--timeout", "400", "--"]
    done = subprocess.run(
        [*line, sys.executable, str(EXAMPLE), str(out), "4"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PAUSE": "5"},
        timeout=420,
    )
    assert done.returncode == 0, done.stderr
    rounds = json.loads(out.read_text())
    assert [number for number, _, _ in rounds] == list(range(24))
    alive = [count for _, _, count in rounds]
    assert (alive[3], alive[4], alive[23]) == (2, 1, 2)
    assert "4 ranks, of which 4 live" in done.stdout
    assert rounds[23][1] < 0.1 * rounds[0][1]
