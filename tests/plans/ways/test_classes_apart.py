"""Demands in several copies: both judges accept the plans, and whatever fails, whoever lives gets what somebody living holds."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.demands.demands import MACHINES, NETWORKS, by_chance
from tests.strategies import examples
from treecast.collectives import Demand
from treecast.errors import PlanError
from treecast.lower_bounds.proof import proven
from treecast.networks import network
from treecast.schedule import Rows

PLACES = [where for where in NETWORKS if where != "fat-tree:4"]  # whose hosts have one link each


def twin_leaves():
    """Four hosts, each with a link to both of two switches, and a host with one link, which wants nothing."""
    graph = nx.Graph([(f"host{i}", f"leaf{j}") for i in range(4) for j in range(2)])
    nx.set_node_attributes(graph, {"leaf0": True, "leaf1": True}, "relay")
    graph.add_edge("host0", "beside")
    return network(graph)


def check(where, rows, machine, against="nodes", copies=2):
    """Plan a demand in copies; hold it against both judges, its bounds, their certificates, and all sets of faults."""
    schedule = treecast.plan(rows, where, model=machine, copies=copies, against=against)
    assert treecast.verify(schedule)
    assert treecast.verify(schedule, method="expanded")
    for bound in treecast.bounds(schedule):
        assert bound.value <= getattr(schedule, bound.of)
        if bound.certificate:
            job = schedule.collective, schedule.network, copies, schedule.model
            assert proven(bound.certificate, *job) == bound.value
    assert treecast.sweep(schedule, copies - 1, against).holds
    if against == "nodes":
        assert treecast.sweep(schedule, copies - 1, "nodes+links").holds
    return schedule


@pytest.mark.each(6)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("where", PLACES)
def test_no_single_fault_does_harm(where, machine):
    check(where, by_chance(network(where).rank_count, "copies", len(where + machine)), machine)


@pytest.mark.parametrize("against", ["nodes", "links", "arcs"])
@pytest.mark.parametrize("where", ["complete:5", "hypercube:3"])
def test_two_faults(where, against):
    check(where, [([0, 1, 2], [3, 4], 3), (4, [0, 2], 2)], "one-port", against, 3)


def test_who_wants_nothing_needs_no_second_way():
    schedule = check(twin_leaves(), [(["host0", "host1"], ["host2", "host3"], 4), ("host2", "host0", 1)], "one-port")
    assert treecast.verify(treecast.plan({"host0": ["beside"]}, twin_leaves()))
    with pytest.raises(PlanError, match=r"beside has 1 from host1|beside has 1 .*cut off by host0"):
        treecast.plan({"host1": ["beside"]}, schedule.network, survive=1)


def test_the_death_of_a_holder_is_survived_where_there_are_as_many_as_copies():
    schedule = treecast.plan([([0, 1], [2, 3], 5)], "complete:4", survive=1)
    for dead in range(4):
        assert treecast.simulate(schedule, f"{dead}").holds
    with pytest.raises(PlanError, match="some chunks have 2 holders"):
        treecast.plan([([0, 1], [2, 3], 5)], "complete:5", survive=2)
    with pytest.raises(PlanError, match="contributions that went two ways"):
        treecast.plan([([0, "+", 1], [2, 3], 5)], "complete:5", survive=1)
    with pytest.raises(PlanError, match="2 copies need 2 disjoint paths, but 1 arcs leave some wanter"):
        treecast.bounds({0: [3]}, "path:4", copies=2)


@pytest.mark.parametrize("machine", ["all-port", "one-port,latency=2", "whispering"])
def test_who_has_all_that_it_wants_gets_nothing(machine):
    schedule = check("complete:5", [(0, [0], 2), ([1, 2], [1, 2], 1)], machine)
    assert (schedule.steps, len(schedule.rows)) == (0, 0)


def test_ways_that_begin_at_one_of_two_holders_are_refused():
    """A dead holder would cut both; against dead links it does not count."""
    schedule = treecast.plan([([0, 1], 2, 1)], "hypercube:3", survive=1, against="links")
    port = int(schedule.network.port_between(0, 2))
    rows = [(0, 0, 2, port, 0), (0, 0, 4, 2, 1), (1, 4, 6, 1, 1), (2, 6, 2, 2, 1)]
    columns = dict(zip(("step", "src", "dst", "port", "tree"), np.array(rows).T, strict=True))
    from_one = replace(
        schedule,
        rows=Rows.of(
            schedule.rows.payloads.of_ranges([0], [1]), **columns, steps=np.ones(4, int), payload=np.zeros(4, int)
        ),
        claims=None,
    )
    assert treecast.verify(from_one)
    assert treecast.verify(from_one, method="expanded")
    of_nodes = replace(from_one, against="nodes")
    for method in ("fast", "expanded"):
        assert set(treecast.verify(of_nodes, method=method).counts) >= {"copies"}
        assert treecast.verify(of_nodes, method=method).counts["copies"]
    assert not treecast.sweep(of_nodes, 1, "nodes").holds


@examples(60)
@given(st.sampled_from(PLACES), st.sampled_from(["nodes", "links", "arcs"]), st.integers(0, 10**6), st.data())
def test_judges_agree_on_changed_rows(where, against, seed, data):
    rows = by_chance(network(where).rank_count, "copies", seed % 50, most=3)
    schedule = treecast.plan(rows, where, model="one-port", survive=1, against=against)
    columns = {name: column.copy() for name, column in schedule.rows.columns().items()}
    row = seed % len(schedule.rows)
    change = data.draw(st.sampled_from(["tree", "step", "gone"]))
    if change == "tree":
        columns["tree"][row] = data.draw(st.integers(-1, 3))
    elif change == "step":
        columns["step"][row] += 1
    else:
        columns = {name: np.delete(column, row) for name, column in columns.items()}
    changed = replace(schedule, rows=Rows.of(schedule.rows.payloads, **columns), claims=None)
    assert bool(treecast.verify(changed)) == bool(treecast.verify(changed, method="expanded"))


def test_a_file_and_a_job_keep_the_copies(tmp_path):
    schedule = treecast.plan(Demand.of("4: 0 1 > 2 3 7 ; 3: 5 > 6 0"), "hypercube:3", survive=1)
    treecast.save(schedule, tmp_path / "plan.tc")
    again = treecast.load(tmp_path / "plan.tc")
    assert (again, again.copies) == (schedule, 2)
    assert treecast.plan(treecast.job(schedule)) == schedule


def test_a_repaired_plan_has_as_many_copies_as_the_rest_has_ways():
    schedule = treecast.plan(Demand.of("4: 0 1 > 2 3 7 ; 3: 5 > 6 0"), "hypercube:3", survive=1)
    for gone, copies in (
        ({"dead_nodes": ["0b100"]}, 2),
        ({"cut_links": ["0b000-0b010"]}, 2),
        ({"cut_links": ["0b000-0b010", "0b011-0b010"]}, 1),
    ):
        repaired = treecast.repair(schedule, **gone).schedule
        assert repaired.copies == copies
        assert treecast.verify(repaired)
        assert treecast.verify(repaired, method="expanded")
