import pytest

from tests.plans.ways.test_ways import MACHINES, SMALL
from tests.plans.whole.any_machine.test_multicast import has_a_plan


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", SMALL)
def test_a_multicast_has_a_plan_on_every_machine(spec, machine):
    has_a_plan(spec, machine)
