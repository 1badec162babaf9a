"""Long messages by periods: rows in the number of arcs, and steps near the bound."""

from pathlib import Path

import numpy as np
import pytest

from tests.plans.times.test_period import by_periods
from treecast.lower_bounds import best, schedule_bounds
from treecast.models import model
from treecast.plans import plan
from treecast.plans.times.period import periods
from treecast.plans.ways.ways import Ways
from treecast.takes import takes
from treecast.verification.verifier import verify

MACHINES = ["all-port", "all-port,half", "one-port", "one-port,half", "one-port,partner"]


KINDS = [
    "broadcast", "reduce", "scatter", "gather", "allgather", "reduce-scatter", "alltoall", "reduce-broadcast", "allreduce",
]  # fmt: skip


@pytest.mark.each(11)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_under_every_machine(kind, machine):
    for spec in ("mesh:2x3", "star:3", "tree:2,2"):
        found = by_periods(kind, spec, 40, machine)
        assert verify(found).holds
        assert verify(found, method="expanded").holds
        assert found.steps == found.claims.steps


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("broadcast", 30),
        pytest.param("reduce", 30, marks=pytest.mark.long),
        pytest.param("alltoall", 5388, marks=pytest.mark.long),
        pytest.param("allreduce", 1860, marks=pytest.mark.long),
    ],
)
def test_a_million_messages_take_a_row_for_each_hop_of_a_period(kind, rows):
    found = by_periods(kind, "tree:2,4", 10**6, "one-port")
    report = verify(found)
    assert report.holds
    assert len(found.rows) <= rows
    least = max(bound.value for bound in report.bounds if bound.of == "steps")
    first = by_periods(kind, "tree:2,4", 32, "one-port")
    assert found.steps - least <= first.steps  # it begins and ends once
    assert found.steps - first.steps == (10**6 - 32) * int(found.rows.pace.max())


def test_a_million_messages_down_a_tree():
    found = plan("broadcast", "tree:2,4", messages=10**6, model="one-port")
    assert (found.builder, found.steps, len(found.rows)) == ("periods", 2_000_006, 30)


@pytest.mark.parametrize(
    ("kind", "spec", "least"),
    [
        ("alltoall", "star:4", 62),
        ("alltoall", "torus:4x4", 32),
        ("allgather", "petersen", 9),
        ("scatter", "mesh:4x4", 15),
    ],
)
def test_over_one_port_a_period_is_as_long_as_the_greatest_load(kind, spec, least):
    ways = Ways.of_schedule(plan(kind, spec, messages=1))
    wanted = takes(model("one-port"), ways.network)
    assert int(ways.loads(wanted).max()) == least
    for found in periods(ways, model("one-port")):
        assert (found.begin[ways.after] > found.begin[ways.before]).all()
        taken = wanted.resource[ways.arc] * found.pace + found.begin[:, None] % found.pace
        assert len(np.unique(taken)) == taken.size
    assert min(each.pace for each in periods(ways, model("one-port"))) == least


PAGE = Path(__file__).parents[4] / "docs/explanation/one-port.md"


TABLE = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in PAGE.read_text().split("| broadcast of M messages | rows |")[1].split("\n\n")[0].splitlines()[2:]
]


@pytest.mark.each(4)
@pytest.mark.parametrize("line", TABLE, ids=[line[0] for line in TABLE])
def test_the_table_of_the_page(line):
    name, rows, *steps, least = line
    spec, machine = name.split("`")[1], "one-port,half" if name.endswith("half duplex") else "one-port"
    for messages, said in zip((60, 1000, 10**6), steps, strict=True):
        found = by_periods("broadcast", spec, messages, machine)
        assert f"{found.steps:,}" == said
    assert len(found.rows) == int(rows)
    report = verify(found)
    assert report.holds
    assert f"{max(bound.value for bound in report.bounds if bound.of == 'steps'):,}" == least


@pytest.mark.parametrize(
    ("spec", "machine", "messages", "steps"),
    [
        ("star:4", "one-port", 60, 71),
        pytest.param("star:4", "one-port", 1000, 1012, marks=pytest.mark.long),
        ("mesh:4x4", "one-port", 1000, 1010),
        ("debruijn:2,4", "one-port", 1000, 1010),
        ("petersen", "one-port,half", 1000, 1846),
    ],
)
def test_steps_of_long_broadcasts(spec, machine, messages, steps):
    found = by_periods("broadcast", spec, messages, machine)
    assert verify(found).holds
    assert found.steps <= steps


def test_a_long_broadcast_of_a_cluster_is_near_its_bound():
    schedule = plan("broadcast", "fat-tree:8", messages=1000, model="one-port")
    assert verify(schedule).holds
    assert best(schedule_bounds(schedule), "steps").value == 4006
    assert schedule.steps == 4010


@pytest.mark.parametrize(("machine", "most"), [("one-port", 2010), ("one-port,half", 3010)])
def test_trees_lead_past_different_relays(machine, most):
    """One root switch of a fat tree would send to every pod: 3 sends a message, and 4 steps of half duplex; 2 and 3 are least."""
    schedule = by_periods("broadcast", "fat-tree:4", 1000, machine)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
    assert schedule.steps < most
