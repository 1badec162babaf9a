"""``treecast help``: each page is made from what it is about, and names all of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import treecast
from treecast.cli import main
from treecast.cli.app import app, find_verbs
from treecast.cli.topics import topics
from treecast.models import MODELS
from treecast.networks import families


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["help", *arguments]) == 0
    return capsys.readouterr().out


def test_help_lists_all_topics_and_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"rules", "models", "builders", "files", "faults", "labels", "exit"} <= set(topics())
    page = shown(capsys)
    for topic in topics():
        assert f"{topics()[topic].__doc__}" in page
    assert all(verb in page for verb in find_verbs())


def test_each_page_names_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(f"\n{name} " in shown(capsys, "models") for name in MODELS)
    assert all(
        f"\n{family.spelling} " in shown(capsys, "labels")
        for family in families().values()
        if family.arguments != "PATH"
    )
    assert [row["status"] for row in json.loads(shown(capsys, "exit", "--json"))] == [0, 1, 2, 3, 124, 130]
    assert "--dead-nodes" in shown(capsys, "faults")
    named = {row["builder"] for row in json.loads(shown(capsys, "builders", "--json"))}
    assert {"disjoint-trees", "packed-trees", "cover"} <= named
    assert json.loads(shown(capsys, "machines", "--json"))["machines"]["machine:dgx-h100"].startswith("DGX H100")
    assert re.search(r"^text +\.tc +yes +yes", shown(capsys, "files"), re.MULTILINE)


def test_help_of_a_verb_is_that_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    page = shown(capsys, "verify")
    assert "Example" in page
    assert main(["verify", "--help"]) == 0
    assert capsys.readouterr().out == page


def test_help_needs_no_docstrings() -> None:
    words = [sys.executable, "-OO", "-m", "treecast", "--help"]
    page = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100).stdout
    assert all(re.search(rf"│ {verb} +[A-Z]", page) for verb in find_verbs() if verb != "lab")


def test_an_unknown_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "rule"]) == 2
    assert "did you mean 'rules'?" in capsys.readouterr().err


def test_every_variable_that_the_sources_name_is_explained() -> None:
    from treecast.cli.topics import VARIABLES

    name = r"(?:TREECAST|NUMBA|XDG|OMPI|OMP|PMIX|PMI)_\w*[A-Za-z]"
    package = Path(treecast.__file__).parent
    texts = [path.read_text() for path in package.rglob("*.py") if path != package / "cli/topics.py"]
    named = {found for text in texts for found in re.findall(rf"""["'$]({name})\b""", text)} - {"OMPI_COMM_WORLD"}
    assert named == {found for row in VARIABLES for cell in row for found in re.findall(rf"\b{name}", cell)}


def test_each_verb_has_a_file_of_tests() -> None:
    missing = [
        verb for verb in find_verbs() if not Path(__file__).with_name(f"test_{verb.replace('-', '_')}.py").exists()
    ]
    assert missing == []


def test_words_are_those_of_the_page_on_names(capsys):
    assert main(["help", "words"]) == 0
    shown = capsys.readouterr().out
    for word in ("copies x", "chunk", "step", "tree", "depth", "eccentricity", "cable", "survives f", "orbit"):
        assert f"\n{word} " in shown
    assert "`" not in shown
    assert "**" not in shown


@pytest.mark.slow
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


@pytest.mark.slow
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
