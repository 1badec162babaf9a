"""``treecast theorems``: a row is there as soon as it is checked, and Ctrl-C ends it as promised."""

import json
import os
import subprocess
import sys

import pytest

import treecast
from treecast.cli import main
from treecast.papers.statement import LONGEST
from treecast.papers.theorems import PAPERS

TREECAST = [sys.executable, "-m", "treecast"]


def test_each_row_comes_through_a_pipe_when_it_is_checked(monkeypatch):
    """The second statement waits until the first has been read."""
    reading, writing = os.pipe()
    first, second, *_ = PAPERS["star"]
    seen = []

    def read_first(n):
        seen.extend([] if seen else [os.read(reading, 1 << 16).decode()])
        return first.claims(n)

    monkeypatch.setitem(PAPERS, "star", (first, second._replace(claims=read_first)))
    with os.fdopen(writing, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        main(["theorems", "star", "--up-to", "3"])
    assert first.name in seen[0]
    os.close(reading)


def test_ctrl_c_within_code_that_is_made_from_text_ends_with_130(tmp_path):
    """As it did now and then: dataclasses and numba run such code while they are imported."""
    (tmp_path / "numpy.py").write_text('exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")\n')
    done = subprocess.run(
        [*TREECAST, "theorems", "star"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True, text=True, check=False,
        timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("theorems", "hypercube", "--up-to", "0"), "up to d = 1"),
        (("theorems", "hypercube", "--up-to", "99"), "99"),
    ],
)  # fmt: skip
def test_sizes_that_are_none(ask, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    status, out, err = ask(*arguments)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_the_walk_that_stops_can_be_watched(ask, tmp_path):
    """1243 is dead: five living nodes are in none of the trees as far as the walks come, and 1342 is one of them."""
    for name in ("walk.svg", "walk.html"):
        status, out, _ = ask("theorems", "star", "--only", "… tolerance", "--draw", str(tmp_path / name))
        assert status == 0
        assert "FALSE" in out
    said = (tmp_path / "walk.svg").read_text()
    assert "5 nodes (1342, 2341, 3142, 3412, 4312)" in said
    assert "faults: 1243" in said
    status, _, err = ask("theorems", "star", "--only", "Lemma 7", "--draw", str(tmp_path / "lemma.svg"))
    assert status == 2
    assert "there is of: section 4.4, … tolerance" in err
    status, _, err = ask("theorems", "--draw", "walk.svg")
    assert (status, "name the paper" in err) == (2, True)


def test_a_last_line_counts_and_says_whether_what_is_false_is_known(ask, monkeypatch):
    status, out, _ = ask("theorems", "trees", "--up-to", "4", "--only", "Theorem 3", "… if it waits")
    *rows, last = out.splitlines()
    assert (status, last) == (
        0, "4 statements: 3 hold; 1 in the paper's words is FALSE, as is known, by the size beside it",
    )  # fmt: skip
    assert len({row.index("N = ") for row in rows[::2]}) == 1
    longest = max(len(statement.name) for statements in PAPERS.values() for statement in statements)
    assert longest == LONGEST
    some = [each for each in PAPERS["trees"] if each.name == "Theorem 3"]
    other = some[0]._replace(name="Theorem 9", false_from=None)
    monkeypatch.setitem(PAPERS, "trees", (*some, other, other._replace(name="Lemma", least=2, usual=2, false_from=2)))
    status, out, _ = ask("theorems", "trees", "--up-to", "4")
    last = out.splitlines()[-1]
    assert (status, "; 1 in the paper's words is FALSE, as is known" in last) == (1, True)
    assert last.endswith("; NOT as is known, exit status 1: Theorem 9, Lemma")


@pytest.mark.slow
def test_those_of_the_hypercube_paper(answer, ask):
    found = answer("theorems", "hypercube", "--up-to", "2")
    assert all(finding["as_known"] for finding in found)
    assert {"Theorem 1", "erratum", "tight, links", "Fraigniaud"} <= {finding["name"] for finding in found}
    assert found[0]["checked"] == "d = 1 … 2"
    status, out, _ = ask("theorems", "hypercube", "--up-to", "1")
    assert status == 0
    assert [line.startswith("FALSE ") for line in out.splitlines()].count(True) == 3  # what the paper says of costs


@pytest.mark.slow
def test_json_is_what_python_returns(capsys):
    assert main(["theorems", "hypercube", "--up-to", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == [each.name for each in treecast.check_theorems("hypercube", 1)]
