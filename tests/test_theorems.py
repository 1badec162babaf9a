import pytest

from treecast.errors import PlanError
from treecast.networks import Star
from treecast.plans import star_trees
from treecast.theorems import PAPERS, check_theorems


def test_every_statement_of_the_star_paper_holds():
    told = []
    found = check_theorems("star", up_to=6, progress=lambda *args: told.append(args))
    assert all(f.holds for f in found), [f for f in found if not f.holds]
    assert [f.name for f in found] == [s.name for s in PAPERS["star"]]
    assert {"Lemma 1", "Lemma 2", "Lemma 3", "Lemma 4", "Lemma 5", "Lemma 6.1", "Lemma 6.4"} <= {f.name for f in found}
    assert {f.checked for f in found} >= {"n = 3 … 6"}
    assert {what for what, _, _ in told} >= {"Lemma 6.1, n = 6"}


def test_a_false_statement_is_found_out(monkeypatch):
    monkeypatch.setattr(star_trees, "exact_depth", lambda n: 3 * n // 2 + (1 if n < 5 else 2))
    found = {f.name: f for f in check_theorems("star", up_to=5)}
    assert not found["Lemma 6.4"].holds
    assert found["Lemma 6.4"].checked == "n = 5"
    assert not found["broadcast"].holds
    assert found["Lemma 6.1"].holds


def test_trees_that_share_an_arc_are_found_out(monkeypatch):
    trees = star_trees.disjoint_trees(Star(4))
    parent, port = trees.parent.copy(), trees.port.copy()
    parent[1], port[1] = parent[0], port[0]
    from treecast import theorems
    from treecast.trees import TreeSet

    monkeypatch.setattr(theorems, "_disjoint", lambda n: TreeSet(Star(4), 0, parent, port))
    statements = {s.name: s for s in PAPERS["star"]}
    assert not statements["Lemma 6.3"].check(4, lambda done, total: None).holds
    assert not statements["Lemma 6.2"].check(4, lambda done, total: None).holds


@pytest.mark.parametrize(("paper", "up_to"), [("hamlet", None), ("star", 2), ("star", 16)])
def test_papers_and_sizes_that_are_not_there(paper, up_to):
    with pytest.raises(PlanError, match=r"^[^\n]+$"):
        check_theorems(paper, up_to)


@pytest.mark.long
def test_every_statement_as_far_as_each_check_goes():
    assert all(f.holds for f in check_theorems("star", up_to=10))
