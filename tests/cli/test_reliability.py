"""``treecast reliability``: what it prints, its picture, and nodes that differ."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from treecast.cli import main
from treecast.files import formats
from treecast.plans import plan


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with plans of one and two copies on star:4; return its status and what it prints."""
    monkeypatch.chdir(tmp_path)
    for copies in (1, 2):
        schedule = plan("broadcast", "star:4", copies=copies, builder="disjoint-trees", trees="paper")
        formats.save(schedule, f"x{copies}.tc")
    (tmp_path / "nodes.csv").write_text("\ufeffnode,probability\n2134,0.5\n\n3214, 0.25\n1234,1\n", encoding="utf-8")

    def run(*words):
        capsys.readouterr()
        return main([*words]), capsys.readouterr().out

    return run


def test_one_plan(ask):
    status, out = ask("reliability", "x2.tc", "--node-failure", "0.01")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["reliability", "0.994017:"] in [line[:2] for line in lines]
    assert ["loss", "0.00598346"] in [line[:2] for line in lines]
    for row in ("2 0.0205 253 all 64 0.253", "4 7.32e-05 8,855 all 6,297 0.7111"):
        assert row.split() in lines
    assert "the root 1234 does not fail" in out


def test_json_has_all_figures(ask):
    status, out = ask("reliability", "x2.tc", "--node-failure", "0.05", "--sets", "2560", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["loss"]["low"] < found["loss"]["estimate"] < found["loss"]["high"]
    assert found["reliability"] == 1 - found["loss"]["estimate"]
    assert (found["exact"], found["confidence"]) == (False, 0.95)
    assert {stratum["how"] for stratum in found["strata"]} == {"all", "drawn", "proven"}
    assert found["together"]["tried"] == sum(s["tried"] for s in found["strata"] if s["how"] == "drawn")
    assert found["strata"][0]["faults"] == {"nodes": 0}


def test_several_plans_and_their_picture(ask, tmp_path):
    words = ("reliability", "x1.tc", "x2.tc", "--node-failure", "0.01", "--sets", "20000", "-o", "curves.svg")
    status, out = ask(*words)
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines() if ".tc" in line] == [["x1.tc", "1"], ["x2.tc", "2"]]
    picture = (tmp_path / "curves.svg").read_bytes()
    assert ask(*words)[0] == 0
    assert (tmp_path / "curves.svg").read_bytes() == picture
    assert b'id="loss-1"' in picture


def test_nodes_that_differ(ask):
    """Two nodes can fail; the root, named or not, cannot."""
    status, out = ask("reliability", "x2.tc", "--node-failure", "nodes.csv", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["can_fail"] == [{"kind": "nodes", "elements": 2, "probability": [0.25, 0.5]}]
    assert [s["probability"] for s in found["strata"]] == pytest.approx([0.375, 0.5, 0.125])
    assert ask("reliability", "x2.tc", "--node-failure", "nodes.csv", "-o", "p.svg")[0] == 2


def test_workers_find_the_same(ask):
    words = ("reliability", "x2.tc", "--node-failure", "0.05", "--sets", "2560")
    assert ask(*words, "--workers", "2") == ask(*words)


@pytest.mark.slow
def test_the_page_shows_what_is_printed(ask):
    """Every line of its two listings; and the losses are as far apart as it says."""
    page = (Path(__file__).parents[2] / "docs/explanation/reliability.md").read_text()
    one, several = (
        re.search(rf"^```\n({word}.*?)^```", page, re.MULTILINE | re.DOTALL)[1] for word in ("reliab", "plan ")
    )
    for x in "123":
        assert ask("plan", "broadcast", "star:4", "--copies", x, "-o", f"x{x}.tc")[0] == 0
    alone = ask("reliability", "x2.tc", "--node-failure", "0.01")[1]
    assert len(one.splitlines()) == 14
    assert set(one.splitlines()) <= set(alone.splitlines())
    together = ask("reliability", "x1.tc", "x2.tc", "x3.tc", "--node-failure", "0.01")[1]
    assert set(several.splitlines()) <= set(together.splitlines())
    losses = [float(line.split()[3]) for line in several.splitlines()[1:]]
    assert [round(a / b) for a, b in pairwise(losses)] == [21, 47]
