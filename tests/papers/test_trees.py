from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest

from tests import statements
from treecast.cli import main
from treecast.errors import PlanError
from treecast.papers.theorems import PAPERS, check_theorems
from treecast.papers.trees import cases, covers, scatters
from treecast.papers.trees import statements as trees
from treecast.papers.trees.gatherings import begins_earlier, ends_earlier, gathers_earlier

pytestmark = pytest.mark.each(3)

NAMES = [statement.name for statement in PAPERS["trees"]]
verdict = partial(statements.verdict, "trees")


def test_the_command_line(capsys):
    assert main(["theorems", "trees", "--up-to", "2"]) == 0
    out, _ = capsys.readouterr()
    assert out.count("holds  ") == len(NAMES)
    assert "erratum: C" in out


def test_a_statement_that_is_known_to_be_false_is_no_failure(capsys):
    assert main(["theorems", "trees", "--up-to", "3", "--only", "Theorem 3"]) == 0
    out, _ = capsys.readouterr()
    assert out.count("FALSE  ") == 1
    assert "FALSE  Theorem 3 " in out
    assert "path:3: 8 steps, not 7" in out
    assert "holds  erratum: Theorem 3" in out


def test_a_false_statement_that_holds_after_all_is_a_failure(monkeypatch, capsys):
    right = trees.certificates
    monkeypatch.setattr(trees, "certificates", lambda *args: replace(right(*args), rest=0))
    found = next(f for f in check_theorems("trees", up_to=3, only=["Theorem 3"]) if f.name == "Theorem 3")
    assert found.holds
    assert not found.as_known
    assert main(["theorems", "trees", "--up-to", "3", "--only", "Theorem 3"]) == 1
    assert "KNOWN to be false" in capsys.readouterr().out


def test_there_are_as_many_rooted_trees_as_there_are():
    assert [len(cases.rooted_trees(n)) for n in range(1, 8)] == [1, 1, 2, 4, 9, 20, 48]


def test_the_paper_figure_is_too_little():
    assert "a path 5" in verdict("erratum: C", 4).detail  # 2H - 1, where nothing is sorted


# --- a wrong statement is found out ---


@pytest.mark.parametrize(
    ("name", "where", "what"),
    [
        ("… with gaps", scatters, "ends_earlier"),
        ("Theorem 2", trees, "begins_earlier"),
        ("… worst case", trees, "begins_earlier"),
        ("lower bound", trees, "gathers_earlier"),
    ],
)
def test_a_better_schedule_is_found_out(monkeypatch, name, where, what):
    monkeypatch.setattr(where, what, lambda *args, **options: True)
    assert not verdict(name, 4).holds


def test_an_order_that_is_better_is_found_out(monkeypatch):
    right = scatters._brute

    def better(depths, lengths):
        good, bad, least, most = right(depths, lengths)
        return good, bad, least - 1, most

    monkeypatch.setattr(scatters, "_brute", better)
    for name in ("Theorem 1", "Proposition 1", "… multi-port"):
        assert not verdict(name, 4).holds, name


def test_an_order_that_is_worse_is_found_out(monkeypatch):
    right = scatters._brute
    monkeypatch.setattr(scatters, "_brute", lambda *args: (*right(*args)[:3], right(*args)[3] + 1))
    assert not verdict("Proposition 1", 4).holds


def test_a_scatter_above_the_bound_is_found_out(monkeypatch):
    right = cases.WeightedTree.planned
    monkeypatch.setattr(
        cases.WeightedTree,
        "planned",
        lambda case, kind, **options: right(case, kind, **{**options, "first": "nearest"}),
    )
    assert not verdict("… any size", 5).holds


def test_trees_that_share_a_link_or_leave_out_a_node_are_no_cover(monkeypatch):
    right = covers.cover

    def twice(*args):
        found = right(*args)
        return SimpleNamespace(trees=(found.trees[0], *found.trees))

    def first(*args):
        return SimpleNamespace(trees=right(*args).trees[:1])

    assert verdict("Figure 5", 16).holds
    for wrong in (twice, first):
        monkeypatch.setattr(covers, "cover", wrong)
        assert not verdict("Figure 5", 16).holds
        assert not verdict("covers", 9).holds


def test_a_cover_that_is_slower_than_a_tree_is_found_out(monkeypatch):
    monkeypatch.setattr(covers, "_steps", lambda where: [5, 4])
    assert not verdict("covers", 9).holds


def test_what_takes_too_long_is_found_out(monkeypatch):
    right = trees.certificates

    def slow(*args):
        found = right(*args)
        return replace(found, rest=found.rest + 50)

    monkeypatch.setattr(trees, "certificates", slow)
    for name in ("erratum: Theorem 3", "multi-port", "… or Theorem 3", "erratum: C"):
        assert not verdict(name, 4).holds, name


def test_what_takes_no_time_is_found_out(monkeypatch):
    right = trees.certificates

    def fast(*args):
        found = right(*args)
        return SimpleNamespace(tokens=found.tokens, collection=0, done=0, rest=0, steps=1)

    monkeypatch.setattr(trees, "certificates", fast)
    assert not verdict("lower bound", 4).holds
    assert not verdict("… larger trees", 12).holds
    assert not verdict("walk", 12).holds


def test_what_is_wrong_is_found_out(monkeypatch):
    monkeypatch.setattr(trees, "agrees", lambda schedule: False)
    assert not verdict("distributed", 3).holds
    report = SimpleNamespace(violations=[SimpleNamespace(text="no")])
    for where in (trees, scatters):
        monkeypatch.setattr(
            where, "verify", lambda schedule: type("No", (), {"__bool__": lambda s: False, **vars(report)})()
        )
    for name in ("collisions", "time", "Theorem 2", "… with gaps", "… any size", "… multi-port"):
        assert not verdict(name, 3).holds, name


# --- the searches ---


def test_search_of_scatters():
    assert not ends_earlier((-1, 0), (0, 3), 3)
    assert ends_earlier((-1, 0), (0, 3), 4)
    assert not ends_earlier((-1, 0, 1), (0, 2, 1), 3)  # the farther first: 1 + 2, and 1 + 1
    assert ends_earlier((-1, 0, 1), (0, 2, 1), 4)
    assert not ends_earlier((-1, 0), (0, 0), 5)


def test_search_of_gathers():
    assert not begins_earlier((1,), 2)  # told in step 0
    assert begins_earlier((1,), 3)
    assert not begins_earlier((0, 0), 9)
    assert not begins_earlier((5, 0), 7)  # passes the wake-up on first
    assert begins_earlier((5, 0), 7, waiting=True)
    assert not begins_earlier((5, 0), 6, waiting=True)


def test_waiting_is_of_no_use_where_the_end_has_something():
    for lengths in product(range(3), range(3), (1, 2)):
        steps = trees._data_steps(trees._on_path((0, *lengths)))
        assert not begins_earlier(lengths, steps, waiting=True)
        assert begins_earlier(lengths, steps + 1)


def test_search_of_gathers_up_trees():
    assert not gathers_earlier((-1, 0), (0, 1), 2)  # told in step 0, sent in step 1
    assert gathers_earlier((-1, 0), (0, 1), 3)
    assert not gathers_earlier((-1, 0, 0), (0, 0, 0), 2)  # both are told
    assert gathers_earlier((-1, 0, 0), (0, 0, 0), 3)
    assert not gathers_earlier((-1, 0, 1), (0, 0, 1), 4)  # 2 steps out, 2 back
    assert gathers_earlier((-1, 0, 1), (0, 0, 1), 5)


@pytest.mark.parametrize("lengths", list(product(range(3), repeat=3)))
def test_the_two_searches_agree_on_paths_whose_end_has_something(lengths):
    """Where nodes may send first and wake the next later; the search on paths leaves out those behind the last message."""
    lengths = (*lengths, 1)
    for steps in range(4, 14):
        assert gathers_earlier((-1, 0, 1, 2, 3), (0, *lengths), steps) == begins_earlier(lengths, steps, waiting=True)


@pytest.mark.slow
@pytest.mark.parametrize("most", [4, pytest.param(5, marks=pytest.mark.long)])
@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
def test_every_statement_of_the_tree_paper_is_as_it_is_known(statement, most):
    for n in range(statement.least, max(statement.least, min(most, statement.usual)) + 1):
        statements.check_as_known(statement, n)


@pytest.mark.slow
def test_it_is_counted_by_nodes():
    found = check_theorems("trees", up_to=3)
    assert [f.name for f in found] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    checked = {"N = 2 … 3", "N = 3 … 3", "N = 16 … 16", "N = 8 … 8"}
    assert {f.checked for f in found} == checked | {"N = 3"}  # where Theorem 3 is false
    with pytest.raises(PlanError, match="N = 2"):
        check_theorems("trees", up_to=1)


@pytest.mark.slow
def test_how_far_certificates_are_from_the_optimum():
    assert [verdict("lower bound", n).detail.split()[-4] for n in (2, 3, 4, 5)] == ["2.00", "2.50", "2.67", "2.75"]


@pytest.mark.long
@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
def test_as_far_as_each_goes(statement):
    for n in range(statement.usual, statement.most + 1):
        statements.check_as_known(statement, n)
