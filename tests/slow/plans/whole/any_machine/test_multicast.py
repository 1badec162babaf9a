import pytest

from tests.plans.ways.test_ways import MACHINES, SMALL
from tests.plans.whole.any_machine.test_multicast import has_a_plan, repaired_for_the_living


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", SMALL)
def test_a_multicast_has_a_plan_on_every_machine(spec, machine):
    has_a_plan(spec, machine)


@pytest.mark.parametrize("spec", ["star:4", "torus:3x3"])
def test_a_repaired_multicast_is_for_the_targets_that_live(spec):
    repaired_for_the_living(spec)
