import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_flows import random_graphs
from tests.networks.test_parting import switched as tree_like
from tests.plans.whole.all_port.test_through_one_node import hosts_of
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.plans import plan, plan_again
from treecast.verification.verifier import verify


@pytest.mark.each(2)
@pytest.mark.parametrize(
    ("where", "steps", "least"),
    [
        (network(nx.petersen_graph()), 5, 5),
        (network("mesh:4x4"), 16, 16),
        (network("torus:4x4"), 8, 8),
        (network("torus:4x8"), 33, 32),
        (network("star:4"), 21, 21),
        pytest.param(network(nx.random_regular_graph(4, 23, seed=1)), 23, 21, marks=pytest.mark.long),
        pytest.param(network("torus:4x4x4"), 33, 32, marks=pytest.mark.long),
        pytest.param(network("torus:3x5x7"), 90, 90, marks=pytest.mark.long),
        pytest.param(network("mesh:8x8"), 128, 128, marks=pytest.mark.long),
        pytest.param(network("mesh:4x4x4"), 64, 64, marks=pytest.mark.long),
    ],
    ids=lambda what: getattr(what, "spec", None),
)
def test_steps_are_nearly_those_of_the_bound(where, steps, least):
    schedule = plan("alltoall", where, builder="priced-paths")
    report = verify(schedule)
    assert report.holds, report.violations
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    assert (report.steps, best(schedule_bounds(schedule), "steps").value) == (steps, least)
    assert report.transmissions == best(schedule_bounds(schedule), "transmissions").value


@examples(30)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from([1, 2, 5, 30]))
def test_verified_is_claimed_is_expanded_on_random_graphs(size, seed, messages):
    where, _ = next(iter(random_graphs(1, size, seed=seed)))
    schedule = plan("alltoall", where, messages=messages, builder="priced-paths")
    assert plan("alltoall", where, messages=messages).steps <= schedule.steps
    report = verify(schedule)
    assert report.holds, report.violations
    assert verify(schedule, method="expanded").holds
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    assert report.steps >= best(schedule_bounds(schedule), "steps").value
    assert report.transmissions == best(schedule_bounds(schedule), "transmissions").value


def test_the_default_on_cayley_networks_is_an_orbit_unless_that_takes_more_steps():
    assert plan("alltoall", "torus:4x4x4").recipe.builder == "orbits"
    assert plan("alltoall", "ring:6").steps <= plan("alltoall", "ring:6", builder="orbits").steps


def test_a_recipe_makes_the_same_rows_and_one_node_none():
    schedule = plan("alltoall", "mesh:3x3", messages=3)
    assert schedule.recipe.builder == "priced-paths"
    assert plan_again(schedule) == schedule
    assert plan("alltoall", nx.empty_graph(1), builder="priced-paths").steps == 0
    with pytest.raises(PlanError, match="finds a way for each pair of nodes"):
        plan("alltoall", "mesh:100x100", builder="priced-paths")


@pytest.mark.parametrize(
    ("leaves", "steps"),
    [((8,) * 6, 8 * 40 + 3), ((13, 12), 13 * 12 + 2), ((18,) * 8 + (4,), 18 * 130 + 3)],
)
def test_hosts_on_a_tree_of_switches_take_turns(leaves, steps):
    """The busiest cable is never idle from the first chunk that can cross it to the last: the least that there can be."""
    spine = () if len(leaves) == 2 else (0,)
    above = [(0, 1)] if len(leaves) == 2 else [(s, len(leaves)) for s in range(len(leaves))]
    schedule = plan("alltoall", hosts_of(*leaves, *spine, above=above))
    assert schedule.steps == best(schedule_bounds(schedule), "steps").value == steps
    assert verify(schedule).holds


@given(tree_like(), st.integers(1, 3))
@examples(60)
def test_no_plan_past_relays_that_part_a_network_beats_the_bound(graph, messages):
    schedule = plan("alltoall", graph, messages=messages)
    assert schedule.steps >= best(schedule_bounds(schedule), "steps").value


@pytest.mark.parametrize(
    ("where", "machine", "steps"),
    [
        ("torus:3x4", "one-port,combining", 5),
        ("torus:3x4", "whispering", 6),
        ("mesh:4x4", "one-port,combining,half", 8),
        ("hypercube:4", "one-port,combining,half", 8),
    ],
)
def test_where_messages_combine_ways_over_the_ports_in_one_order_go_together(where, machine, steps):
    schedule = plan("alltoall", where, model=machine, builder="priced-paths")
    assert schedule.steps == steps
    assert verify(schedule)
    assert plan("alltoall", where, model=machine).steps <= steps


def switched(cables):
    """Two switches with so many cables between them, three hosts at each."""
    graph = nx.MultiGraph([(f"h{i}", f"s{i % 2}") for i in range(6)] + [("s0", "s1")] * cables)
    nx.set_node_attributes(graph, {"s0": True, "s1": True}, "relay")
    return network(graph)


@pytest.mark.slow
@pytest.mark.parametrize("cables", [1, 2, 3])
def test_switches_pass_on_and_parallel_cables_carry_more(cables):
    for kind, messages in itertools.product(("scatter", "gather", "alltoall"), (1, 2, 20)):
        schedule = plan(kind, switched(cables), messages=messages)
        report = verify(schedule)
        assert report.holds, report.violations
        assert verify(schedule, method="expanded").holds
        bound = best(schedule_bounds(schedule), "steps")
        assert report.steps >= bound.value >= messages * {"alltoall": -(-9 // cables)}.get(kind, 5)
        assert report.steps <= bound.value + 2 * messages + 2
    by_price = plan("alltoall", switched(2), messages=100, builder="priced-paths")
    assert plan("alltoall", switched(2), messages=100).steps <= by_price.steps
