"""Bounds that are the greatest over all nodes: counted for all nodes at once, they are those of the nodes one by one."""

import pytest

from tests.lower_bounds.test_looked_at import NETWORKS, ONE_WAY
from treecast.lower_bounds import best, distances, store_and_forward
from treecast.lower_bounds.job import Job
from treecast.models import model
from treecast.networks import network


@pytest.mark.parametrize("ports", ["all-port", "one-port"])
@pytest.mark.parametrize("messages", [1, 5, 600])
def test_the_node_with_the_greatest_bound_is_found(messages, ports):
    assert len(ONE_WAY) > 5
    for where in map(network, NETWORKS):
        job, nodes = Job(where, messages, 1, model(ports)), distances.looked_at(where)
        spread = [best(store_and_forward.broadcast(job, v), "steps") for v in nodes]
        assert store_and_forward._spreading_late(job) == [nodes[spread.index(best(spread, "steps"))]]
        through = [store_and_forward._through(job, v) for v in nodes]
        assert store_and_forward._through_any(job) == best(through, "steps")
