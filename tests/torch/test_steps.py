"""What ranks send and receive in each step of a plan, without torch: both ends say the same, in the same order."""

import pytest

import treecast
from treecast.errors import PlanError
from treecast.torch.steps import steps_of

JOBS = [
    (kind, network, more)
    for kind in ("broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "reduce-scatter", "allreduce")
    for network, more in (("ring:5", {}), ("hypercube:3", {}), ("torus:3x3", {}))
]


@pytest.mark.parametrize(("kind", "network", "more"), JOBS)
def test_both_ends_name_the_same_messages_in_the_same_order(kind, network, more):
    plan = treecast.plan(kind, network, **more)
    nodes = range(plan.network.nodes)
    steps = [[message for step in steps_of(plan, rank) for message in step] for rank in nodes]
    sent = {(a, b): [m[2:] for m in steps[a] if m.sends and m.peer == b] for a in nodes for b in nodes}
    received = {(a, b): [m[2:] for m in steps[b] if not m.sends and m.peer == a] for a in nodes for b in nodes}
    assert sent == received
    assert any(sent.values())
    for rank in nodes:  # at most one message each way a peer, two where sums and finished sums meet
        for step in steps_of(plan, rank):
            assert len({m[:3] for m in step}) == len(step)
            assert kind == "allreduce" or len({m[:2] for m in step}) == len(step)


def test_plans_that_depend_on_what_was_heard_are_refused():
    with pytest.raises(PlanError, match="leaves out chunks that were sent"):
        steps_of(treecast.plan("broadcast", "hypercube:2", model="shouting", builder="dimension-order"), 0)
