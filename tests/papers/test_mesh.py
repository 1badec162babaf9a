from functools import partial

import numpy as np
import pytest

from tests import statements
from treecast.papers import PAPERS, check_theorems
from treecast.papers.mesh import statements as mesh
from treecast.plans.wormhole import eyes

NAMES = [statement.name for statement in PAPERS["mesh"]]
verdict = partial(statements.verdict, "mesh")


@pytest.mark.parametrize("statement", PAPERS["mesh"], ids=NAMES)
def test_every_statement_of_the_mesh_paper_holds(statement):
    for k in range(statement.least, min(3, statement.usual) + 1):
        found = statement.check(k)
        assert found.holds, (k, found.detail)


def test_it_is_counted_by_k():
    found = check_theorems("mesh", up_to=1)
    assert [f.name for f in found] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert {"k = 1 … 1", "k = 2 … 2", "k = 3 … 3"} == {f.checked for f in found}


def test_the_counter_example_to_theorem_3():
    assert verdict("erratum: Theorem 3", 3).detail.startswith("source (2,3) of 8x8: 70 or 71 by the paper, 69 true")
    assert verdict("erratum: Theorem 2", 3).detail == "d = 2: 12 sources, not 4; d = 3: 32 sources, not 8"
    assert verdict("lower bound", 3).detail == "d = 1: 9; d = 2: 69; d = 3: 525"


@pytest.mark.parametrize("name", ["Algorithm 1", "Algorithm 2"])
def test_a_wrong_claim_is_found_out(monkeypatch, name):
    right = eyes.claimed_distance
    monkeypatch.setattr(mesh.eyes, "claimed_distance", lambda *args, **options: right(*args, **options) + 1)
    assert not verdict(name, 2).holds


def test_a_theorem_3_that_were_true_is_found_out(monkeypatch):
    monkeypatch.setattr(mesh, "_least", lambda k, d: np.full((2**k,) * d, 10**6))
    assert not verdict("erratum: Theorem 3", 3).holds
    assert not verdict("bisection", 3).holds
