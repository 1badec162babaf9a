"""A format of another package is judged by one function that reads it."""

import re

import pytest

from treecast.cli import main
from treecast.extend import RECEIVE, SEND, Reading, begins_with, judge_listed, judged
from treecast.formats import registry
from treecast.programs import rules

RING = "mine\n" + "".join(f"{r}: send {(r + 1) % 3}, recv {(r - 1) % 3}\n" for r in range(3))


@pytest.fixture
def mine(monkeypatch, tmp_path):
    """Register a format: each line has what a rank does, one after another."""
    registry.importers()
    monkeypatch.setattr(registry, "_IMPORTERS", dict(registry._IMPORTERS))
    monkeypatch.setattr(rules, "RULES", list(rules.RULES))

    @judged("mine", like="goal", recognises=begins_with(b"mine\n"))
    def judge(data, told):
        reading = Reading("mine")
        for line, text in enumerate(data.decode().splitlines()[1:], 2):
            before, reading.ranks = None, reading.ranks + 1
            for word, peer in re.findall(r"(send|recv) (\d+)", text):
                kind = SEND if word == "send" else RECEIVE
                one = reading.add((reading.ranks - 1, kind, int(peer), 0, 8), line)
                if before is not None:
                    reading.wait(one, before)
                before = one
        return judge_listed(reading.listed(eager=True), told)

    def ask(text, *words):
        (tmp_path / "file").write_text(text)
        return main(["verify", str(tmp_path / "file"), *words])

    return ask


def test_what_holds_and_what_can_be_delivered(mine, capsys):
    assert mine(RING) == 3
    assert "holds, contents unknown (pairs, order, adjacent)" in capsys.readouterr().out
    assert mine(RING, "--network", "path:3") == 1
    assert mine(RING, "--network", "path:3", "--allow", "adjacent") == 3
    assert mine(RING, "--collective", "allgather") == 1
    assert "delivered" in capsys.readouterr().out
    assert "mine" in str(rules.rules_of("mine")[0].of)


def test_a_deadlock_is_named_by_its_lines(mine, capsys):
    text = "mine\n" + "".join(f"{r}: recv {(r - 1) % 3}, send {(r + 1) % 3}\n" for r in range(3))
    assert mine(text) == 1
    out = capsys.readouterr().out
    assert "order: rank 0, line 2 (receive from 2, tag 0)" in out
    assert "in a circle" in out


def test_a_send_that_meets_nothing_is_named(mine, capsys):
    assert mine("mine\n0: send 1\n1: send 0, recv 0\n") == 1
    assert "pairs: rank 1, line 3 (send to 0, tag 0)" in capsys.readouterr().out
