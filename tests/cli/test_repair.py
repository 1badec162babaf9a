"""``treecast repair``: the plan that it writes, and faults that it cannot read. slow ones go through collectives."""

import json

import pytest

import treecast
from treecast import verify
from treecast.cli import main
from treecast.files import formats


def test_the_new_plan_leaves_the_dead_and_the_cut_alone(files, ask, answer):
    status, out, err = ask("repair", "single.tc", "--dead-nodes", "2134", "--cut-links", "1234-3214", "-o", "new.tc")
    assert (status, err) == (0, "")
    lines = {line[:15].strip(): line[15:] for line in out.splitlines()}
    assert lines["verified"].startswith("yes")
    assert "kept" in lines
    new = treecast.load("new.tc")
    assert treecast.verify(new).holds
    where = treecast.network("star:4")
    ends = [(new.network.label(send.src), new.network.label(send.dst)) for send in new]
    assert {label for pair in ends for label in pair} == set(where.labels()) - {"2134"}
    assert not {("1234", "3214"), ("3214", "1234")} & set(ends)
    found = answer("repair", "single.tc", "--dead-nodes", "2134", "--cut-links", "1234-3214")
    assert (found["holds"], found["steps"]) == (True, new.steps)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "FILE is missing: 'treecast repair --help' shows the usage"),
        ("none.tc --dead-nodes 2134", "'none.tc' cannot be read: No such file or directory"),
        ("folder --dead-nodes 2134", "'folder' cannot be read: Is a directory"),
        ("nothing --dead-nodes 2134", "'nothing' is no treecast file: it does not begin like one"),
        ("plan.tc --dead-nodes 9999", "9999 is no node of star:4: a label has each of the symbols 1 to 4 once"),
        ("plan.tc --cut-links 1234", "'1234' names no link: write A-B (both ways)"),
        ("plan.tc --cut-links 1234-4321", "'1234-4321' is no link of star:4: 1234 is joined to 2134, 3214, 4231"),
        ("plan.tc --dead-nodes", "--dead-nodes has no value: write one or more behind it"),
        ("plan.tc --dead-nodes 1234", "the root 1234"),
        ("plan.tc --dead-nodes 2134 --within -1", "--within -1.0 will not do: write a number from 0"),
        ("plan.tc --dead-nodes 2134 --within soon", "--within soon will not do: write a number"),
        ("plan.tc --dead-nodes 2134 -o new.png", "'treecast draw' makes pictures"),
    ],
)
def test_what_cannot_be_repaired_is_one_line(files, ask, words, says):
    before = sorted(files.iterdir())
    status, out, err = ask("repair", *words.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert err.count("\n") == 1
    assert sorted(files.iterdir()) == before


# ``treecast repair``, beside ``treecast diff``.


@pytest.mark.slow
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


@pytest.mark.slow
def test_repair_keeps_what_still_carries(tmp_path, capsys):
    file = str(tmp_path / "plan.tc")
    assert main(["plan", "allgatherv", "mesh:3x3", "--lengths", "random:9", "-o", file]) == 0
    for faults in (["--cut-links", "0,0-0,1"], ["--dead-nodes", "1,1"]):
        assert main(["repair", file, *faults, "-o", str(tmp_path / "new.tc")]) == 0
        assert verify(formats.read(tmp_path / "new.tc")).holds
    assert main(["diff", file, str(tmp_path / "new.tc")]) == 0
    assert "kept" in capsys.readouterr().out
