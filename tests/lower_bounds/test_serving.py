"""Over one port, whoever alone leads to several ranks serves one after the other: figures of clusters, and no plan below them."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples

SAID = "hear from one node alone"


def served(*words, **more):
    """The bound by the port of one node; None where there is none."""
    return next((bound.value for bound in treecast.bounds(*words, **more) if SAID in bound.source), None)


@pytest.mark.parametrize(
    ("kind", "machine", "steps"),
    [
        ("allgather", "one-port", 4 * 127 + 4 + 1),
        ("allgather", "one-port,half", 4 * 127 + 4 + 128),
        ("reduce-scatter", "one-port", 4 * 127 + 4 + 1),
        ("alltoall", "one-port", 4 * 127 + 4 * 124 + 1),
        ("alltoall", "one-port,half", 2 * (4 * 127 + 4 * 124)),
        ("allreduce", "one-port,half", 2 * 5 * 128),
        ("allreduce", "one-port", 5 * 128 + 1),
    ],
)
def test_switches_of_a_cluster(kind, machine, steps):
    """An edge switch of fat-tree:8 leads to four of 128 hosts."""
    assert served(kind, treecast.network("fat-tree:8").adding(), model=machine) == steps


def test_a_plan_meets_it():
    schedule = treecast.plan("alltoall", "fat-tree:8", model="one-port,half")
    assert schedule.steps == served("alltoall", "fat-tree:8", model="one-port,half") == 2008


@pytest.mark.parametrize("machine", ["all-port", "one-port,combining", "whispering"])
def test_other_machines_have_none(machine):
    assert served("allgather", "fat-tree:4", model=machine) is None


@given(
    st.integers(3, 9),
    st.integers(0, 10**6),
    st.sampled_from(["allgather", "alltoall", "allreduce", "reduce-scatter", "allgatherv"]),
    st.sampled_from(["one-port", "one-port,half", "one-port,partner"]),
    st.integers(1, 3),
    st.data(),
)
@examples(60)
def test_no_plan_takes_fewer_steps(size, seed, kind, machine, messages, data):
    graph = nx.random_labeled_tree(size, seed=seed)
    relays = data.draw(st.sets(st.integers(1, size - 1), max_size=size - 2))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    where, more = treecast.network(graph), {"messages": messages}
    if kind == "allgatherv":
        more = {"lengths": data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))}
        more["lengths"] = [0 if v in relays else count for v, count in enumerate(more["lengths"])]
    schedule = treecast.plan(kind, where, model=machine, **more)
    assert treecast.verify(schedule).holds
    assert schedule.steps >= (served(treecast.job(schedule)) or 0)
