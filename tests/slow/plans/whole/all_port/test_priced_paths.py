import itertools

import networkx as nx
import pytest

from treecast.lower_bounds import best, schedule_bounds
from treecast.networks import network
from treecast.plans import plan
from treecast.verification.verifier import verify


def switched(cables):
    """Two switches with so many cables between them, three hosts at each."""
    graph = nx.MultiGraph([(f"h{i}", f"s{i % 2}") for i in range(6)] + [("s0", "s1")] * cables)
    nx.set_node_attributes(graph, {"s0": True, "s1": True}, "relay")
    return network(graph)


@pytest.mark.parametrize("cables", [1, 2, 3])
def test_switches_pass_on_and_parallel_cables_carry_more(cables):
    for kind, messages in itertools.product(("scatter", "gather", "alltoall"), (1, 2, 20)):
        schedule = plan(kind, switched(cables), messages=messages)
        report = verify(schedule)
        assert report.holds, report.violations
        assert verify(schedule, method="expanded").holds
        bound = best(schedule_bounds(schedule), "steps")
        assert report.steps >= bound.value >= messages * {"alltoall": -(-9 // cables)}.get(kind, 5)
        assert report.steps <= bound.value + 2 * messages + 2
    by_price = plan("alltoall", switched(2), messages=100, builder="priced-paths")
    assert plan("alltoall", switched(2), messages=100).steps <= by_price.steps
