"""Blocks of different lengths on networks that are not strongly connected: planned wherever data has a way, refused elsewhere."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.strategies import examples

pytestmark = pytest.mark.slow


@given(
    st.integers(2, 7),
    st.integers(0, 10**6),
    st.sampled_from(["scatterv", "gatherv", "alltoallv"]),
    st.sampled_from(["all-port", "all-port,half", "one-port", "one-port,half", "whispering", "shouting"]),
    st.data(),
)
@examples(100)
def test_planned_wherever_data_has_a_way(size, seed, kind, machine, data):
    graph = nx.gnp_random_graph(size, 0.4, seed=seed, directed=True)
    where, root = treecast.network(graph), data.draw(st.integers(0, size - 1))
    reached = {u: {u, *nx.descendants(graph, u)} for u in graph}
    draw = np.random.default_rng(seed)
    if kind == "alltoallv":
        lengths = draw.integers(0, 4, (size, size))
        can = np.array([[v in reached[u] for v in graph] for u in graph])
        more = {}
    else:
        lengths = draw.integers(0, 4, size)
        can = np.array([(v in reached[root]) if kind == "scatterv" else (root in reached[v]) for v in graph])
        more = {"root": root}
    schedule = treecast.plan(kind, where, lengths=(lengths * can).tolist(), model=machine, **more)
    for method in ("fast", "expanded"):
        report = treecast.verify(schedule, method=method)
        assert report.holds, report
    if not can.all():
        with pytest.raises(treecast.PlanError, match="no way leads from"):
            treecast.plan(kind, where, lengths=np.where(can, lengths, 1).tolist(), model=machine, **more)
