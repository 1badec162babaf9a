"""``treecast repair``: the plan that it writes, and faults that it cannot read. tests/slow goes through collectives."""

import pytest

import treecast


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
