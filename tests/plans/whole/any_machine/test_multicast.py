"""Multicasts on any network, under any machine whose nodes keep what they relay."""

from dataclasses import replace
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.plans.ways.test_ways import MACHINES, SMALL, judged
from treecast.errors import PlanError
from treecast.networks.arcs import arcs_of
from treecast.plans.whole.any_machine.known import known_ways


def some_ranks(network):
    """The labels of a few ranks: neither the first, nor all."""
    ranks = network.ranks[1:]
    return [network.label(int(rank)) for rank in ranks[:: max(1, len(ranks) // 2)]]


def has_a_plan(spec, machine):
    network = treecast.network(spec)
    schedule = judged(treecast.plan("multicast", spec, targets=some_ranks(network), messages=2, model=machine))
    whole = treecast.plan("broadcast", spec, messages=2, model=machine)
    assert schedule.transmissions <= whole.transmissions
    trace = treecast.simulate(schedule)
    assert not trace.lost


@pytest.mark.parametrize("machine", MACHINES)
def test_a_multicast_has_a_plan_on_every_machine(machine):
    has_a_plan("debruijn:2,2", machine)


@pytest.mark.parametrize("machine", ["all-port", "one-port", "shouting"])
@pytest.mark.parametrize(("spec", "against"), [("star:4", "nodes"), ("petersen", "nodes"), ("torus:3x3", "links")])
def test_copies_for_targets_survive_every_set_of_fewer_faults(spec, against, machine):
    network = treecast.network(spec)
    asked = {"targets": some_ranks(network), "copies": 3, "against": against, "model": machine}
    schedule = judged(treecast.plan("multicast", spec, **asked))
    assert treecast.sweep(schedule).holds
    rows = schedule.rows
    kept = np.flatnonzero(np.arange(len(rows)) != rows.tree.argmax())
    wrong = replace(schedule, rows=rows.take(kept), claims=None)
    for method in ("fast", "expanded"):
        assert not treecast.verify(wrong, method=method)


@given(st.integers(0, 2**32 - 1))
def test_on_any_graph_to_any_targets(seed):
    draw = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(8, 0.4, seed=seed)
    reached = sorted(nx.node_connected_component(graph, 0) - {0})
    if not reached:
        return
    graph = graph.subgraph([0, *reached])
    targets = sorted(draw.choice(reached, draw.integers(1, len(reached) + 1), replace=False).tolist())
    labels = [str(target) for target in targets]
    schedule = judged(treecast.plan("multicast", graph, root="0", targets=labels, messages=int(draw.integers(1, 4))))
    far = max(nx.shortest_path_length(graph, 0, target) for target in targets)
    assert schedule.steps >= far
    if schedule.collective.messages == 1:
        assert schedule.steps == far


def test_the_least_number_of_links_is_a_steiner_trees():
    """Of one message each link is used once at most, and no fewer links join root and targets than the best of all trees has."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3))
    for targets in combinations(range(1, 9), 3):
        schedule = treecast.plan("multicast", graph, root="0", targets=[str(target) for target in targets])
        least = min(
            len(some) - 1
            for size in range(4, 10)
            for some in combinations(range(9), size)
            if {0, *targets} <= set(some) and nx.is_connected(graph.subgraph(some))
        )
        assert least <= schedule.transmissions <= 8


def test_ways_to_some_nodes_are_all_that_they_wait_for():
    ways, _ = next(known_ways(treecast.job("broadcast", "path:5")))
    into = arcs_of(ways.network).head[ways.arc]
    assert len(ways.to(into == 3)) == 3
    assert len(ways.to(np.zeros(len(ways), np.bool_))) == 0


@pytest.mark.parametrize("spec", ["hypercube:3", "petersen"])
def test_a_repaired_multicast_is_for_the_targets_that_live(spec):
    repaired_for_the_living(spec)


def repaired_for_the_living(spec):
    network = treecast.network(spec)
    targets = [network.label(node) for node in (2, 5, 7)]
    schedule = treecast.plan("multicast", spec, targets=targets, messages=3, model="all-port")

    def after(dead):
        new = treecast.repair(schedule, dead_nodes=dead).schedule
        for method in ("fast", "expanded"):
            assert treecast.verify(new, method=method)
        return new.network.labels(new.collective.targets)

    for dead in combinations(targets, 2):
        assert after(dead) == sorted(set(targets) - set(dead))
    assert after([network.label(1)]) == targets
    with pytest.raises(PlanError, match="target"):
        after(targets)


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", SMALL)
def test_a_multicast_has_a_plan_on_every_machine_at_length(spec, machine):
    has_a_plan(spec, machine)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["star:4", "torus:3x3"])
def test_a_repaired_multicast_is_for_the_targets_that_live_at_length(spec):
    repaired_for_the_living(spec)
