import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_flows import random_graphs
from tests.strategies import examples
from treecast.errors import PlanError
from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.networks.over_time import quickest, slowest_cuts
from treecast.plans import plan
from treecast.verification.verifier import verify


def dragonfly(routers, links):
    """Groups of routers, each with so many links to other groups, one link between any two groups."""
    groups, graph = routers * links + 1, nx.Graph()
    for group in range(groups):
        graph.add_edges_from(
            (group * routers + i, group * routers + j) for i, j in itertools.combinations(range(routers), 2)
        )
        for i in range(routers * links):
            other, j = (group + i + 1) % groups, routers * links - 1 - i
            graph.add_edge(group * routers + i // links, other * routers + j // links)
    return network(graph)


def test_of_all_cuts_none_is_slower():
    for where, root in [(network("path:5"), 1), (network("debruijn:2,3"), 0), *random_graphs(12, 8, seed=4)]:
        arcs, found = arcs_of(where), slowest_cuts(where, root)
        far = where.distance(root, np.arange(where.nodes))
        for cut in found:
            beyond = np.flatnonzero(far >= cut.distance).tolist()
            slowest = 0
            for some in itertools.chain.from_iterable(
                itertools.combinations(beyond, n + 1) for n in range(len(beyond))
            ):
                inside = np.isin(np.arange(where.nodes), some)
                slowest = max(slowest, len(some) / np.count_nonzero(inside[arcs.head] & ~inside[arcs.tail]))
            assert cut.nodes / cut.arcs == pytest.approx(slowest)
        assert max(cut.steps(1) for cut in found) <= quickest(where, root, 1).steps


@pytest.mark.each(3)
@pytest.mark.parametrize(
    ("where", "steps"),
    [
        (network("torus:4x4"), 4),
        (network("torus:4x4x4"), 11),
        (network("torus:4x8"), 8),
        (network("torus:3x5x7"), 18),
        (network("mesh:4x4"), 8),
        (network("mesh:8x8"), 32),
        (network("mesh:4x4x4"), 21),
        (network(nx.petersen_graph()), 3),
        (network(nx.random_regular_graph(4, 23, seed=1)), 6),
        (network("hypercube:6"), 11),
        (network("hypercube:8"), 32),
        (network("star:4"), 8),
        (network("star:5"), 30),
        pytest.param(network("star:6"), 144, marks=pytest.mark.long),
        pytest.param(network("torus:8x8x8"), 86, marks=pytest.mark.long),
        pytest.param(dragonfly(8, 4), 24, marks=pytest.mark.long),
        (dragonfly(4, 2), 7),
    ],
    ids=lambda what: getattr(what, "spec", None),
)
def test_steps_of_a_scatter_are_those_of_the_bound(where, steps):
    for kind in ("scatter", "gather"):
        schedule = plan(kind, where)
        report = verify(schedule)
        assert report.holds, report.violations
        assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
        assert report.steps == best(schedule_bounds(schedule), "steps").value == steps


def test_many_messages_take_hardly_more_steps_than_the_bound():
    few = [network(spec) for spec in ("torus:3x4", "mesh:3x3", "star:3", "debruijn:2,3", "ring:6")]
    for where in few:
        for messages in (7, 600):
            schedule = plan("scatter", where, messages=messages, builder="flow-over-time")
            assert verify(schedule).holds
            assert schedule.steps == best(schedule_bounds(schedule), "steps").value
            assert len(schedule.rows) <= 2 * max(9, where.ports) * where.nodes * where.diameter


@pytest.mark.parametrize("graph", [nx.barbell_graph(6, 8), nx.lollipop_graph(6, 9)], ids=["barbell", "lollipop"])
def test_a_bridge_far_from_the_root_costs_one_in_a_hundred(graph):
    for messages in (20, 600):
        schedule = plan("scatter", graph, messages=messages)
        assert verify(schedule).holds
        assert schedule.steps <= 1.01 * best(schedule_bounds(schedule), "steps").value + 2


@pytest.mark.parametrize(
    ("where", "steps", "least"),
    [
        (nx.barbell_graph(6, 8), 8475, 8401),
        pytest.param("slim-fly:13", 10650, 10643, marks=pytest.mark.long),
    ],
    ids=["bridge", "slim fly"],
)
def test_the_gaps_of_many_messages(where, steps, least):
    schedule = plan("scatter", where, messages=600)
    assert (schedule.steps, best(schedule_bounds(schedule), "steps").value) == (steps, least)


@examples(40)
@given(st.data())
def test_verified_is_claimed_is_expanded_on_random_graphs(data):
    size, seed = data.draw(st.integers(4, 9)), data.draw(st.integers(0, 10**6))
    where, root = next(iter(random_graphs(1, size, seed=seed)))
    kind, messages = data.draw(st.sampled_from(["scatter", "gather"])), data.draw(st.sampled_from([1, 2, 5, 9, 40]))
    schedule = plan(kind, where, root=root, messages=messages, builder="flow-over-time")
    report, bound = verify(schedule), best(schedule_bounds(schedule), "steps").value
    assert report.holds, report.violations
    assert verify(schedule, method="expanded").holds
    assert (report.steps, report.transmissions) == (schedule.claims.steps, schedule.claims.transmissions)
    assert report.steps >= bound
    if messages <= 8:
        assert report.steps == bound


def test_one_node_needs_no_step_and_large_networks_are_refused():
    assert plan("scatter", nx.empty_graph(1), messages=3, builder="flow-over-time").steps == 0
    with pytest.raises(PlanError, match="steps times arcs are at most"):
        plan("scatter", "mesh:200x200", builder="flow-over-time")


def in_time(where, root, chunks, steps):
    """Return the most units, at most so many for each node, that reach their nodes by some step, and their sends: networkx."""
    graph = nx.DiGraph()
    graph.add_node((root, 0))
    every = range(where.nodes)
    for t in range(steps):
        graph.add_edges_from(((v, t), (v, t + 1), {"weight": 0}) for v in every)
        for v in every:
            graph.add_edges_from(((v, t), (w, t + 1), {"capacity": 1, "weight": 1}) for w in where.neighbors(v))
    graph.add_edges_from(((v, steps), "end", {"capacity": chunks}) for v in every if v != root)
    found = nx.max_flow_min_cost(graph, (root, 0), "end")
    sends = sum(u for a, to in found.items() for b, u in to.items() if b != "end" and a[0] != b[0])
    return sum(to.get("end", 0) for to in found.values()), sends


@pytest.mark.slow
def test_the_steps_and_the_sends_are_the_fewest_there_can_be():
    for where, root in [(network("kautz:2,3"), 0), (network("mesh:3x3"), 4), *random_graphs(12, 8, seed=3)]:
        for chunks in (1, 3):
            flow, others = quickest(where, root, chunks), where.nodes - 1
            assert in_time(where, root, chunks, flow.steps) == (chunks * others, len(flow.unit))
            assert in_time(where, root, chunks, flow.steps - 1)[0] < chunks * others
            assert sorted(flow.end) == sorted(list(np.delete(np.arange(where.nodes), root)) * chunks)
