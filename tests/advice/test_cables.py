"""Machines without a switch: all graphs, and which is the best."""

import pytest

import treecast
from treecast.advice.cables import switchless
from treecast.advice.saturated import saturated
from treecast.errors import PlanError
from treecast.plans.fastest import Amount
from treecast.schedule.costs import Costs

COSTS = Costs.of("1us", "5GB/s")


def test_regular_ones_are_as_many_as_is_known():
    """Cubic connected graphs without loops: A000421 with parallel cables, A002851 without."""
    regular = {
        parallel: [
            sum(all(sum(row) == 3 for row in table) for table in saturated(nodes, 3, parallel)) for nodes in (4, 6, 8)
        ]
        for parallel in (True, False)
    }
    assert regular == {True: [2, 6, 20], False: [1, 2, 5]}
    with pytest.raises(OverflowError, match="more than 100 graphs"):
        saturated(8, 3, most=100)


def test_a_ring_is_best_for_two_ports():
    found = switchless("allgather", 5, 2, Amount(1 << 20), COSTS)
    assert (found.looked_at, found.proved, len(found.wirings[0].cables)) == (1, True, 5)
    assert (found.wirings[0].dead_nodes, found.wirings[0].dead_cables) == (1, 1)


def test_the_best_is_what_its_plan_takes_and_no_other_is_better():
    found = switchless("broadcast", 4, 3, Amount(1 << 22), COSTS)
    best = found.wirings[0]
    assert all(each.option.seconds >= best.option.seconds for each in found.wirings)
    schedule = treecast.plan("broadcast", best.where, builder=best.option.builder, messages=best.option.sizes.messages)
    assert treecast.verify(schedule)
    assert schedule.steps == best.option.steps
    used = [end for cable in best.cables for end in (cable[:2], cable[2:])]
    assert len(set(used)) == len(used)  # no port has two cables
    assert {port for _, port in used} <= {1, 2, 3}


def test_more_than_ten_machines_are_searched_for():
    found = switchless("broadcast", 11, 2, Amount(1 << 16), COSTS)
    assert (found.every, found.proved) == ("", False)


def test_sizes_that_are_none_are_refused():
    for nodes, ports in ((1, 2), (65, 2), (4, 0)):
        with pytest.raises(PlanError, match="write 2 to 64 nodes of 1 to 16 ports"):
            switchless("broadcast", nodes, ports, Amount(1 << 16), COSTS)
