"""Who brings a node as much serves for who brings it less: no collective takes more steps than one that does its work."""

from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast import network, plan, verify
from treecast.errors import PlanError
from treecast.models import model
from treecast.networks import Network
from treecast.schedule import Schedule

EQUAL = ("scatter", "gather", "allgather", "alltoall")
SERVES = {
    "alltoall": "allgather",
    "alltoallv": "alltoall",
    "scatter": "broadcast",
    "scatterv": "scatter",
    "gatherv": "gather",
    "allgatherv": "allgather",
}
COMBINING = ("whispering", "one-port,combining", "one-port,combining,half", "shouting", "shouting,half")
PLAIN = ("all-port", "all-port,half", "one-port", "one-port,half", "one-port,partner", "one-port,ports=2")


def planned(kind: str, where: Network, machine: str, messages: int = 2) -> Schedule:
    words: dict[str, Any] = {"lengths": messages} if kind.endswith("v") else {"messages": messages}
    return plan(kind, where, model=machine, **words)


def check(where: Network, machine: str) -> None:
    """Plan all collectives of a pair, and compare them."""
    laws = SERVES if model(machine).combining else {f"{kind}v": kind for kind in EQUAL}
    steps = {kind: planned(kind, where, machine).steps for kind in {*laws, *laws.values()}}
    for less, more in laws.items():
        assert steps[less] <= steps[more], (less, more, steps)


def judged(schedule: Schedule) -> int:
    """Return the steps of a schedule that both verifiers accept."""
    assert verify(schedule).holds
    assert verify(schedule, method="expanded").holds
    return schedule.steps


@pytest.mark.slow
@pytest.mark.each(4)
@pytest.mark.parametrize("machine", [*COMBINING, *PLAIN])
@pytest.mark.parametrize("spec", ["ring:6", "complete:5", "tree:2,2", "debruijn:2,2"])
def test_no_collective_takes_more_steps_than_one_that_does_its_work(spec: str, machine: str) -> None:
    check(network(spec), machine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "spec", "machine", "steps"),
    [
        ("alltoall", "complete:16", "whispering", 4),
        ("alltoall", "torus:4x4", "whispering", 4),
        ("alltoall", "hyperx:4x4", "whispering", 4),
        ("alltoallv", "hypercube:4", "whispering", 4),
        ("scatterv", "complete:8", "whispering", 3),
        ("gatherv", "complete:8", "one-port,combining", 3),
        ("reduce-scatter", "hypercube:5", "whispering", 5),
        ("allgather", "complete:16", "one-port,combining,half", 7),
        ("alltoall", "complete:10", "one-port,combining,half", 6),
    ],
)
def test_where_messages_combine_nodes_know_twice_as_much_or_by_fibonacci(kind, spec, machine, steps):
    assert judged(planned(kind, network(spec), machine)) == steps


@given(
    graph=multigraphs(),
    kind=st.sampled_from(["scatter", "alltoall", "scatterv", "gatherv", "allgatherv", "alltoallv"]),
    machine=st.sampled_from([*COMBINING, *PLAIN]),
    copies=st.integers(1, 2),
    against=st.sampled_from(["nodes", "links", "arcs"]),
)
@examples(60)
def test_plans_that_follow_others_hold_on_any_graph(graph, kind, machine, copies, against):
    words: dict[str, Any] = {"lengths": 3} if kind.endswith("v") else {"messages": 3}
    try:
        made = plan(kind, network(graph), model=machine, copies=copies, against=against, builder="serving", **words)
    except PlanError:
        return
    judged(made)


@pytest.mark.parametrize("nodes", [*range(2, 12), 31, 32, 33])
def test_even_and_odd_nodes_tell_each_other_all(nodes):
    made = plan(
        "allgather", f"complete:{nodes}", messages=2, model="one-port,combining,half", builder="recursive-doubling"
    )
    judged(made)
    assert made.transmissions == 2 * nodes * (nodes - 1)


@pytest.mark.parametrize(("nodes", "messages", "most"), [(3, 999, 1338), (4, 1000, 1507), (5, 1000, 1613)])
def test_many_sums_over_one_port_go_up_and_down_at_once(nodes, messages, most):
    assert judged(plan("reduce-broadcast", f"complete:{nodes}", messages=messages, model="one-port")) <= most


@pytest.mark.parametrize("machine", [*COMBINING, *PLAIN])
def test_nodes_that_only_send_need_no_plan_that_reaches_them(machine):
    """Relays are capital letters, and no arc leads to h and i. A gatherv is possible, an allgather is not."""
    graph = nx.Graph(["aF", "bD", "Ae", "AD", "Ag", "cC", "BE", "Bf", "Cd", "CF", "DE", "EF"]).to_directed()
    graph.add_edges_from(["hE", "iC", "iD"])
    nx.set_node_attributes(graph, {v: v.isupper() for v in graph}, "relay")
    lengths = {"a": 2, "b": 1, "c": 3, "d": 3, "e": 2, "f": 3, "g": 0, "h": 0, "i": 0}
    judged(plan("gatherv", network(graph), model=machine, root="g", lengths=lengths))


@pytest.mark.parametrize("machine", COMBINING)
@pytest.mark.parametrize("builder", [None, "serving"])
def test_a_known_network_with_nodes_renamed_is_carried_over_once(builder, machine):
    """Of a path, whose nodes come in another order, with blocks of any length."""
    graph = nx.Graph(["ab"])
    graph.add_edges_from(["bd", "dc"])
    lengths = [[0, 0, 2, 1], [2, 0, 1, 2], [2, 0, 0, 2], [0, 1, 1, 0]]
    judged(plan("alltoallv", network(graph), model=machine, lengths=lengths, builder=builder))


@pytest.mark.parametrize("kind", ["alltoall", "allgather"])
def test_a_hypercube_within_is_planned_by_name(kind):
    assert judged(plan(kind, "complete:8", model="whispering", builder="serving")) == 3
