"""Allreduce whose two halves overlap: right on any network, and near its bound where a node has lost a part of its links."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.networks.test_relays import multigraphs
from tests.plans.all_port.test_balanced_trees import fat_tree
from treecast import bounds, network, plan, run, simulate, verify
from treecast.cli import main


def least(where, messages):
    return max(b.value for b in bounds("allreduce", where, messages=messages) if b.of == "steps")


def cards(weak, nodes=8):
    """Nodes joined each to each by eight cables, node 0 by ``weak`` to each."""
    graph = nx.complete_graph(nodes)
    for u, v in graph.edges:
        graph.edges[u, v]["capacity"] = weak if u == 0 else 8
    return network(graph)


@given(multigraphs(most=8, whole=True), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_every_multigraph_with_relays_has_a_plan(graph, messages):
    where = network(graph)
    schedule = plan("allreduce", where, messages=messages, builder="overlapping-sums")
    for report in (verify(schedule), verify(schedule, method="expanded")):
        assert report.holds, report.violations
    assert schedule.steps >= least(where, messages)
    assert simulate(schedule).holds
    assert run(schedule, bytes(range(99))).holds


@pytest.mark.parametrize(("weak", "steps"), [(8, 128), (7, 133)])
def test_one_card_of_eight_lost_costs_4_percent(weak, steps):
    """The least that there can be, and 3.9 % more than without the loss; halves one after the other take 148 steps, 16 % more."""
    where = cards(weak)
    schedule = plan("allreduce", where, messages=512)
    assert schedule.steps == least(where, 512) == steps
    assert verify(schedule).holds
    if weak == 7:
        assert schedule.recipe.builder == "overlapping-sums"
        assert plan("allreduce", where, messages=512, builder="node-matching").steps == 148


def test_plan_says_what_the_loss_costs(tmp_path, capsys):
    for weak in (7, 8):
        nx.write_graphml(cards(weak).to_networkx(), tmp_path / f"{weak}.graphml")
    what = [
        "allreduce",
        f"file:{tmp_path}/7.graphml",
        "--messages",
        "512",
        "--compare-with",
        f"file:{tmp_path}/8.graphml",
    ]
    assert main(["plan", *what]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"133 steps instead of 128 on file:{tmp_path}/8.graphml, 3.9 % more; bounds 133 and 128" in said


def test_a_ring_loses_more():
    graph = nx.cycle_graph(8)
    for u, v in graph.edges:
        graph.edges[u, v]["capacity"] = 7 if 0 in (u, v) else 8
    where = network(graph)
    steps = [plan("allreduce", where, messages=64, **how).steps for how in ({}, {"builder": "overlapping-sums"})]
    assert (*steps, least(where, 64)) == (64, 75, 58)


def test_halves_overlap_past_relays():
    where = network(fat_tree())
    one, both = plan("allgather", where, messages=8), plan("allreduce", where, messages=8)
    assert verify(both).holds
    assert (2 * one.steps, both.steps, least(where, 8)) == (242, 159, 127)
