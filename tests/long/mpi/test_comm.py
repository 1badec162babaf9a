"""Wrapped communicators: that they are what mpi4py's are, and do what those do. One mpirun carries out many cases."""

import pytest

from tests.mpi.test_comm import run


@pytest.mark.parametrize("seed", range(12))
def test_so_have_they_between_hosts(treecast, seed):
    run(treecast, 5, "kill_cases.py", seed, "hosts", says="40 calls ended alike")
