"""Files of other tools in every verb: what can be carried is carried, what cannot says why in one line."""

import pytest

import treecast
from tests.cli.test_others import PLAN
from tests.formats.test_operations import binomial_broadcast
from treecast.cli import main

FILES = {
    "ours.xml": lambda path: treecast.export(PLAN, path),
    "ours.mscclpp.json": lambda path: treecast.export(PLAN, path),
    "ours.simgrid": lambda path: treecast.export(PLAN, path),
    "theirs.goal": lambda path: path.write_bytes(binomial_broadcast()),
}


@pytest.mark.parametrize("name", FILES)
def test_each_verb_takes_files_of_others(name, tmp_path, capsys):
    path, data = tmp_path / name, tmp_path / "data"
    FILES[name](path)
    data.write_bytes(bytes(range(256)))
    told = ["--collective", "broadcast"] if name == "theirs.goal" else []
    told += ["--network", "complete:4"] if name.endswith((".xml", ".goal", ".json")) else []
    for words in (
        ["verify", path],
        ["show", path],
        ["draw", path, "-o", tmp_path / "page.html"],
        ["simulate", path, "--dead-nodes", "2" if name == "theirs.goal" else "3"],
        ["run", path, "--input", data],
        ["repair", path, "--dead-nodes", "3", "-o", tmp_path / "new.tc"],
        ["export", path, "-o", tmp_path / "again.csv"],
    ):
        assert main([*map(str, words), *told]) == (words[0] == "simulate"), (words, capsys.readouterr().err)
    assert "<html" in (tmp_path / "page.html").read_text()
    assert treecast.load(tmp_path / "new.tc").network.rank_count == 3
    assert treecast.load(tmp_path / "again.csv").collective.kind == "broadcast"
