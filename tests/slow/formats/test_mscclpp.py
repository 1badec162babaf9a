"""Plans of MSCCL++: carried out on real bytes they deliver, what does not fit is refused, and changes are noticed."""

import pytest

from tests.formats.test_mscclpp import carry_out, judge_plan
from tests.interpreters.jobs import CUT, JOBS, SPECS, planned
from treecast.errors import FormatError
from treecast.files import formats
from treecast.plans import plan
from treecast.plans.after.past_relays import past_relays

TOO_LARGE = {
    "torus:3x3": ("allreduce",),
    "star:4": ("allgather", "allreduce", "alltoall", "gather", "reduce-scatter"),
    "mesh:3x4": ("allreduce", "alltoall", "reduce-scatter"),
    "tree:2,2": ("allreduce", "alltoall", "reduce-scatter"),
}


OTHERS = {
    **dict.fromkeys(SPECS, ("scatterv", "gatherv", "allgatherv", "alltoallv", "demand")),
    CUT: ("allgatherv", "demand"),
}


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_byte_is_delivered_or_the_limit_is_named(kind, spec):
    schedule = planned(kind, spec)
    for table, words in (
        (TOO_LARGE, "do not fit into an MSCCL"),
        (OTHERS, "different lengths or chosen targets"),
    ):
        if kind in table.get(spec, ()):
            with pytest.raises(FormatError, match=words):
                formats.encode(schedule, "mscclpp")
            return
    data = formats.encode(schedule, "mscclpp")
    assert judge_plan(data)
    carry_out(past_relays(schedule), data, (1,))


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("allgather", "hypercube:3", {"messages": 2}),
        ("allreduce", "hypercube:3", {}),
        ("alltoall", "hypercube:3", {}),
        ("reduce-scatter", "torus:3x3", {}),
        ("broadcast", "star:4", {"messages": 6}),
        ("broadcast", "debruijn:2,3", {"messages": 4}),
        ("alltoall", "hypercube:3", {"model": "shouting", "messages": 2}),
    ],
)
def test_these_fit(kind, spec, more):
    schedule = plan(kind, spec, **more)
    data = formats.encode(schedule, "mscclpp")
    assert judge_plan(data)
    carry_out(schedule, data, range(6))
