""""""

from treecast.papers.theorems import check_theorems
from treecast.plans.ways.trees import star as star_trees


def test_a_false_statement_is_found_out(monkeypatch):
    monkeypatch.setattr(star_trees, "exact_depth", lambda n, paper=False: 3 * n // 2 + (1 if n < 5 else 2))
    found = {f.name: f for f in check_theorems("star", up_to=5)}
    assert not found["Lemma 6.4"].holds
    assert found["Lemma 6.4"].checked == "n = 5"
    assert not found["broadcast"].holds
    assert found["Lemma 6.1"].holds


def test_every_statement_of_the_hypercube_paper_as_far_as_each_check_goes():
    assert all(f.as_known for f in check_theorems("hypercube", up_to=14))


def test_every_statement_as_far_as_each_check_goes():
    assert all(f.as_known for f in check_theorems("star", up_to=10))
