"""The transport over MPI keeps the laws of every carrier. One mpirun carries out all of them."""

import pytest

from tests.mpi.test_comm import run

pytestmark = pytest.mark.slow


def test_mpi_keeps_the_laws(treecast):
    run(treecast, 2, "law_cases.py", says="the laws are kept")
