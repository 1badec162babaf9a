"""What tests over MPI need; they are skipped, with the reason, where it is missing."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BESIDE = Path(sys.executable).parent / "mpirun"


def missing():
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    if not BESIDE.exists() and shutil.which("mpirun") is None:
        return "there is no mpirun"
    return ""


@pytest.fixture
def treecast():
    """Run the command line in a process of its own, with a time limit that nothing outlives."""
    if missing():
        pytest.skip(missing())

    def run(*arguments, limit=280):
        return subprocess.run(
            [sys.executable, "-m", "treecast", *map(str, arguments)],
            capture_output=True, text=True, check=False, timeout=limit + 40, cwd=ROOT,
        )  # fmt: skip

    return run
