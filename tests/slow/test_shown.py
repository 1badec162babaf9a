"""The README, the pages on papers, and that on new results, show under each command lines of what it prints."""

import shutil

import pytest

from tests.test_shown import ROOT, differences, shown
from treecast.cli import main

PAGES = [ROOT / "README.md", ROOT / "docs/explanation/new.md", *sorted((ROOT / "docs/papers").glob("*.md"))]


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
