"""The page on the formats says what is so: its example is right, and its reader reads."""

import re
from pathlib import Path

from treecast.files import formats
from treecast.networks import network
from treecast.plans import plan

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/formats/text.md").read_text()
EXAMPLE = ROOT / "examples/hand-written.tc"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def reader():
    names = {}
    exec(blocks("python")[0], names)
    return names["read"]


def rows_of(schedule):
    """The rows of a schedule as the reader on the page returns them, ports as numbers."""
    rows, label = schedule.rows, schedule.network.label
    columns = zip(*(column.tolist() for column in rows.columns().values()), strict=True)
    return [
        (str(step), str(steps), label(src), label(dst), str(port), None if tree < 0 else str(tree),
         [chunk for a, b in rows.payloads.ranges(number) for chunk in range(a, b)])
        for step, steps, src, dst, port, tree, number in columns
    ]  # fmt: skip


def test_the_example_on_the_page_is_the_one_in_the_folder():
    assert [block for block in blocks("") if block.startswith("treecast 1\n")] == [EXAMPLE.read_text()]


def test_the_example_is_right():
    schedule, report = formats.load_verified(EXAMPLE)
    assert report.holds
    assert (len(schedule), schedule.steps, schedule.trees) == (10, 6, 2)
    assert formats.decode(formats.encode(schedule)) == schedule


def test_the_reader_reads_the_example():
    header, rows = reader()(EXAMPLE)
    assert header == {
        "treecast": "1", "network": "star:3", "collective": "broadcast", "root": "123", "messages": "4", "model": "shouting",
        "rows": "10",
    }  # fmt: skip
    assert rows[0] == ("0", "2", "123", "213", "0", "0", [0, 1])
    found = [(*row[:4], row[4] or port_of(row), *row[5:]) for row in rows]
    assert sorted(found) == sorted(rows_of(formats.load(EXAMPLE)))


def port_of(row):
    star = network("star:3")
    return str(int(star.port_between(star.node(row[2]), star.node(row[3]))))


def test_the_reader_reads_what_is_written(tmp_path):
    for spec, copies in (("star:4", 2), ("mesh:3x4", 1), ("hypercube:3", 1), ("tree:3,2", 1)):
        schedule = plan("broadcast", spec, messages=7, copies=copies)
        formats.save(schedule, tmp_path / "plan.tc")
        header, rows = reader()(tmp_path / "plan.tc")
        assert rows == rows_of(schedule)
        assert (header["network"], header["messages"], header["rows"]) == (spec, "7", str(len(schedule)))


def test_ports_are_what_the_page_says():
    star, cube, mesh, tree = map(network, ("star:5", "hypercube:4", "mesh:3x4", "tree:3,2"))
    assert star.label(star.neighbor(star.node("12345"), 2)) == "42315"
    assert star.port_name(2) == "4"
    assert cube.label(cube.neighbor(0, 2)) == "0b0100"
    assert [mesh.label(mesh.neighbor(mesh.node("1,1"), p)) for p in range(4)] == ["2,1", "0,1", "1,2", "1,0"]
    assert [int(tree.neighbor(1, p)) for p in range(4)] == [4, 5, 6, 0]
