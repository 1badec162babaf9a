"""How likely a loss is: against every set replayed one by one, and whatever spreads the work."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.test_survival import star
from treecast.plans import plan
from treecast.simulation.survival import reliability


@pytest.mark.parametrize(
    ("copies", "likely", "sets", "runs"),
    [(2, 0.05, 2560, 100), pytest.param(3, 0.02, 40_000, 600, marks=pytest.mark.long)],
)
def test_intervals_hold_the_truth(copies, likely, sets, runs):
    """In at least 95 of 100 runs; and they are not so wide that they would hold anything."""
    schedule = star(copies)
    truth, held, served = reliability(schedule, likely), 0, 0
    for seed in range(runs):
        found = reliability(schedule, likely, sets=sets, seed=seed)
        assert not found.exact
        assert found.loss.high - found.loss.low < 0.12 * truth.loss.estimate
        held += found.loss.low <= truth.loss.low <= truth.loss.high <= found.loss.high
        served += found.unserved.low <= truth.unserved.estimate <= found.unserved.high
    assert held >= 0.95 * runs
    assert served >= 0.95 * runs


def without_time(found):
    return [found.harms, found.pool, found.loss, found.unserved, found.tail]


@pytest.mark.parametrize(
    "workers", [2, pytest.param(1, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]
)
def test_the_result_is_the_same_for_any_number_of_workers(workers):
    schedule = plan("broadcast", "star:4", copies=2)
    alone = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3)
    assert not alone.exact
    assert without_time(reliability(schedule, 0.05, 0.01, sets=20_000, seed=4)) != without_time(alone)
    threads, processes = ThreadPoolExecutor(3), ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    for executor in (threads, processes):
        with executor:
            found = reliability(schedule, 0.05, 0.01, sets=20_000, seed=3, executor=executor)
        assert without_time(found) == without_time(alone)
