"""The tables of docs/explanation/one-port.md say what plans take."""

import re
from pathlib import Path

import pytest

from treecast.lower_bounds import best, schedule_bounds
from treecast.plans import plan
from treecast.plans.whole.one_port.shape import shape

PAGE = Path(__file__).parents[4] / "docs/explanation/one-port.md"


def test_the_table_of_shapes():
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 5
    for nodes, cells in rows:
        for copies, cell in enumerate(cells.split("|"), 2):
            length, bound = map(int, re.findall(r"\d+", cell))
            assert shape(int(nodes) - 1, copies).length == length
            assert copies - 1 + (int(nodes) - 1).bit_length() == bound


@pytest.mark.parametrize("copies", [2, 3, 4, 5])
def test_shapes_are_a_few_steps_above_the_bound(copies):
    above = [
        shape(nodes - 1, copies).length - (copies - 1 + (nodes - 1).bit_length()) for nodes in range(copies + 1, 129)
    ]
    assert (min(above), max(above)) == (1, 4 if copies in (2, 5) else 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "nodes", "messages", "copies", "under", "steps", "bound"),
    [
        ("broadcast", 12, 400, 1, "one-port,half", 755, 736),
        ("broadcast", 31, 7, 2, "one-port,half", 38, 31),
        ("scatter", 3, 7, 2, "one-port,half", 42, 42),
        ("allgather", 8, 1, 3, "one-port,combining", 6, 5),
        ("broadcast", 60, 100, 2, "one-port", 209, 205),
        ("broadcast", 64, 100, 2, "one-port", 206, 205),
        ("allgather", 8, 1, 1, "one-port,combining,half", 6, 5),
        ("alltoall", 8, 1, 1, "one-port,combining,half", 6, 5),
    ],
)
def test_gaps_are_as_the_pages_say(kind, nodes, messages, copies, under, steps, bound):
    schedule = plan(kind, f"complete:{nodes}", messages=messages, copies=copies, model=under)
    assert (schedule.steps, best(schedule_bounds(schedule), "steps").value) == (steps, bound)


def test_the_shapes_whose_gap_is_open():
    assert [shape(62, copies).length for copies in (2, 3, 4, 5)] == [11, 11, 12, 14]
    assert [shape(999, copies).length for copies in (2, 3, 4, 5)] == [17, 16, 17, 18]
