"""The machine of a plan for which none is asked, and demands past many relays."""

import pytest

from treecast import plan
from treecast.networks import past_relays
from treecast.verification.verifier import verify

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


@pytest.mark.parametrize("machine", [None, "one-port", "one-port,half", "shouting"])
def test_demands_are_planned_past_many_relays(monkeypatch: pytest.MonkeyPatch, machine: str | None) -> None:
    monkeypatch.setattr(past_relays, "_FEW_PAIRS", 1)
    schedule = plan(SUM, "leaf-spine:2,2,5", model=machine)
    assert len(schedule.network.walk) == 10
    for method in ("fast", "expanded"):
        assert verify(schedule, method=method).holds
