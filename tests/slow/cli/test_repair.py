"""``treecast repair``, beside ``treecast diff``."""

import json

import pytest

import treecast
from treecast import verify
from treecast.cli import main
from treecast.files import formats


@pytest.mark.parametrize(
    ("kind", "spec", "asked", "faults"),
    [
        ("broadcast", "torus:4x4x4", {"messages": 600}, {"cut_links": ["0,0,0-0,0,1"]}),
        ("broadcast", "star:4", {"survive": 1, "messages": 9}, {"dead_nodes": ["2134"]}),
        ("broadcast", "petersen", {"survive": 1}, {"cut_links": ["0-1"]}),
        ("allgather", "star:4", {}, {"cut_links": ["1234-2134"]}),
        ("reduce", "torus:4x4", {"messages": 4}, {"dead_nodes": ["1,1"]}),
    ],
)
def test_a_repair_counts_rows_as_diff_does(kind, spec, asked, faults, tmp_path, capsys) -> None:
    before = treecast.plan(kind, spec, **asked)
    treecast.save(before, tmp_path / "old.tc")
    words = [word for name, values in faults.items() for word in (f"--{name.replace('_', '-')}", *values)]
    old, new = str(tmp_path / "old.tc"), str(tmp_path / "new.tc")
    names = ("kept", "moved", "new", "gone", "must_be_told")
    assert main(["repair", old, *words, "-o", new, "--json"]) == 0
    mine = json.loads(capsys.readouterr().out)
    assert main(["diff", old, new, "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)
    assert [mine[name] for name in names] == [theirs[name] for name in names]
    assert main(["repair", old, *words]) == main(["diff", old, new]) == 0
    said = capsys.readouterr().out.splitlines()
    lines = [" ".join(line.split()) for line in said if line.startswith(("kept ", "moved ", "to notify "))]
    assert lines[:3] == lines[3:]


def test_repair_keeps_what_still_carries(tmp_path, capsys):
    file = str(tmp_path / "plan.tc")
    assert main(["plan", "allgatherv", "mesh:3x3", "--lengths", "random:9", "-o", file]) == 0
    for faults in (["--cut-links", "0,0-0,1"], ["--dead-nodes", "1,1"]):
        assert main(["repair", file, *faults, "-o", str(tmp_path / "new.tc")]) == 0
        assert verify(formats.read(tmp_path / "new.tc")).holds
    assert main(["diff", file, str(tmp_path / "new.tc")]) == 0
    assert "kept" in capsys.readouterr().out
