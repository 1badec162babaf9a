"""Allgathers over one tree that all ranks share, and low trees."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from treecast.errors import PlanError
from treecast.networks.low_trees import low_tree


@given(multigraphs(most=12, whole=True), st.integers(1, 4))
def test_plans_are_right_on_any_graph(graph, messages):
    where = treecast.network(graph)
    if not where.both_ways or where.rank_count < 2:
        return
    schedule = treecast.plan("allgather", where, messages=messages, builder="shared-tree")
    assert treecast.verify(schedule).holds
    assert treecast.verify(schedule, method="expanded").holds
    deep = int(low_tree(where, int(where.ranks[0])).level[where.ranks].max())
    assert schedule.steps <= messages * where.rank_count + 2 * deep - 1


@pytest.mark.parametrize("seed", range(20))
def test_no_step_at_the_beginning_is_idle(seed):
    tree = nx.random_labeled_tree(9, seed=seed)
    schedule = treecast.plan("allgather", tree, messages=2, builder="shared-tree")
    assert schedule.rows.step.min() == 0
    for sums in ("reduce-scatter", "allreduce"):  # the same backwards
        assert treecast.verify(treecast.plan(sums, tree, messages=2, builder="shared-tree")).holds


@pytest.mark.parametrize("seed", range(20))
def test_a_low_tree_is_about_half_as_deep_as_ways_are_long(seed):
    graph = nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=seed)
    where = treecast.network(graph)
    tree = low_tree(where, 0)
    assert sorted(tree.order.tolist()) == list(range(where.nodes))
    assert tree.level.max() <= nx.diameter(graph)
    for v in tree.order[1:].tolist():
        assert tree.level[v] == tree.level[tree.parent[v]] + 1
    # a walk comes to a node before all below it, and leaves no node out
    assert sorted(tree.place.tolist()) == list(range(where.nodes))
    for v in tree.order[1:].tolist():
        assert tree.place[v] > tree.place[tree.parent[v]]


def test_a_fabric_without_symmetry_is_no_wall():
    where = treecast.network("fat-tree:16").without(nodes=["core-0.0", "aggregation-1.1", "3.2.1"])
    schedule = treecast.plan("allgather", where, builder="shared-tree")
    assert treecast.verify(schedule).holds
    assert schedule.steps <= where.rank_count + 6
    assert len(schedule) < 8 * where.rank_count


def test_one_rank_has_nothing_to_send():
    graph = nx.star_graph(3)
    nx.set_node_attributes(graph, {v: v != 2 for v in graph}, "relay")
    for where in (graph, "hypercube:0"):
        schedule = treecast.plan("allgather", where, builder="shared-tree")
        assert treecast.verify(schedule).holds
        assert schedule.steps == 0


def test_ways_back_are_needed():
    with pytest.raises(PlanError, match="needs links that lead both ways"):
        treecast.plan("allgather", nx.DiGraph([(0, 1), (1, 2), (2, 0)]), builder="shared-tree")
