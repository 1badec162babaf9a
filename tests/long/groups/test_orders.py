"""One outcome of each call at all that live, in whatever order messages come, and whoever dies, stops, or is cut off."""

from tests.groups.test_orders import verdicts


def test_a_hundred_thousand_orders_of_events_end_alike():
    assert verdicts(range(300, 100_300)) <= {"fine", "nobody"}
