"""Trees of every rank by splitting off relays: as many as the optimum has messages, no arc in more than it has steps."""

from fractions import Fraction

import pytest

from tests.lower_bounds.test_cuts import boxes
from tests.plans.ways.trees.test_split_off import NAMED
from treecast import network, plan, verify
from treecast.lower_bounds.cuts import optimum


@pytest.mark.each(3)
@pytest.mark.parametrize("name", NAMED)
def test_the_rate_is_reached_exactly(name):
    """What M messages take beyond M U steps does not grow with M."""
    where = network(NAMED[name])
    rate = optimum(where)
    late = list[Fraction]()
    for turns in (2, 8, 24):
        messages = turns * rate.numerator
        schedule = plan("allgather", where, messages=messages, builder="packed-trees")
        assert verify(schedule).holds
        late.append(schedule.steps - messages / rate)
    assert min(late) >= 0
    assert late[2] <= late[1] <= late[0] + 1 <= 16


def test_turns_take_fewer_steps_than_streams():
    where = network(boxes(2, 8, 12, 1))
    assert plan("allgather", where, messages=600).steps == 696
    assert plan("allgather", where, messages=600, builder="priced-trees").steps == 740
