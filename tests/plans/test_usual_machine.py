"""The machine of a plan for which none is asked, and the error where no builder is for a network at all."""

import pytest

from treecast import PlanError, plan
from treecast.networks import past_relays

SUM = [([0, "+", 1, "+", 3], [2, 3])]


@pytest.mark.parametrize("where", ["path:4", "hypercube:3", "leaf-spine:2,2,2"])
def test_demands_and_multicasts_go_with_buffers_unless_somebody_asks(where: str) -> None:
    assert plan([([0], [1, 3])], where).model.name == "all-port"
    assert plan(SUM, where).model.name == "all-port"
    if where != "path:4":
        assert plan("multicast", where, targets=[1, 3]).model.name == "all-port"
    assert plan("scatterv", where, lengths=2).model.name == "bufferless"


def test_a_builder_for_nodes_without_buffers_brings_its_machine() -> None:
    assert plan("multicast", "hypercube:3", targets=[3, 5], builder="without-waiting").model.name == "bufferless"


@pytest.mark.parametrize("machine", [None, "one-port"])
def test_an_error_says_what_no_builder_plans_past_many_relays(
    monkeypatch: pytest.MonkeyPatch, machine: str | None
) -> None:
    monkeypatch.setattr(past_relays, "_FEW_PAIRS", 1)
    with pytest.raises(PlanError, match=r"there is no plan of demand on .* past relays: [a-z-]+ is for fewer ranks"):
        plan(SUM, "leaf-spine:2,2,5", model=machine)
