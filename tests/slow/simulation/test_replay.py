import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.test_replay import check, draw_faults, of_any_collective
from tests.strategies import examples
from treecast.plans import plan
from treecast.simulation.faults import Faults
from treecast.simulation.replay import simulate

pytestmark = pytest.mark.each(2)


@examples(120)
@given(of_any_collective(), st.data())
def test_every_collective_under_faults_against_plain_loops(schedule, data):
    check(schedule, draw_faults(data, schedule, root_too=schedule.collective.all_source))


@pytest.mark.parametrize("step", range(14))
def test_a_node_that_dies_in_mid_run(step):
    schedule = plan("broadcast", "star:4", messages=7, copies=2)
    for node in range(1, 24):
        check(schedule, Faults({node: step}))
        assert not simulate(schedule, Faults({node: step})).lost
