"""Trees that grow by the loads of a machine: they are trees of all ranks, and some plans need them."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.networks.arcs import arcs_of
from treecast.plans.ways.even_trees import grown_ways


@given(
    st.integers(3, 12),
    st.integers(0, 10**6),
    st.sampled_from(["all-port", "all-port,half", "one-port", "one-port,half"]),
    st.sampled_from(["broadcast", "allgather"]),
    st.data(),
)
@examples(40)
def test_they_lead_each_chunk_from_its_source_to_all_ranks(size, seed, machine, kind, data):
    graph = nx.connected_watts_strogatz_graph(size, min(4, size - 1), 0.5, seed=seed)
    relays = data.draw(st.sets(st.integers(1, size - 1), max_size=size - 2))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    job = treecast.job(kind, treecast.network(graph), messages=data.draw(st.integers(1, 4)), model=machine)
    arcs = arcs_of(job.network)
    for collective, ways in grown_ways(job):
        assert collective.kind == kind
        chunk = ways.payloads.first[ways.payloads.start[ways.payload]]
        assert (ways.lengths == 1).all()
        for each in np.unique(chunk).tolist():
            mine = ways.arc[chunk == each]
            found = nx.DiGraph(zip(arcs.tail[mine].tolist(), arcs.head[mine].tolist(), strict=True))
            assert nx.is_arborescence(found)
            assert [v for v in found if not found.in_degree(v)] == [int(collective.source_of(each))]
            assert set(range(size)) - relays <= set(found)


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (("allgather", "mesh:4x4", 1, "all-port,half"), 10),
        (("broadcast", "fat-tree:4", 8, "one-port,half"), 30),
    ],
)
def test_some_plans_take_a_step_less_by_them(words, steps):
    kind, spec, messages, machine = words
    found = treecast.plan(kind, spec, messages=messages, model=machine, builder="list-schedule")
    assert found.steps == steps
    assert treecast.verify(found).holds
