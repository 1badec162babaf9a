from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.papers.test_theorems import verdict
from treecast.networks import Star
from treecast.papers.star import collectives as star_collectives
from treecast.papers.theorems import PAPERS, check_theorems
from treecast.plans import plan


@pytest.mark.parametrize("up_to", [4, pytest.param(6, marks=pytest.mark.long)])
def test_every_statement_of_the_star_paper_holds(up_to):
    told = []
    found = check_theorems("star", up_to=up_to, progress=lambda *args: told.append(args))
    assert all(f.as_known for f in found), [f for f in found if not f.as_known]
    assert [f.name for f in found] == [s.name for s in PAPERS["star"]]
    assert {f.name for f in found if not f.holds} == {"section 4.4", "… tolerance"}
    assert {"Lemma 1", "Lemma 2", "Lemma 3", "Lemma 4", "Lemma 5", "Lemma 6.1", "Lemma 6.4"} <= {f.name for f in found}
    assert {"Lemma 7", "allgather", "scatter", "alltoall"} <= {f.name for f in found}
    assert {f.checked for f in found} >= {f"n = 3 … {up_to}"}
    assert {what for _, _, what in told} >= {f"Lemma 6.1, n = {up_to}"}


def test_translates_collide_exactly_when_two_arcs_share_a_dimension():
    """Lemma 7, and that its condition is needed: one by one, over every pair of arcs of S_4."""
    s4 = Star(4)
    arcs = list(product(range(s4.nodes), range(s4.ports)))
    for (u, p), (v, q) in product(arcs[:3], arcs):
        translates = [(int(s4.translate(h, node)), port) for h in range(s4.nodes) for node, port in {(u, p), (v, q)}]
        collide = len(set(translates)) < len(translates)
        assert collide == (p == q and u != v)
        twice = star_collectives._used_twice(s4, np.array([u, v]), np.array([p, q]))
        assert twice == (s4.nodes if p == q else 0)


@pytest.mark.parametrize("name", ["allgather", "full use", "one chunk", "scatter", "alltoall", "one message"])
def test_collectives_that_dawdle_are_found_out(monkeypatch, name):
    """One idle step before everything else: still right, but not what the paper says."""

    def late(*args, **options):
        schedule = plan(*args, **options)
        columns = schedule.rows.columns() | {"step": schedule.rows.step + 1}
        rows = replace(schedule.rows, **columns)
        return replace(schedule, rows=rows, claims=None)

    assert verdict(name, 4).holds
    monkeypatch.setattr(star_collectives, "plan", late)
    # a paper that only claims steps where n - 1 divides Mx, and x = n - 1, is held to it there
    assert not verdict(name, 4).holds


def test_remarks_say_how_far_from_the_bound_a_collective_can_be():
    assert verdict("allgather", 5).detail == "else at most 1.000 x the bound, x = 4, M = 5"
    assert verdict("alltoall", 4).detail.startswith("at most 1.095 x the bound, x = 1")
    assert verdict("scatter", 4).detail == "transmissions at most 1.021 x the bound, x = 3"
    assert [verdict("one message", n).detail for n in (3, 4, 5)] == ["5", "21", "111"]
    assert [verdict("one chunk", n).detail for n in (3, 4, 5)] == ["3", "8", "30"]


@pytest.mark.parametrize(
    ("up_to", "sizes"),
    [
        (4, ("1 … 4", "3 … 4", "2 … 3")),
        pytest.param(7, ("1 … 7", "1 … 5", "1 … 4", "3 … 5", "2 … 3"), marks=pytest.mark.long),
    ],
)
def test_every_statement_of_the_hypercube_paper_holds(up_to, sizes):
    told = []
    found = check_theorems("hypercube", up_to=up_to, progress=lambda *args: told.append(args))
    assert all(f.as_known for f in found), [f for f in found if not f.as_known]
    assert [f.name for f in found] == [s.name for s in PAPERS["hypercube"]]
    assert {f.name for f in found if not f.holds} == {"section 4", "… sends", "… shouting"}
    assert {f.checked for f in found} >= {f"d = {size}" for size in sizes}
    assert {what for _, _, what in told} >= {f"Theorem 1, d = {up_to}"}
