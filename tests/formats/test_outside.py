"""A format of another package is judged by one function that reads it."""

import re

import numpy as np
import pytest

from treecast.cli import main
from treecast.extend import (
    RECEIVE,
    SEND,
    Counts,
    Findings,
    Judged,
    Program,
    Reading,
    Use,
    Uses,
    begins_with,
    find_order,
    find_pairs,
    judge_listed,
    judged,
    rule,
)
from treecast.files.formats import registry
from treecast.verification import file_rules as rules

RING = "mine\n" + "".join(f"{r}: send {(r + 1) % 3}, recv {(r - 1) % 3}\n" for r in range(3))


def keep_registries(monkeypatch):
    registry.importers()
    monkeypatch.setattr(registry, "_IMPORTERS", dict(registry._IMPORTERS))
    monkeypatch.setattr(rules, "_RULES", dict(rules._RULES))
    monkeypatch.setattr(rules, "_LIKE", dict(rules._LIKE))


@pytest.fixture
def mine(monkeypatch, tmp_path):
    """Register a format: each line has what a rank does, one after another."""
    keep_registries(monkeypatch)

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


@pytest.fixture
def flags(monkeypatch, tmp_path):
    """Register a format of ranks that signal and wait, and use places of one buffer, a line for each rank: ``tell a, use 0``."""
    keep_registries(monkeypatch)

    @rule("race", of=("flags",))
    @rule("ends", "every wait ends", of=("flags",))
    def judge_ends(found, order):
        found.these("ends", np.flatnonzero(order.ends < 0), lambda _: "it waits for ever", order.program.where)

    @judged("flags", recognises=begins_with(b"flags\n"))
    def judge(data, told):
        file = Judged(Findings("flags", allowed=told.allow), "this file", ("rank", "lane", "word", "message"))
        words = [re.findall(r"(\w+) (\w+)", line) for line in data.decode().splitlines()[1:]]
        flat = [(r, word, on) for r, line in enumerate(words) for word, on in line]
        known, none = sorted({on for _, _, on in flat}), np.zeros(len(flat), np.int64)
        rank = np.array([r for r, _, _ in flat])
        sides = [
            np.array([known.index(on) if word == side else -1 for _, word, on in flat]) for side in ("tell", "await")
        ]
        program = Program(
            ranks=len(words),
            **dict.fromkeys(("rank", "lane"), rank),
            counts=Counts(*sides, none > 0, np.zeros(len(known), np.int64)),
            where=lambda one: (f"line {flat[one][0] + 2}, {' '.join(flat[one][1:])}", (one,)),
        )
        order = find_order(program, find_pairs(program))
        judge_ends(file.found, order)
        if not file.found.stop("ends"):
            of = {}
            for one, (_, word, on) in enumerate(flat):
                if word in ("read", "write"):
                    of.setdefault(0, []).append(Use(one, (one, 0), word == "write", int(on), int(on) + 1))
            spell = lambda _, place: f"place {place}"  # noqa: E731
            Uses(found=file.found, order=order, of=of, launches={}, name=lambda one: flat[one][1], spell=spell).judge()
        return file.verdict(), file.schedule

    def ask(text):
        (tmp_path / "file").write_text(text)
        return main(["verify", str(tmp_path / "file")])

    return ask


def test_signals_order_uses(flags, capsys):
    assert flags("flags\nwrite 0, tell a\nawait a, read 0\n") == 3
    assert "holds, contents unknown (race" in capsys.readouterr().out
    assert flags("flags\nwrite 0, tell a\nread 0, await a\n") == 1
    assert "race: line 3, read 0: read uses place 0 as line 2, write 0 does, and nothing" in capsys.readouterr().out


def test_a_deadlock_of_signals_breaks_a_rule_of_ones_own(flags, capsys):
    assert flags("flags\nawait b, tell a\nawait a, tell b\n") == 1
    assert "ends: line 2, await b: it waits for ever" in capsys.readouterr().out
    assert [each.name for each in rules.rules_of("flags")] == ["race", "ends"]
