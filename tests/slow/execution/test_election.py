import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.test_replay import COPYING, draw_faults, of_any_collective
from tests.strategies import examples
from treecast.running.execution.election import elect
from treecast.simulation.lies import verdicts

pytestmark = pytest.mark.each(3)


@examples(60)
@given(of_any_collective(COPYING), st.data())
def test_verdicts_without_bytes_are_those_of_elections(schedule, draws):
    cases = [
        (draw_faults(draws, schedule, root_too=schedule.collective.all_source), draw_faults(draws, schedule))
        for _ in range(3)
    ]
    data = bytes(schedule.collective.chunks)  # a byte for each chunk
    for case, verdict in zip(cases, verdicts(schedule, cases), strict=True):
        done = elect(schedule, data, *case)
        assert verdict == (done.fooled, done.undecided)
