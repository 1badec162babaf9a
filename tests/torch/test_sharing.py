"""The store that all share serves what torch has beside process groups, whoever keeps it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="PyTorch is not installed")

PROGRAM = Path(__file__).parents[1] / "torch" / "sharing.py"
LAUNCHERS = {
    "treecast launch": ["-m", "treecast", "launch", "--tcp", "-n", "2", "--timeout", "300", "--", sys.executable],
    "torchrun": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_all_of_torch_finds_its_peers_by_the_store(launcher, tmp_path):
    done = subprocess.run(
        [sys.executable, *LAUNCHERS[launcher], str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=320,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
    assert said == [f"rank {k}: gloo 4, saved True, called {2 * k} 6" for k in range(2)]
