"""Sets of faults, liars and chances that cannot be tried: each is refused in words, or counted as the words say."""

import pytest

import treecast
from treecast.errors import FaultError, ScheduleError

SCHEDULE = treecast.plan("broadcast", "hypercube:4", copies=3)


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"most": 14, "kind": "nodes+links"}, "sets of faults are too many to try"),
        ({"most": 40, "liars": 1}, "cannot have 40 faults and 1 liars"),
        ({"most": 1, "liars": 1, "sample": 0}, "a sample needs at least 1 set, not 0"),
        ({"most": 3, "liars": 4, "kind": "nodes+links"}, "too many to try"),
    ],
)
def test_sets_that_cannot_be_tried(asked, wrong):
    with pytest.raises(FaultError, match=wrong):
        treecast.sweep(SCHEDULE, **asked)


def test_only_nodes_have_a_chance_each():
    with pytest.raises(FaultError, match="only nodes have a probability each: give all links one"):
        treecast.reliability(SCHEDULE, link_failure={"0-1": 0.5})


def test_liars_among_sparing_nodes():
    gossip = treecast.plan("allgather", "hypercube:3", model="shouting", copies=2)
    assert gossip.sparing
    with pytest.raises(FaultError, match="nodes have nothing to elect from"):
        treecast.simulate(gossip, liars=["0b001"])


def test_lies_in_a_line():
    assert repr(treecast.simulate(SCHEDULE, liars=["0b0010"])) == "<Lies of 1 liar: 15 of 15 honest nodes right>"


def test_a_schedule_under_another_switching():
    with_routes = treecast.verify(SCHEDULE, "wormhole", method="expanded")
    assert with_routes.counts["routed"] > 0
    orbit = treecast.plan("alltoall", "hypercube:3")
    assert treecast.verify(orbit, "wormhole").counts["routed"] == 1
    assert treecast.verify(orbit, "bufferless-multiport").counts["no-buffer"] == 1
    assert not treecast.verify(orbit, "bufferless-multiport", method="expanded").holds


def test_seconds_need_bytes():
    from treecast.schedule.costs import Costs, seconds_by_events

    with pytest.raises(ScheduleError, match="does not say how many bytes its chunks have"):
        seconds_by_events(SCHEDULE, Costs.of("1us", "1GB/s"))
