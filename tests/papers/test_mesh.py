from functools import partial

import numpy as np
import pytest

from tests import statements
from treecast.papers.mesh import statements as mesh
from treecast.papers.mesh.builders import eyes
from treecast.papers.theorems import PAPERS, check_theorems

NAMES = [statement.name for statement in PAPERS["mesh"]]
verdict = partial(statements.verdict, "mesh")


@pytest.mark.each(3)
@pytest.mark.parametrize("most", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("statement", PAPERS["mesh"], ids=NAMES)
def test_every_statement_of_the_mesh_paper_is_as_it_is_known(statement, most):
    for k in range(statement.least, max(statement.least, min(most, statement.usual)) + 1):
        statements.check_as_known(statement, k)


def test_three_dimensions_are_checked_above_k_4(monkeypatch):
    claimed, least = eyes.claimed_distance, mesh._least

    def less(k, source, *args, **options):
        return claimed(k, source, *args, **options) - (np.shape(source)[-1] == 3)

    with monkeypatch.context() as patch:
        patch.setattr(eyes, "claimed_distance", less)
        for name in ("Theorem 1", "Theorem 2", "bisection"):
            assert not verdict(name, 5).holds, name
    monkeypatch.setattr(mesh, "_least", lambda k, d: least(k, d) + (d == 3))
    for name in ("erratum: Theorem 2", "bisection"):
        assert not verdict(name, 5).holds, name


def test_wrong_formulas_are_found_out(monkeypatch):
    right_f, right_recurrence = mesh._f, eyes.by_recurrence
    monkeypatch.setattr(mesh, "_f", lambda *args: right_f(*args) + 1)
    monkeypatch.setattr(eyes, "by_recurrence", lambda k, d: right_recurrence(k, d) + (d == 8))
    for name in ("Lemma 1", "Lemma 2", "eq. (16)"):
        assert not verdict(name, 3).holds, name


def test_an_optimum_above_the_bound_is_found_out(monkeypatch):
    right = mesh._bound
    monkeypatch.setattr(mesh, "_bound", lambda grid: right(grid) - 1)
    for name in ("Theorem 4", "torus", "lower bound"):
        assert not verdict(name, 2).holds, name


def test_it_is_counted_by_k():
    found = check_theorems("mesh", up_to=1)
    assert [f.name for f in found] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert {"k = 1 … 1", "k = 2 … 2", "k = 3 … 3"} == {f.checked for f in found}
    assert all(f.holds and f.as_known for f in found)  # Theorem 3 is false from k = 2 on


def test_theorem_3_by_its_words_is_false():
    assert verdict("Theorem 3", 2) == (False, "source (0,1,0) of 4x4x4: 67; 66 is reached")
    assert not verdict("Theorem 3", 3).holds


def test_the_counter_example_to_theorem_3():
    assert verdict("erratum: Theorem 3", 3).detail.startswith("source (2,3) of 8x8: 70 or 71 by the paper, 69 true")
    assert verdict("erratum: Theorem 2", 3).detail == "d = 2: 12 sources, not 4; d = 3: 32 sources, not 8"
    assert (int(eyes.claimed_distance(3, (2, 2, 3), best_order=True)), int(mesh._least(3, 3)[2, 2, 3])) == (527, 525)
    assert verdict("lower bound", 3).detail == "d = 1: 9; d = 2: 69; d = 3: 525"


@pytest.mark.parametrize("name", ["Algorithm 1", "Algorithm 2"])
def test_a_wrong_claim_is_found_out(monkeypatch, name):
    right = eyes.claimed_distance
    monkeypatch.setattr(mesh.eyes, "claimed_distance", lambda *args, **options: right(*args, **options) + 1)
    assert not verdict(name, 2).holds


def test_a_theorem_3_that_were_true_is_found_out(monkeypatch):
    monkeypatch.setattr(mesh, "_least", lambda k, d: np.full((2**k,) * d, 10**6))
    assert verdict("Theorem 3", 3).holds
    assert not verdict("erratum: Theorem 3", 3).holds
    assert not verdict("bisection", 3).holds


@pytest.mark.long
@pytest.mark.parametrize("statement", PAPERS["mesh"], ids=NAMES)
def test_as_far_as_each_goes(statement):
    for k in range(4, statement.most + 1):
        statements.check_as_known(statement, k)
