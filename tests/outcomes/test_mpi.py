"""The cases over MPI: several jobs of ranks side by side under one launcher."""

import json
import os
import sys

import pytest

from tests.mpi.conftest import ROOT
from tests.mpi.conftest import treecast as treecast
from tests.outcomes.cases import RANKS, cases_of, judge

pytestmark = pytest.mark.slow

SIDE_BY_SIDE = 4
NUMBERS = list(range(len(cases_of("mpi"))))


@pytest.mark.parametrize("first", NUMBERS[::SIDE_BY_SIDE])
def test_over_mpi(first, treecast, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    numbers = NUMBERS[first : first + SIDE_BY_SIDE]
    for number in numbers:
        (tmp_path / str(number)).mkdir()
    line = [sys.executable, "-m", "tests.outcomes.over_mpi", tmp_path, *map(str, numbers)]
    done = treecast("launch", "-n", RANKS * len(numbers), "--timeout", 120, "--", *line)
    for number in numbers:
        case, said, told = cases_of("mpi")[number], [None] * RANKS, ""
        for place in (tmp_path / str(number)).glob("said-*"):
            said[int(place.name[5:])], lines = json.loads(place.read_text())
            told += lines
        assert all(said[rank] for rank in range(RANKS) if rank not in case.who), (case, said, done.stderr[-2000:])
        judge(case, said, told)
