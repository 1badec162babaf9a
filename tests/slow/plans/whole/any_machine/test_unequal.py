import pytest

from tests.plans.ways.test_ways import MACHINES, SMALL
from tests.plans.whole.any_machine.test_unequal import has_a_plan, survives_every_death


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", SMALL)
@pytest.mark.parametrize("kind", ["scatterv", "gatherv"])
def test_messages_of_any_length_have_a_plan_on_every_machine(kind, spec, machine):
    has_a_plan(kind, spec, machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("spec", "copies"), [("ring:5", 2), ("torus:3x3", 3), ("hypercube:3", 3), ("star:4", 2)])
def test_copies_of_messages_of_any_length_survive_every_death(spec, copies, machine):
    survives_every_death(spec, copies, machine)
