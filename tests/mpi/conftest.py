"""What tests over MPI need; they are skipped, with the reason, where it is missing."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from treecast.cli import main

ROOT = Path(__file__).parents[2]
BESIDE = Path(sys.executable).parent / "mpirun"


def missing():
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    if not BESIDE.exists() and shutil.which("mpirun") is None:
        return "there is no mpirun"
    return ""


@pytest.fixture
def treecast(capfd):
    """Run a command in this process, which has imported everything; the ranks that it starts have processes of their own."""
    if missing():
        pytest.skip(missing())

    def run(*arguments):
        words = [*map(str, arguments)]
        capfd.readouterr()
        return subprocess.CompletedProcess(words, main(words), *capfd.readouterr())

    return run
