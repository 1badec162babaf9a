"""DTensor.redistribute on a square of ranks: every pair of placements."""

import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.mpi.conftest import ROOT
from tests.torch.test_redistribute import check, pairs_of


def test_every_pair_of_placements_of_a_square_of_ranks():
    check((2, 2), pairs_of((2, 2)))


def test_the_example_says_that_all_ranks_have_the_same_as_with_torch():
    start = [sys.executable, "-m", "treecast", "launch", "--tcp", "-n", "4", "--timeout", "250", "--", sys.executable]
    file = ROOT / "examples/redistribute_torch.py"
    done = subprocess.run([*start, file], capture_output=True, text=True, check=False, timeout=280)
    right = done.stdout.rstrip().endswith("all ranks have what torch's own redistribute gives: True")
    assert (done.returncode, right) == (0, True), done.stdout + done.stderr
