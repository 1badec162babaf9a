"""Alltoall by exchange along dimensions: the fewest steps and sends there can be, and all links alike."""

import pytest

from treecast.api import bounds
from treecast.errors import PlanError
from treecast.plans import plan
from treecast.verification.verifier import verify


@pytest.mark.parametrize("d", range(7))
@pytest.mark.parametrize("messages", [1, 2, 6, 7])
@pytest.mark.parametrize("model", ["whispering", "shouting"])
def test_it_meets_both_bounds(d, messages, model):
    schedule = plan("alltoall", f"hypercube:{d}", messages=messages, model=model, builder="recursive-doubling")
    assert verify(schedule).holds
    assert (schedule.steps, schedule.transmissions) == (d, messages * d * 4**d // 2)
    if d < 4:
        assert verify(schedule, method="expanded").holds


@pytest.mark.parametrize("d", [2, 3, 4])
def test_shouting_uses_every_link_alike_where_the_messages_can_be_divided(d):
    schedule = plan("alltoall", f"hypercube:{d}", messages=2 * d, model="shouting")
    assert schedule.builder == "recursive-doubling"
    assert schedule.message_sizes.tolist() == [2 ** (d - 1) * 2] * d
    alone = plan("alltoall", f"hypercube:{d}", messages=2 * d, model="whispering")
    assert alone.message_sizes.tolist() == [2 ** (d - 1) * 2 * d] * d


def test_it_has_one_copy_and_not_too_many_nodes():
    for spec, more, why in (
        ("hypercube:3", {"copies": 2}, "sends one copy"),
        ("hypercube:15", {}, "there is no builder 'recursive-doubling' of alltoall on hypercube:15"),
    ):
        with pytest.raises(PlanError, match=why):
            plan("alltoall", spec, model="whispering", builder="recursive-doubling", **more)


def test_the_bound_says_the_same():
    schedule = plan("alltoall", "hypercube:5", messages=3, model="shouting")
    least = {bound.of: bound.value for bound in bounds("alltoall", "hypercube:5", messages=3, model="shouting")}
    assert (least["steps"], least["transmissions"]) == (schedule.steps, schedule.transmissions)
