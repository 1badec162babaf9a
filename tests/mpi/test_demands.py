"""Plans of demands over MPI: one mpirun carries out many. In the last a rank dies."""

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.test_comm import run


@pytest.mark.slow
def test_each_rank_gets_what_it_wants_or_all_learn_of_a_death(treecast, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    run(treecast, 4, "demand_cases.py", 2, says="each rank has what it wants")
