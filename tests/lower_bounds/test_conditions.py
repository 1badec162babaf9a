"""Which bounds hold for all schedules, and which under a condition that they name."""

import networkx as nx
import pytest

from treecast import bounds, plan, sweep, verify
from treecast.description import describe
from treecast.lower_bounds import best, tightest
from treecast.networks import network


@pytest.mark.parametrize("nodes", [4, 6, 8, 10])
def test_partial_sums_that_meet_half_way_round_an_even_ring_are_not_forbidden(nodes):
    """N - 1 steps are enough for an allreduce without owners; with an owner of each sum, N are known to be needed."""
    found = bounds("allreduce", f"ring:{nodes}")
    assert best(found, "steps").value == nodes - 1
    assert (tightest(found, "steps").value, tightest(found, "steps").given) == (nodes, "if each sum has an owner")


@pytest.mark.parametrize("model", ["whispering", "shouting", "one-port,combining"])
def test_recursive_doubling_is_not_forbidden_where_messages_combine(model):
    for d in (2, 3, 4):
        assert best(bounds("allreduce", f"hypercube:{d}", model=model), "steps").value <= d


def test_a_report_says_for_which_schedules_a_plan_is_the_least():
    report = verify(plan("allreduce", "ring:4"))
    found = describe(report)
    assert found.lines["steps"][0] == "4, 1.333 x the lower bound; the least if each sum has an owner"
    assert found.figures["steps_lower_bound"] == 3
    assert {bound["given"] for bound in found.figures["bounds"]} == {"", "if each sum has an owner"}
    assert all(not bound.given for bound in verify(plan("allgather", "ring:4")).bounds)


def test_relays_may_complete_sums():
    """Two switches with two hosts each: both switches may add up what they hear, so no host need have a sum first."""
    graph = nx.Graph([("s", "t"), *((f"h{i}", "st"[i // 2]) for i in range(4))])
    nx.set_node_attributes(graph, {"s": True, "t": True}, "relay")
    assert best(bounds("allreduce", graph), "steps").value == 4 + 3 - 1


def test_bounds_of_copies_are_for_disjoint_ways():
    """An allgather in one step survives any dead nodes on a complete network, and takes less than those bounds."""
    found = bounds("allgather", "complete:5", survive=3)
    assert {bound.given for bound in found} == {"for 4 node-disjoint paths"}
    direct = plan("allgather", "complete:5")
    assert direct.steps < best(found, "steps").value
    assert sweep(direct, 3, "nodes").holds
    assert not sweep(direct, 1, "links").holds
    assert {b.given for b in bounds("broadcast", "hypercube:3", survive=1, model="shouting")} == {
        "if any 1 of the nodes and links may fail"
    }


@pytest.mark.parametrize("kind", ["reduce", "gather"])
def test_a_root_that_no_arc_leaves_is_bounded(kind):
    dag = network(nx.DiGraph([("a", "b"), ("a", "c"), ("b", "sink"), ("c", "sink"), ("b", "c")]))
    schedule = plan(kind, dag, root="sink", messages=3)
    assert verify(schedule).holds
    assert best(bounds(kind, dag, root="sink", messages=3), "steps").value <= schedule.steps
