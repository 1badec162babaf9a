"""One outcome of each call at all that live, in whatever order messages come, and whoever dies, stops, or is cut off."""

import pytest

from tests.groups.scheduler import NAMES
from tests.groups.test_orders import ORDERS, verdicts


@ORDERS
def test_any_order_of_events_ends_alike(orders):
    assert verdicts(range(orders)) <= {"fine", "nobody"}


@pytest.mark.parametrize("name", NAMES)
def test_each_collective_ends_alike(name):
    assert verdicts(range(40), names=(name,), calls=3) <= {"fine", "nobody"}


def test_the_others_go_on_when_fewer_than_half_die_or_stop():
    assert verdicts(range(150), sizes=(3, 4, 5, 6), fates=("kill", "stop"), few=True) == {"fine"}
