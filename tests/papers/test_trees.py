from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from tests import statements
from treecast.cli import main
from treecast.errors import PlanError
from treecast.papers import PAPERS, check_theorems
from treecast.papers.trees import statements as trees
from treecast.papers.trees.gatherings import begins_earlier, ends_earlier

NAMES = [statement.name for statement in PAPERS["trees"]]
verdict = partial(statements.verdict, "trees")


@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
def test_every_statement_of_the_tree_paper_holds(statement):
    for n in range(statement.least, min(5, statement.usual) + 1):
        found = statement.check(n)
        assert found.holds, (n, found.detail)


@pytest.mark.parametrize("statement", PAPERS["trees"], ids=NAMES)
@pytest.mark.long
def test_as_far_as_each_goes(statement):
    for n in range(statement.usual, statement.most + 1):
        found = statement.check(n)
        assert found.holds, (n, found.detail)


def test_it_is_counted_by_nodes():
    found = check_theorems("trees", up_to=3)
    assert [f.name for f in found] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    assert {f.checked for f in found} == {"N = 2 … 3", "N = 3 … 3"}
    with pytest.raises(PlanError, match="N = 2"):
        check_theorems("trees", up_to=1)


def test_the_command_line(capsys):
    assert main(["theorems", "trees", "--up-to", "2"]) == 0
    out, _ = capsys.readouterr()
    assert out.count("holds  ") == len(NAMES)
    assert "erratum: C" in out


def test_there_are_as_many_rooted_trees_as_there_are():
    assert [len(trees._rooted_trees(n)) for n in range(1, 8)] == [1, 1, 2, 4, 9, 20, 48]


def test_the_paper_figure_is_too_little():
    assert "a path 5" in verdict("erratum: C", 4).detail  # 2H - 1, where nothing is sorted


# --- a wrong statement is found out ---


@pytest.mark.parametrize(
    ("name", "what"),
    [("… with gaps", "ends_earlier"), ("Theorem 2", "begins_earlier"), ("… worst case", "begins_earlier")],
)
def test_a_better_schedule_is_found_out(monkeypatch, name, what):
    monkeypatch.setattr(trees, what, lambda *args, **options: True)
    assert not verdict(name, 4).holds


def test_an_order_that_is_better_is_found_out(monkeypatch):
    monkeypatch.setattr(trees, "_brute", lambda depths, lengths: (np.zeros(len(lengths)), np.ones(1), np.ones(1)))
    assert not verdict("Theorem 1", 4).holds
    assert not verdict("… multi-port", 4).holds


def test_what_takes_too_long_is_found_out(monkeypatch):
    right = trees.certificates

    def slow(*args):
        found = right(*args)
        return replace(found, rest=found.rest + 50)

    monkeypatch.setattr(trees, "certificates", slow)
    for name in ("Theorem 3", "multi-port", "… or Theorem 3", "erratum: C"):
        assert not verdict(name, 4).holds, name


def test_what_takes_no_time_is_found_out(monkeypatch):
    right = trees.certificates

    def fast(*args):
        found = right(*args)
        return SimpleNamespace(tokens=found.tokens, collection=0, done=0, rest=0, steps=1)

    monkeypatch.setattr(trees, "certificates", fast)
    assert not verdict("lower bound", 12).holds
    assert not verdict("walk", 12).holds


def test_what_is_wrong_is_found_out(monkeypatch):
    monkeypatch.setattr(trees, "agrees", lambda schedule: False)
    assert not verdict("distributed", 3).holds
    report = SimpleNamespace(violations=[SimpleNamespace(text="no")])
    monkeypatch.setattr(
        trees, "verify", lambda schedule: type("No", (), {"__bool__": lambda s: False, **vars(report)})()
    )
    for name in ("collisions", "time", "Theorem 2", "… with gaps", "… multi-port"):
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
