"""Plans on graphs that are a known network under other names: as good as on the network itself, and right on the graph."""

import pytest

from tests.networks.test_recognition import graph, shuffled
from treecast.collectives import COLLECTIVES
from treecast.errors import PlanError
from treecast.networks.recognition import recognise
from treecast.plans import plan, plan_again
from treecast.verification.verifier import verify

KINDS = [name for name, kind in COLLECTIVES.items() if not kind.lengths and not kind.targets]


SPECS = ["hypercube:3", "torus:3x4", "star:4", "ring:5", "complete:5", "hyperx:3x4", "circulant:13,1,5", "mesh:3x3"]


@pytest.mark.each(11)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", KINDS)
def test_they_take_as_many_steps_and_are_right(spec, kind):
    where = shuffled(graph(spec), 4)
    known = recognise(where).known
    root = {} if COLLECTIVES[kind].all_source else {"root": where.label(2)}
    for messages, copies in ((1, 1), (3, 1), (3, 2)):
        try:
            best = plan(kind, known, messages=messages, copies=copies)
        except PlanError:
            continue
        found = plan(kind, where, messages=messages, copies=copies, **root)
        assert found.network is where
        assert not found.orbit
        assert found.collective.root == (where.node(root["root"]) if root else 0)
        assert found.copies == best.copies
        assert found.steps <= best.steps
        if found.steps == best.steps:  # an exchange goes by the numbers of nodes, and may be luckier under other names
            if best.builder != "disjoint-paths":  # whose ways depend on the root
                assert found.transmissions == best.transmissions
            assert found.recipe == best.recipe
        assert verify(found).holds
        if messages == 3 and where.nodes < 13:
            assert verify(found, method="expanded").holds
            assert plan_again(found) == found


def test_messages_that_combine():
    where = shuffled(graph("hypercube:4"), 9)
    for model, kinds in (("whispering", ("broadcast", "allgather", "allreduce")), ("shouting", KINDS)):
        for kind in kinds:
            assert verify(plan(kind, where, model=model, messages=2)).holds
    copied = plan("allgather", where, model="whispering", copies=2)
    assert not copied.sparing  # calling paths, which prove the copies of sparing schedules, go by a hypercube's labels
    assert verify(copied).holds
