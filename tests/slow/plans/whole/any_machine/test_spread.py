"""Allgather, reduce-scatter and allreduce on any network, chunk by chunk, and the bounds beside them."""

from hypothesis import given
from hypothesis import strategies as st

from tests.plans.whole.any_machine.test_spread import KINDS, graphs, least
from tests.strategies import examples
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify


@given(graphs(), st.integers(1, 7))
@examples(30)
def test_every_collective_on_random_graphs(graph, messages):
    where = network(graph)
    for kind in KINDS:
        schedule = plan(kind, where, messages=messages)
        for report in (verify(schedule), verify(schedule, method="expanded")):
            assert report.holds, (kind, report.violations)
        assert schedule.steps >= least(kind, where, messages)
        assert schedule.collective.sums == 0 or not schedule.orbit
    # in most cases it is the bound; never far from it
    assert plan("allgather", where, messages=messages).steps <= least("allgather", where, messages) + 1
