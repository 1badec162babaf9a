"""Sums without owners on random graphs, past relays and over one-way arcs: all judges agree, and owners make no plan shorter."""

import networkx as nx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples
from treecast.models import MODELS
from treecast.running.execution.local import run

MACHINES = [name for name, model in MODELS.items() if model.buffered and not model.routing]
MACHINES += [f"{name},half" for name in MACHINES if "half" not in name]


@given(
    st.integers(2, 8),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from(MACHINES),
    st.sampled_from([1, 2, 5, 40]),
    st.data(),
)
@examples(60)
def test_on_any_network(size, seed, one_way, machine, messages, data):
    graph = nx.gnp_random_graph(size, 0.5, seed=seed, directed=one_way)
    assume((nx.is_strongly_connected if one_way else nx.is_connected)(graph))
    relays = data.draw(st.sets(st.integers(1, size - 1), max_size=size - 2))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    where = treecast.network(graph)
    try:
        owned = treecast.plan("allreduce", where, messages=messages, model=machine)
    except treecast.PlanError:
        return
    shared = treecast.plan("allreduce", where, messages=messages, model=machine, without_owners=True)
    assert shared.steps <= owned.steps
    assert all(treecast.verify(shared, method=method).holds for method in ("fast", "expanded"))
    assert treecast.simulate(shared).holds
    assert len(run(shared, np.random.default_rng(seed).bytes(700)).intact) == where.rank_count
