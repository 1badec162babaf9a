"""``treecast help``: each page is made from what it is about, and names all of it."""

import re

import pytest
from rich.console import Console

import treecast
from tests.cli.test_help import shown
from treecast.cli import main
from treecast.cli.app import app


@pytest.mark.parametrize(
    ("collective", "network", "options"),
    [
        ("broadcast", "star:4", {"survive": 2}),
        ("broadcast", "mesh:4x4", {"model": "wormhole"}),
        ("scatterv", "tree:2,2", {"lengths": 3}),
        ("gatherv", "tree:2,2", {"lengths": 3}),
        ("allreduce", "ring:5", {}),
        ("allgather", "hypercube:3", {"model": "whispering", "survive": 1}),
        ("alltoall", "hypercube:3", {"survive": 1}),
        ("allgather", "ring:4", {}),
    ],
)
def test_every_rule_that_a_report_names_is_explained(
    collective: str, network: str, options: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    explained = {line.split()[0] for line in shown(capsys, "rules").splitlines() if line}
    report = treecast.verify(treecast.plan(collective, network, **options))  # type: ignore[arg-type]
    assert set(report.counts) <= explained


@pytest.mark.parametrize(("verb", "width"), [("run", 400), ("lab run", 400), ("theorems", 60), ("times", 400)])
def test_help_is_broken_where_the_terminal_is_full(
    verb: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At any width, and with the lines of no source file showing through."""
    monkeypatch.setattr(app, "_console", Console(width=width))  # app keeps the first that it makes
    assert main([*verb.split(), "--help"]) == 0
    page = capsys.readouterr().out
    entries = [line for line in page.splitlines() if line.startswith("│")]
    assert page.startswith(f"Usage: treecast {verb} ")
    assert ("Example: treecast" in page, "default: ()" in page) == (True, False)
    if width == 400:
        assert all(re.match(r"│ +(\* +)?(-|[A-Z])", line) for line in entries), page
    assert ("The hypercube, as in hypercube:6." in page) == (verb == "times")
