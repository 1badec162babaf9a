"""A plan on a graph holds the graph: what is judged is what it was planned on, whatever becomes of the file."""

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from treecast.errors import PlanError
from treecast.files import formats
from treecast.networks.past_relays import whole_of


@given(multigraphs(most=12), st.sampled_from(["broadcast", "scatter", "gather", "reduce"]))
def test_what_is_read_is_what_was_saved(truth: Any, kind: str) -> None:
    graph = treecast.network(truth)
    try:
        schedule = treecast.plan(kind, graph, messages=2)
    except PlanError:  # no way leads there
        return
    for form in ("text", "binary"):
        again = formats.decode(formats.encode(schedule, form))
        assert again == schedule
        assert whole_of(again.network) == graph
        assert whole_of(again.network).labels(range(graph.nodes)) == graph.labels(range(graph.nodes))
        assert formats.encode(again, form) == formats.encode(schedule, form)
        assert treecast.verify(again)  # a file of a judged plan carries the proof of its bound, too
    assert pickle.loads(pickle.dumps(schedule)) == schedule
