import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_flows import node_ways, random_graphs
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.plans import plan, plan_again
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


def less_a_link(spec):
    graph = nx.Graph(network(spec).to_networkx())
    graph.remove_edge(*next(iter(graph.edges)))
    return network(graph)


def dual_homed():
    """Two switches below two others; each of four hosts hangs at both lower ones."""
    graph = nx.Graph([(f"h{i}", f"s{j}") for i in range(4) for j in range(2)])
    graph.add_edges_from((f"s{i}", f"t{j}") for i in range(2) for j in range(2))
    nx.set_node_attributes(graph, {f"{kind}{i}": True for kind in "st" for i in range(2)}, "relay")
    return network(graph)


NETWORKS = {
    "petersen": network(nx.petersen_graph()),
    "random": network(nx.random_regular_graph(4, 23, seed=1)),
    "hypercube:4 less a link": less_a_link("hypercube:4"),
    "hosts at two switches": dual_homed(),
    "kautz:2,3": network("kautz:2,3"),
}


@pytest.mark.parametrize(
    ("name", "copies", "steps"),
    [("petersen", 2, 6), ("petersen", 3, 9), ("random", 2, 11), ("random", 3, 17), ("hypercube:4 less a link", 3, 15)],
)
def test_scatters_in_copies_take_the_steps_of_the_bound(name, copies, steps):
    for kind in ("scatter", "gather"):
        schedule = plan(kind, NETWORKS[name], copies=copies)
        assert schedule.steps == best(schedule_bounds(schedule), "steps").value == steps


@pytest.mark.parametrize(
    ("where", "steps"),
    [(NETWORKS["random"], 21), ("debruijn:2,3", 9), ("debruijn:2,4", 26), ("random-regular:40,4,1", 31)],
)
def test_one_copy_goes_round_arcs_that_all_shortest_paths_use(where, steps):
    """As many steps as the bound; over shortest paths two or three more."""
    schedule = plan("alltoall", where, builder="priced-paths")
    assert schedule.steps == best(schedule_bounds(schedule), "steps").value == steps
    assert verify(schedule).holds


@pytest.mark.parametrize(
    ("spec", "model", "copies", "steps"),
    [
        ("debruijn:2,4", "all-port,half", 1, 27),
        ("mesh:4x4", "one-port", 2, 110),
    ],
)
def test_links_and_ports_have_prices_on_machines_that_share_them(spec, model, copies, steps):
    takes(spec, model, copies, steps)


def takes(spec, model, copies, steps):
    """With prices of arcs alone it is 30, 36, 125 and 250 steps; those of one copy are at the bound now."""
    schedule = plan("alltoall", spec, model=model, copies=copies, builder="priced-paths")
    assert verify(schedule).holds
    least = best(schedule_bounds(schedule), "steps").value
    assert least <= schedule.steps == steps
    assert least == steps or copies > 1
    assert copies == 1 or sweep(schedule, 1, "nodes").holds


@examples(30)
@given(st.integers(3, 8), st.integers(0, 10**6), st.sampled_from(["scatter", "gather", "alltoall"]), st.data())
def test_as_many_copies_as_there_are_ways_on_random_graphs(size, seed, kind, data):
    where, root = next(iter(random_graphs(1, size, seed=seed)))
    root = 0 if kind == "alltoall" else root
    of = range(where.nodes) if kind == "alltoall" else [root]
    along = where.reversed() if kind == "gather" else where
    most = min((ways for start in of for ways in node_ways(along, start).values()), default=1)
    copies = data.draw(st.integers(1, most + 1))
    if copies > most:
        with pytest.raises(PlanError, match=r"node-disjoint paths|arcs leave|copies are too many"):
            plan(kind, where, root=root, copies=copies, builder="priced-paths")
    elif copies > 1:
        schedule = plan(kind, where, root=root, copies=copies, messages=3, builder="priced-paths")
        report = verify(schedule)
        assert report.holds, report.violations
        assert verify(schedule, method="expanded").holds
        assert report.steps >= best(schedule_bounds(schedule), "steps").value
        assert sweep(schedule, 1, "nodes").holds
        assert plan_again(schedule) == schedule


def test_a_refusal_names_the_node_with_too_few_ways():
    bow = network(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]))
    for kind in ("scatter", "gather", "alltoall"):
        with pytest.raises(PlanError, match=r"need 2 node-disjoint paths; 3 has 1 (from 0 )?.cut off by 2"):
            plan(kind, bow, survive=1)


def test_two_ways_never_share_a_bundle_of_cables():
    """Two cables from one node to another are one link: one way goes over them, the other round."""
    ring = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)])
    schedule = plan("scatter", network(ring), copies=2)
    assert verify(schedule).holds
    assert sweep(schedule, 1, "links").holds
    assert np.count_nonzero((schedule.rows.src == 0) & (schedule.rows.dst == 1)) == 2  # to node 1, and by it to node 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
@pytest.mark.parametrize("name", list(NETWORKS))
def test_every_single_dead_node_and_link_is_survived(name, kind):
    where = NETWORKS[name]
    if (name, kind) in (("kautz:2,3", "alltoall"), ("random", "alltoall")):
        pytest.skip("swept in the long tests")
    schedule = plan(kind, where, messages=8, survive=1)
    assert schedule.recipe.builder == "priced-paths"
    report = verify(schedule)
    assert report.holds, report.violations
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    bound = best(schedule_bounds(schedule), "steps").value
    assert bound <= report.steps <= 1.35 * bound + 2
    assert sweep(schedule, 1, "nodes").holds
    assert sweep(schedule, 1, "links").holds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "model", "copies", "steps"),
    [("dragonfly:4,2", "all-port,half", 1, 34), ("mesh:4x4", "one-port,half", 2, 213)],
)
def test_links_and_ports_have_prices_on_machines_that_share_them_at_length(spec, model, copies, steps):
    takes(spec, model, copies, steps)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["scatter", "gather", "alltoall"])
@pytest.mark.parametrize("spec", ["torus:4x4x4", "kautz:2,3", "random"])
def test_every_single_fault_is_survived_on_larger_networks(spec, kind):
    schedule = plan(kind, NETWORKS.get(spec) or network(spec), messages=8, survive=1)
    assert verify(schedule).holds
    assert sweep(schedule, 1, "nodes").holds
    assert sweep(schedule, 1, "links").holds
