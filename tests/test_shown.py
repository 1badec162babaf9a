"""The README, the pages on papers, and that on new results, show under each command lines of what it prints."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from treecast.cli import main

ROOT = Path(__file__).parent.parent
SECONDS = re.compile(r"\b\d+\.\d\d s\b")


def spaced(text):
    """Return a text whose blanks are one each, and whose measured times are alike."""
    return SECONDS.sub("0.00 s", " ".join(text.split()))


def shown(page):
    """Return each command of the console blocks of a page, with the lines below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            else:
                found[-1][1].append(line)
    return found


def differences(page, run):
    """Return the lines of a page that the commands above them do not print; ``run`` tells what a command prints."""
    wrong = []
    for (program, *arguments), lines in shown(page):
        assert program == "treecast"
        printed = spaced(run(arguments))
        wrong += [line for line in lines if spaced(line) not in printed]
    return wrong


def test_a_degraded_fabric_takes_as_many_steps_as_the_page_says(tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "examples/fabric.ibnetdiscover", tmp_path)
    monkeypatch.chdir(tmp_path)
    ((_, *arguments),) = [words for words, _ in shown(ROOT / "docs/howto/cluster.md") if "whole" in words]
    assert main(arguments) == 0
    assert "67 steps instead of 34" in spaced(capsys.readouterr().out)


def test_every_new_result_has_a_number_and_a_command():
    """So that it can be cited, and shown."""
    parts = re.split(r"^### ", (ROOT / "docs/explanation/new.md").read_text(), flags=re.MULTILINE)[1:]
    assert [part.split(".")[0] for part in parts] == [str(number) for number in range(1, len(parts) + 1)]
    for part in parts:
        assert re.search(r"^```console\n\$ treecast .*\n[^$`]", part, re.MULTILINE), part.splitlines()[0]
        assert re.search(r"\*\*(?:Theorem|Checked|Bound|Counter-example)", part), part.splitlines()[0]


def test_a_line_that_is_not_printed_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ treecast plan\nsteps   7\n$ treecast verify\ntook 2.50 s\nsteps 8\n```\n")
    printed = {"plan": "steps 7, the lower bound", "verify": "took  1.04 s\nsteps 7"}
    assert differences(page, lambda arguments: printed[arguments[0]]) == ["steps 8"]


PAGES = [ROOT / "README.md", ROOT / "docs/explanation/new.md", *sorted((ROOT / "docs/papers").glob("*.md"))]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_print_what_is_shown_below_them(page, tmp_path, monkeypatch, capsys):
    def run(arguments):
        assert main(arguments) == 0, arguments
        return capsys.readouterr().out

    for file in ("README.md", "examples/cluster.graphml", "examples/fabric.ibnetdiscover", "examples/allreduce.log"):
        shutil.copy(ROOT / file, tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # the README's commands run where it lies
    monkeypatch.chdir(tmp_path)
    assert len(shown(page)) >= 5
    assert differences(page, run) == []
