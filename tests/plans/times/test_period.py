"""Long messages by periods: rows in the number of arcs, and steps near the bound."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.models import model
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.plans import plan
from treecast.plans.times.period import _dealt, periods
from treecast.plans.ways.even_trees import even_trees, even_ways
from treecast.plans.ways.ways import Ways
from treecast.takes import takes
from treecast.verification.verifier import verify


def by_periods(kind, spec, messages, machine, **more):
    name = "periods"
    return plan(kind, spec, messages=messages, model=machine, builder=name, **more)


def test_periods_of_half_duplex_are_little_longer_than_the_greatest_load():
    """Where no colouring finds one, longer and longer ones are tried: not twice as long ones at once."""
    ways, machine = Ways.of_schedule(plan("alltoall", "mesh:3x3", messages=1)), model("one-port,half")
    least = int(ways.loads(takes(machine, ways.network)).max())
    assert min(each.pace for each in periods(ways, machine)) <= 1.1 * least


def test_copies_go_their_disjoint_ways():
    found = by_periods("broadcast", "star:4", 1000, "one-port", copies=2)
    assert verify(found).holds
    assert treecast.sweep(found, 1).failing == 0


def test_relays_are_passed():
    found = by_periods("broadcast", "fat-tree:4", 64, "one-port")
    assert verify(found).holds
    assert verify(found, method="expanded").holds


def test_blocks_have_the_numbers_of_their_nodes_where_relays_stand_between():
    graph = nx.Graph([(0, 3), (0, 1), (1, 6), (1, 3), (2, 5), (2, 3), (2, 4), (4, 6), (4, 5)])
    nx.set_node_attributes(graph, {2: True, 4: True}, "relay")
    where = treecast.network(nx.convert_node_labels_to_integers(graph, ordering="sorted"))
    job = treecast.job("allgather", where, messages=2, model="one-port")
    for collective, ways in even_ways(job):
        begun = np.setdiff1d(np.arange(len(ways)), ways.after)
        chunk = ways.payloads.first[ways.payloads.start[ways.payload[begun]]]
        assert (collective.source_of(chunk) == arcs_of(where).tail[ways.arc[begun]]).all()


@given(
    st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(1, 7),
    st.integers(3, 90),
)
@examples(100)
def test_chunks_are_dealt_so_that_the_last_come_as_early_as_they_can(ends, pace, many):
    for count, first in zip(_dealt(np.array(ends), pace, many).tolist(), ends, strict=True):
        assert sum(count) == many
        greedy = list(first)
        for _ in range(many):  # one after the other, by the way over which it comes first
            way = greedy.index(min(greedy))
            last = greedy[way]
            greedy[way] += pace
        assert max(end + (n - 1) * pace for end, n in zip(first, count, strict=True) if n) == last


@pytest.mark.parametrize(("spec", "trees", "most"), [("star:4", 3, 3), ("mesh:4x4", 2, 2), ("debruijn:2,4", 4, 4)])
def test_trees_load_nodes_evenly(spec, trees, most):
    where, machine = network(spec), model("one-port")
    ways = even_trees(where, machine, [0] * trees, 0.02)
    assert len(ways) == trees * (where.nodes - 1)
    assert int(ways.loads(takes(machine, where)).max()) == most


@given(st.integers(3, 12), st.integers(0, 10**6), st.sampled_from(["one-port", "all-port,half"]), st.data())
@examples(60)
def test_trees_with_relays_are_trees_of_all_ranks(size, seed, machine, data):
    graph = nx.connected_watts_strogatz_graph(size, min(4, size - 1), 0.5, seed=seed)
    relays = data.draw(st.sets(st.integers(1, size - 1), max_size=size - 2))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    where, count = network(graph), data.draw(st.integers(1, 4))
    ways = even_trees(where, model(machine), [0] * count, data.draw(st.sampled_from([0.0, 0.02, 0.5])), seed)
    arcs = arcs_of(where)
    for tree in range(count):
        mine = ways.arc[ways.payload == tree]
        found = nx.DiGraph(zip(arcs.tail[mine].tolist(), arcs.head[mine].tolist(), strict=True))
        found.add_node(0)
        assert nx.is_arborescence(found)
        assert set(range(size)) - relays <= set(found)
        assert not relays & {v for v in found if not found.out_degree(v)}


@pytest.mark.parametrize(
    ("messages", "machine", "said"),
    [
        (31, "one-port", "periods is for 32 messages and more"),
        (99, "one-port,combining", "periods is for models under which a message is one chunk"),
    ],
)
def test_where_there_are_no_periods(messages, machine, said):
    with pytest.raises(PlanError, match=said):
        by_periods("broadcast", "star:4", messages, machine)


MACHINES = ["all-port", "all-port,half", "one-port", "one-port,half", "one-port,partner"]


KINDS = [
    "broadcast", "reduce", "scatter", "gather", "allgather", "reduce-scatter", "alltoall", "reduce-broadcast", "allreduce",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.each(11)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_under_every_machine(kind, machine):
    for spec in ("mesh:2x3", "star:3", "tree:2,2"):
        found = by_periods(kind, spec, 40, machine)
        assert verify(found).holds
        assert verify(found, method="expanded").holds
        assert found.steps == found.claims.steps


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_million_messages_down_a_tree():
    found = plan("broadcast", "tree:2,4", messages=10**6, model="one-port")
    assert (found.builder, found.steps, len(found.rows)) == ("periods", 2_000_006, 30)


@pytest.mark.slow
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


PAGE = Path(__file__).parents[3] / "docs/explanation/one-port.md"


TABLE = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in PAGE.read_text().split("| broadcast of M messages | rows |")[1].split("\n\n")[0].splitlines()[2:]
]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_long_broadcast_of_a_cluster_is_near_its_bound():
    schedule = plan("broadcast", "fat-tree:8", messages=1000, model="one-port")
    assert verify(schedule).holds
    assert best(schedule_bounds(schedule), "steps").value == 4006
    assert schedule.steps == 4010


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "most"), [("one-port", 2010), ("one-port,half", 3010)])
def test_trees_lead_past_different_relays(machine, most):
    """One root switch of a fat tree would send to every pod: 3 sends a message, and 4 steps of half duplex; 2 and 3 are least."""
    schedule = by_periods("broadcast", "fat-tree:4", 1000, machine)
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
    assert schedule.steps < most


@pytest.mark.long
def test_alltoall_on_a_torus_of_64_nodes():
    ways = Ways.of_schedule(plan("alltoall", "torus:4x4x4", messages=1))
    assert min(each.pace for each in periods(ways, model("one-port"))) == 192
