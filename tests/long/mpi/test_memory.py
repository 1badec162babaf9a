"""What a rank holds besides its own data: buffers of chunks that pass, and of copies that it has no use for."""

import sys

import pytest

from tests.mpi.conftest import ROOT


@pytest.mark.parametrize("ranks", [8, 24])
def test_an_alltoall_that_survives_two_failures_takes_little_memory(treecast, ranks):
    """With the buffers themselves, which take 1, that is at most twice of them."""
    cases = ROOT / "tests" / "mpi" / "memory_cases.py"
    done = treecast("launch", "-n", ranks, "--timeout", 900, "--", sys.executable, cases, 8 << 20, 2)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 1


def test_an_alltoall_that_survives_nothing_takes_none(treecast):
    cases = ROOT / "tests" / "mpi" / "memory_cases.py"
    done = treecast("launch", "-n", 4, "--timeout", 300, "--", sys.executable, cases, 32 << 20, 0)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 0.25
