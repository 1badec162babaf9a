"""Allgather in several copies on any network: steps beside the bound, three judges, every fault that is to be survived."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.collectives import Collective
from treecast.errors import PlanError
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def hypercube_less_a_link(d):
    graph = nx.convert_node_labels_to_integers(nx.hypercube_graph(d), ordering="sorted")
    graph.remove_edge(0, 1)
    return graph


def least(where, messages, copies):
    return best(bounds(Collective("allgather", where.nodes, messages), where, copies, model("all-port")), "steps").value


NETWORKS = {
    "petersen": (nx.petersen_graph(), 8),
    "random 4-regular": (nx.random_regular_graph(4, 23, seed=1), 14),
    "hypercube:4 less a link": (hypercube_less_a_link(4), 11),
    "torus:4x4x4": ("torus:4x4x4", 30),
    "mesh:4x4": ("mesh:4x4", 15),
    "kautz:3,2": ("kautz:3,2", 9),
}
"""Networks, and the steps of an allgather in two copies."""


@pytest.mark.each(3)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_single_fault_is_survived(name):
    given_as, steps = NETWORKS[name]
    where = network(given_as)
    schedule = plan("allgather", where, survive=1)
    assert least(where, 1, 2) <= schedule.steps <= steps
    assert verify(schedule).holds
    for kind in ("nodes", "links" if where.both_ways else "arcs"):
        found = sweep(schedule, 1, kind)
        assert found.holds
        assert found.exhaustive
        assert found.sets > where.nodes
    fewer = sweep(plan("allgather", where), 1, "nodes")
    assert not fewer.holds  # one copy is not enough, so the sweep can fail


@pytest.mark.each(3)
@pytest.mark.parametrize("name", NETWORKS)
def test_many_messages_come_near_the_bound(name):
    where = network(NETWORKS[name][0])
    schedule = plan("allgather", where, messages=1000, copies=2)
    assert least(where, 1000, 2) <= schedule.steps <= 1.01 * least(where, 1000, 2) + 1
    assert len(schedule) <= where.degree * (where.nodes - 1) * (1 if schedule.orbit else where.nodes)
    assert verify(schedule).holds


@given(st.integers(4, 9), st.integers(0, 10**6), st.integers(1, 5), st.data())
@examples(15)
def test_all_judges_agree_on_random_graphs(nodes, seed, messages, data):
    graph = nx.gnp_random_graph(nodes, 0.5, seed=seed)
    nx.add_cycle(graph, range(nodes))
    where = network(graph)
    copies = data.draw(st.integers(1, nx.node_connectivity(graph)))
    schedule = plan("allgather", where, messages=messages, copies=copies, builder="packed-trees")
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    assert schedule.steps >= least(where, messages, copies)
    assert sweep(schedule, copies - 1, "nodes").holds


def test_copies_that_there_are_no_ways_for_are_refused():
    where = network(nx.barbell_graph(4, 1))
    with pytest.raises(
        PlanError, match=r"^2 copies, to survive 1 dead node, need 2 node-.* paths; 4 has 1 from 0 \(cut off by 3\)"
    ) as error:
        plan("allgather", where, copies=2)
    assert "\n" not in str(error.value)
    with pytest.raises(
        PlanError, match=r"^4 copies, to survive 3 dead nodes, need 4 .* Possible here: dead nodes 2, dead links 2"
    ):
        plan("allgather", network(nx.petersen_graph()), copies=4)


def test_copies_on_a_single_node_are_refused_in_words():
    for where in ("ring:1", nx.path_graph(1)):
        with pytest.raises(PlanError, match="one copy"):
            plan("allgather", where, survive=1)


@pytest.mark.long
@pytest.mark.parametrize("name", ["petersen", "random 4-regular", "hypercube:4 less a link"])
def test_every_two_faults_are_survived(name):
    schedule = plan("allgather", network(NETWORKS[name][0]), messages=2, survive=2)
    for kind in ("nodes", "links"):
        assert sweep(schedule, 2, kind).holds
