"""Bounds by parts: certificates counted by networkx, all partitions of small networks, and real plans."""

import networkx as nx
import pytest

from tests.lower_bounds.test_parts import by_parts
from treecast import bounds, network, plan, verify


def packages():
    """Eight chips in four packages, four cables within each, ten between them."""
    graph = nx.Graph((2 * p, 2 * p + 1, {"capacity": 4}) for p in range(4))
    ends = [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 0), (7, 1), (0, 5), (2, 7)]
    graph.add_edges_from((u, v, {"capacity": 1}) for u, v in ends)
    return network(graph)


@pytest.mark.parametrize(
    ("where", "messages", "parts", "steps"),
    [(packages(), 6, 4, 15), pytest.param(packages(), 60, 4, 144, marks=pytest.mark.long)],
)
def test_weak_cables_between_packages_are_what_counts(where, messages, parts, steps):
    (bound,) = by_parts("allreduce", where, messages)
    assert f"between {parts} parts" in bound.source
    assert (
        bound.value == steps == max(b.value for b in bounds("allreduce", where, messages=messages) if b.of == "steps")
    )
    schedule = plan("allreduce", where, messages=messages)
    assert verify(schedule).holds
    assert steps <= schedule.steps <= steps + 2
