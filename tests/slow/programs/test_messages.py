"""The list of messages against plain loops over sets: the same messages, and each needs what really brought what it carries."""

import pytest

from tests.interpreters.jobs import JOBS, planned
from tests.programs.test_messages import listed, replayed
from treecast.files.programs.messages import messages_of


@pytest.mark.parametrize(("kind", "spec"), JOBS)
def test_every_collective_on_every_network(kind, spec):
    schedule = planned(kind, spec)
    assert listed(messages_of(schedule)) == replayed(schedule)
