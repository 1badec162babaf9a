"""Plans for bytes: the number of chunks and the builder that take the least time, held against all that there are."""

from functools import cache

import pytest

import treecast
from treecast.models import Cost
from treecast.plans.request import request
from treecast.schedule.costs import Costs, seconds_by_events, seconds_by_steps
from treecast.schedule.sizes import cut

COSTS = [(latency, rate) for latency in (0, 2e-7, 1e-6, 2e-5, 1e-3) for rate in (1e6, 125e6, 12.5e9, 1e12)]


@cache
def steps_of_all(network: str, survive: int, most: int, model: str = "all-port") -> list[int]:
    """Return the fewest steps of all builders with a closed form, for every number of chunks up to ``most``."""
    found = []
    for messages in range(1, most + 1):
        job, entries = request("broadcast", network, messages=messages, survive=survive, model=model)
        found.append(min(entry.claims(job).steps for entry in entries if entry.claims and not entry.baseline))
    return found


@pytest.mark.each(7)
@pytest.mark.parametrize(("latency", "rate"), COSTS)
@pytest.mark.parametrize(("network", "survive"), [("hypercube:4", 0), ("star:4", 2), ("ring:9", 0), ("complete:8", 1)])
def test_the_number_of_chunks_is_the_best_of_all(network: str, survive: int, latency: float, rate: float) -> None:
    block = 400
    schedule = treecast.plan("broadcast", network, bytes=block, latency=latency, rate=rate, survive=survive)
    cost = Cost(latency, 1 / rate)
    taken = seconds_by_steps(schedule, Costs(cost))
    counted = enumerate(steps_of_all(network, survive, block), 1)
    least = min(steps * cost.step_time(cut(block, messages).chunk) for messages, steps in counted)
    assert taken <= least * (1 + 1e-12)
    assert treecast.verify(schedule)


@pytest.mark.parametrize(
    "nodes", [3, 64, *(pytest.param(nodes, marks=pytest.mark.long) for nodes in range(2, 64) if nodes != 3)]
)
def test_over_one_port_the_number_of_chunks_is_the_best_of_all(nodes: int) -> None:
    block, network = 240, f"complete:{nodes}"
    for survive in (0, 1) if nodes > 2 else (0,):
        for latency, rate in COSTS:
            what = {"latency": latency, "rate": rate, "survive": survive, "model": "one-port"}
            schedule = treecast.plan("broadcast", network, bytes=block, **what)
            cost = Cost(latency, 1 / rate)
            taken = seconds_by_steps(schedule, Costs(cost))
            counted = enumerate(steps_of_all(network, survive, block, "one-port"), 1)
            least = min(steps * cost.step_time(cut(block, messages).chunk) for messages, steps in counted)
            assert taken <= least * (1 + 1e-12)
            assert seconds_by_events(schedule, Costs(cost)) <= taken * (1 + 1e-12)
