"""Chakra's traces: carried out on real bytes they deliver in the steps of the schedule or fewer, and changes are noticed."""

import pytest

from tests.formats.test_chakra import carry_out, written
from tests.interpreters.jobs import JOBS, planned


@pytest.mark.each(5)
@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_byte_is_delivered_in_the_steps_of_the_schedule(kind, spec):
    schedule = planned(kind, spec)
    assert carry_out(schedule, written(schedule)) <= schedule.steps
