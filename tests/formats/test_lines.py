"""Findings on files that people write name the lines of these, in whatever order rows stand there."""

import random

import pytest

import treecast
from treecast.errors import FormatError
from treecast.files import formats
from treecast.plans import plan
from treecast.verification.verifier import verify


def shuffled(schedule, form, seed, step):
    """Return a file with its rows in another order, comments and blank lines among them, and the line of a row that goes too
    early: it sends what its source gets in some later step.
    """
    rng = random.Random(seed)
    lines = formats.encode(schedule, form).decode().splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith(("rows ", "step,"))) + 1
    first, rows = [line for line in lines[:head] if not line.startswith("digest")], lines[head:]
    rng.shuffle(rows)
    late = rng.choice([place for place, row in enumerate(rows) if step(row) > 0])
    changed = f"0{rows[late][len(str(step(rows[late]))) :]}"
    rows[late] = changed
    if form == "text":
        for _ in range(3):
            rows.insert(rng.randrange(len(rows)), "# by hand")
    text = "\n".join([*first, *rows, ""]).encode()
    return text, len(first) + rows.index(changed) + 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", ["fast", "expanded"])
@pytest.mark.parametrize(
    ("form", "step"), [("text", lambda row: int(row.split("+")[0])), ("csv", lambda row: int(row.split(",")[0]))]
)
def test_a_finding_names_the_line_of_the_file(form, step, method, seed):
    data, line = shuffled(plan("broadcast", "path:9"), form, seed, step)
    report = verify(formats.decode(data), method=method)
    found = [violation.text for violation in report.violations if violation.rule == "holds"]
    assert report.counts["holds"] == 1
    assert found[0].startswith(f"line {line}")


def test_rows_of_plans_have_numbers():
    schedule = plan("broadcast", "path:4")
    report = verify(schedule.select(schedule.rows.step != 1))
    assert report.violations[0].text.startswith("row 1: ")


def test_once_names_its_rows_and_who_owns_the_sum():
    head = "treecast 2\nnetwork path:3\ncollective reduce\nroot 1\nrows {}\n"
    twice = head.format(3) + "0+1 0>1 0\n2+1 2>1 0\n1+1 2>1 0\n"
    report = verify(formats.decode(twice.encode()))
    assert [violation.text for violation in report.violations if violation.rule == "once"] == [
        "2 sends sum 0 on more than once: line 8, line 7"
    ]
    owner = head.format(3) + "0+1 0>1 0\n0+1 2>1 0\n1+1 1>0 0\n"
    report = verify(formats.decode(owner.encode()))
    assert [violation.text for violation in report.violations if violation.rule == "once"] == [
        "1 owns sum 0, and sends it on: line 8"
    ]


def test_a_word_that_is_nearly_right_is_told_which():
    with pytest.raises(FormatError, match="line 3: 'rooot 1' is none of the lines of a header; did you mean 'root'"):
        formats.decode(b"treecast 2\nnetwork path:3\nrooot 1\nrows 0\n")


def test_a_result_of_tacos_is_named_by_its_lines(tmp_path):
    """Link 1 > 2 carries chunk 0 from 50 on, before it has come at 100, and while chunk 1 is under way."""
    path = tmp_path / "early.csv"
    links = "0,1,500,50,0:100:0\n1,2,500,50,1:100:0,0:90:50\n2,0,500,50,2:100:0,1:200:100\n0,2,500,50,2:9:5\n1,0,500,50,None\n"
    path.write_text(
        "NPUs Count,3\nLinks Count,5\nChunks Count,3\nChunk Size,1048576\n"
        "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n" + links
    )
    said = [str(finding) for finding in treecast.judge(path).findings]
    for begin in (
        "waits: rank 1, line 7 ",
        "link-once: line 7: 1 > 2 at step 0 ",
        "holds: line 7: ",
        "holds: line 9: ",
    ):
        assert any(text.startswith(begin) for text in said), begin


def test_a_message_without_an_arc_has_no_port_of_minus_one(tmp_path):
    file = tmp_path / "far.csv"
    file.write_text("# network ring:4\n# collective broadcast\nstep,src,dst,chunks\n0,0,1,0\n1,1,3,0\n2,3,2,0\n")
    for method, says in (
        ("fast", "1 > 3 at step 1 has no arc to go over; arcs lead to 2, 0"),
        ("expanded", "no arc leads there"),
    ):
        (found,) = [
            each for each in treecast.verify(formats.read(file), method=method).violations if each.rule == "adjacent"
        ]
        assert says in found.text
        assert "-1" not in found.text
