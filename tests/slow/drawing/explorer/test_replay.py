"""The page's replay against ``simulate``: arrival by arrival, under random faults and liars, run by node."""

from tests.drawing.explorer.cases import SORTS
from tests.drawing.explorer.test_replay import TRIALS, compare


def test_a_page_replays_as_the_simulator_does():
    compare(SORTS, range(TRIALS))
