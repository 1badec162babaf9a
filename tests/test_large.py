"""The table of docs/explanation/large.md is what the plans of its lines take, those of 65,536 ranks included."""

import re
from pathlib import Path

import pytest

import treecast
from tests.networks.test_alike import graph_of
from tests.test_golden_steps import planned

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[1] / "docs/explanation/large.md"
LINES = re.findall(
    r"^\| `(\w[\w-]+ \S+:[^`]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text(), re.MULTILINE
)


def test_the_page_has_the_largest():
    assert len(LINES) == 33
    assert any("fat-tree:64" in words for words, *_ in LINES)


@pytest.mark.parametrize(
    ("words", "figures"), [(words, figures) for words, *figures in LINES], ids=[line[0] for line in LINES]
)
def test_plans_take_what_the_page_says(words, figures):
    schedule = planned(words)
    report = treecast.verify(schedule)
    assert report.holds
    in_turns = words.endswith(("half", "combining"))  # around a walk not all send at once there
    assert report.method == ("by symmetry" if schedule.collective.all_source and not in_turns else "by streams")
    least = max(bound.value for bound in report.bounds if bound.of == "steps")
    found = schedule.network.rank_count, schedule.steps, least, len(schedule)
    assert [f"{figure:,}" for figure in found] == figures


def test_a_shuffled_fat_tree_of_8192_hosts_is_planned_as_one_with_names():
    where = treecast.network(graph_of(treecast.network("fat-tree:32"), 1))
    schedule = treecast.plan("alltoall", where)
    report = treecast.verify(schedule)
    assert (report.holds, report.method, report.ratio, schedule.steps) == (True, "by symmetry", 1.0, 8196)


def test_a_shuffled_fat_tree_with_dead_cables_is_planned_as_one_with_names():
    dead = ["aggregation-0.0-core-0.0", "aggregation-7.3-core-3.9", "edge-5.6-aggregation-5.1"]
    where = treecast.network(graph_of(treecast.network("fat-tree:32").without(links=dead), 1))
    schedule = treecast.plan("alltoall", where)
    report = treecast.verify(schedule)
    assert (report.holds, report.method) == (True, "by symmetry")
    assert report.ratio < 1.02
    assert schedule.steps < 1.08 * 8196
    assert len(schedule) < 3e5


def test_a_dead_cable_cuts_off_what_its_orbit_carries():
    schedule = treecast.plan("alltoall", "fat-tree:32 without links edge-0.0-aggregation-0.0")
    first, size = schedule.torn.lost
    assert (len(first), set(size.tolist())) == (2 * 8176, {1})
    assert 8192 * 8191 // 10**6 == 67
