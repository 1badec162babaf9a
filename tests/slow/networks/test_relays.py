"""Relays, parallel arcs and one-way graphs under every machine: each plan is accepted by the verifiers."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

import treecast
from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast.collectives import COLLECTIVES
from treecast.models import MODELS

KINDS = [name for name, kind in COLLECTIVES.items() if not (kind.lengths or kind.targets)]
MACHINES = [name for name, machine in MODELS.items() if machine.buffered and not machine.routing]


@given(multigraphs(most=8, whole=True), st.sampled_from(KINDS), st.sampled_from(MACHINES), st.data())
@examples(600)
def test_every_collective_has_a_plan_under_every_machine(
    truth: Any, kind: str, machine: str, data: st.DataObject
) -> None:
    graph, traits = treecast.network(truth), COLLECTIVES[kind]
    assume(graph.rank_count > 1)
    messages = data.draw(st.sampled_from([1, 2, 3, 7, 40] if traits.all_source else [1, 2, 3, 7, 40, 1000, 10**6]))
    root = None if traits.all_source else str(data.draw(st.sampled_from(graph.ranks.tolist())))
    schedule = treecast.plan(kind, graph, messages=messages, model=machine, root=root)
    report = treecast.verify(schedule)
    assert report, report
    assert all(getattr(report, bound.of) >= bound.value for bound in report.bounds)
    if schedule.transmissions < 1000:
        assert treecast.verify(schedule, method="expanded")
