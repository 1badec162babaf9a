"""Nodes that know only their neighbours say together the sends of the schedule."""

from dataclasses import replace

import pytest
from hypothesis import given

from tests.strategies import examples
from tests.tree_cases import SHAPES, TOLD, cases, changed, network_of, on_path, schedules, with_rows
from treecast import plan, verify
from treecast.errors import ScheduleError
from treecast.papers.protocols import agrees, differences, run_protocol

pytestmark = pytest.mark.each(2)


@examples(60)
@given(cases())
def test_nodes_say_what_the_schedule_has(case):
    for schedule in schedules(case, TOLD):
        assert agrees(schedule)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("length", [0, 1, 5])
def test_shapes(shape, length):
    parents = SHAPES[shape]
    for root in {0, len(parents), len(parents) // 2}:
        for schedule in schedules((parents, root, [length] * (len(parents) + 1)), TOLD):
            said = run_protocol(schedule)
            assert not any(differences(schedule, said))
            assert (said.steps, said.flits + said.control) == (schedule.steps, schedule.transmissions)


def test_nor_do_nodes_say_any_other_schedule_that_is_right():
    """Rules leave freedom, in when to certify for instance; a protocol has none."""
    for schedule in (
        plan("gatherv", network_of([0, 0, 1, 1]), lengths=[0, 1, 0, 2, 2], model="bufferless", collect="walk"),
        plan("gatherv", network_of([0, 0, 1, 1]), lengths=[0, 0, 1, 2, 2], model="bufferless-multiport"),
        on_path([2, 0, 3]),
    ):
        others = 0
        for _, rows in changed(schedule):
            try:
                other = with_rows(replace(schedule, claims=None), rows)
            except ScheduleError:
                continue
            if other.rows != schedule.rows and verify(other):
                assert not agrees(other)
                others += 1
        assert others
