"""Sets of faults are spread over ranks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mpi.conftest import missing

PROGRAM = Path(__file__).parent / "spread_reliability.py"


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_three_ranks_find_what_one_process_finds():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "treecast", "launch", "-n", "3", "--timeout", "300"),
            *("--", sys.executable, "-m", "mpi4py.futures", str(PROGRAM)),
        ],
        capture_output=True, text=True, check=False, env=os.environ,
        timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 ranks, ")
    assert done.stdout.endswith(": the same\n")
