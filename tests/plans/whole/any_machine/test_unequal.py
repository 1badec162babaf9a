"""Scatters and gathers of messages of different lengths, under machines whose nodes keep what they relay."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.plans.ways.test_ways import MACHINES, SMALL, judged
from treecast.plans.entries import builders


def delivered(schedule):
    """A schedule that is judged, and brings all its messages, whichever nodes die of as many as it is to survive."""
    judged(schedule)
    others = sorted(set(range(schedule.network.nodes)) - {schedule.collective.root})
    for dead in combinations(others, schedule.copies - 1):
        assert not treecast.simulate(schedule, schedule.network.labels(list(dead))).lost
    assert schedule.steps >= max(bound.value for bound in treecast.bounds(schedule) if bound.of == "steps")
    return schedule


def lengths_of(network, root=0):
    """Some flits for each rank: none, one or several."""
    flits = [(3 * node) % 5 for node in range(network.nodes)]
    idle = {root, *([] if network.relays is None else np.flatnonzero(network.relays).tolist())}
    return [0 if node in idle else flit for node, flit in enumerate(flits)]


def has_a_plan(kind, spec, machine):
    network = treecast.network(spec)
    root = int(network.ranks[0])
    asked = {"root": network.label(root), "lengths": lengths_of(network, root), "model": machine}
    delivered(treecast.plan(kind, spec, **asked))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_messages_of_any_length_have_a_plan_on_every_machine(kind, machine):
    has_a_plan(kind, "fat-tree:2", machine)


def survives_every_death(spec, copies, machine):
    asked = {"lengths": lengths_of(treecast.network(spec)), "copies": copies, "model": machine}
    for kind in ("scatterv", "gatherv"):
        delivered(treecast.plan(kind, spec, **asked))


@pytest.mark.parametrize("machine", MACHINES)
def test_copies_of_messages_of_any_length_survive_every_death(machine):
    survives_every_death("kautz:2,2", 2, machine)


def test_copies_are_for_all_ports_where_no_machine_is_named():
    found = delivered(treecast.plan("scatterv", "ring:4", lengths=[0, 2, 5, 0], copies=2))
    assert (found.model.name, found.copies, found.steps) == ("all-port", 2, 8)
    with pytest.raises(treecast.TreecastError, match="need 2 node-disjoint paths; 2 has 1"):
        treecast.plan("scatterv", "path:3", lengths=[0, 2, 5], copies=2)
    short = treecast.job("scatterv", "path:3", lengths=[0, 2, 5], copies=2, model="one-port,half")
    reason = next(each for each in builders("scatterv", short.network) if each.name == "priced-paths").why_not(short)
    assert reason.endswith("needs 2 node-disjoint paths from 0 to every node, but 2 has 1")


@given(st.integers(0, 2**32 - 1))
def test_on_any_graph(seed):
    draw = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(7, 0.4, seed=seed)
    graph = nx.convert_node_labels_to_integers(graph.subgraph(nx.node_connected_component(graph, 0)))
    if len(graph) < 2:
        return
    network, root = treecast.network(graph), int(draw.integers(len(graph)))
    flits = draw.integers(0, 4, len(graph))
    flits[root] = 0
    if not flits.sum():
        return
    machine = MACHINES[int(draw.integers(len(MACHINES)))]
    for kind in ("scatterv", "gatherv"):
        asked = {"root": network.label(root), "lengths": flits.tolist(), "model": machine}
        schedule = delivered(treecast.plan(kind, network, **asked))
        far = max(nx.shortest_path_length(graph, root, node) for node in np.flatnonzero(flits).tolist())
        assert schedule.steps >= far


def test_a_gatherv_has_as_many_copies_as_a_gather_where_arcs_lead_one_way():
    for seed in (1, 3, 8):
        graph = nx.gnp_random_graph(6, 0.55, seed=seed, directed=True)
        assert treecast.verify(treecast.plan("gather", graph, copies=2, root="0"))
        schedule = treecast.plan("gatherv", graph, copies=2, root="0", lengths=[0, 1, 2, 1, 3, 1])
        assert treecast.verify(schedule)
        assert treecast.verify(schedule, method="expanded")
        assert treecast.sweep(schedule).holds


def test_over_one_port_of_complete_networks_one_flit_leaves_the_root_in_each_step():
    lengths = [0, 3, 1, 4, 1, 5, 9, 2]
    for kind in ("scatterv", "gatherv"):
        for machine in ("one-port", "one-port,half", "one-port,partner"):
            schedule = delivered(treecast.plan(kind, "complete:8", lengths=lengths, model=machine))
            assert schedule.steps == schedule.transmissions == sum(lengths)


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_messages_of_any_length_have_a_plan_on_every_machine_at_length(kind, spec, machine):
    has_a_plan(kind, spec, machine)


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("spec", "copies"), [("ring:5", 2), ("torus:3x3", 3), ("hypercube:3", 3), ("star:4", 2)])
def test_copies_of_messages_of_any_length_survive_every_death_at_length(spec, copies, machine):
    survives_every_death(spec, copies, machine)
