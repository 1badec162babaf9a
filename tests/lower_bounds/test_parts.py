"""Bounds by parts: certificates counted by networkx, all partitions of small networks, and real plans."""

from collections import Counter
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast import bounds, network, plan, verify
from treecast.networks.separators import weakest_parts


def by_parts(kind, where, messages):
    return [bound for bound in bounds(kind, where, messages=messages) if "between" in bound.source]


def arcs_between(where):
    """How many arcs lead from each node to each other one."""
    first, head, _ = where.arc_lists()
    return Counter((u, v) for u in range(where.nodes) for v in head[first[u] : first[u + 1]].tolist())


def partitions(nodes):
    """All ways to put nodes into parts, as a part for each."""
    found = [[]]
    for _ in range(nodes):
        found = [[*some, part] for some in found for part in range(max(some, default=-1) + 2)]
    return found


@given(multigraphs(most=6, whole=True))
@examples(40)
def test_no_parts_are_weaker_than_all_partitions_say(graph):
    where = network(graph)
    found = weakest_parts(where)
    if where.rank_count == 1:
        assert found is None
        return
    arcs, ranks = arcs_between(where), where.ranks.tolist()

    def rate(part):
        crossing = sum(many for (u, v), many in arcs.items() if part[u] != part[v])
        return Fraction(len({part[v] for v in ranks}) - 1, crossing or 1)

    assert Fraction(found.groups - 1, found.arcs) == rate(found.part.tolist())
    assert rate(found.part.tolist()) <= max(map(rate, partitions(where.nodes)))


@given(multigraphs(most=7, whole=True), st.integers(1, 4), st.sampled_from(["allreduce", "reduce-broadcast"]))
@examples(30)
def test_no_plan_beats_the_bound_and_its_certificate_proves_it(graph, messages, kind):
    where = network(graph).adding()
    for bound in by_parts(kind, where, messages):
        first, head, _ = where.arc_lists()
        tails = [u for u in range(where.nodes) for _ in range(first[u + 1] - first[u])]
        inside = nx.Graph(
            (u, v) for u, v, price in zip(tails, head.tolist(), bound.certificate, strict=True) if not price
        )
        inside.add_nodes_from(range(where.nodes))
        ranks = set(where.ranks.tolist())
        parts = sum(bool(part & ranks) for part in nx.connected_components(inside))
        sums = messages * (where.rank_count if kind == "allreduce" else 1)
        assert bound.value == -(-2 * sums * (parts - 1) // sum(bound.certificate))
        assert bound.value <= plan(kind, where, messages=messages).steps
        assert not bound.given


def packages():
    """Eight chips in four packages, four cables within each, ten between them."""
    graph = nx.Graph((2 * p, 2 * p + 1, {"capacity": 4}) for p in range(4))
    ends = [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 0), (7, 1), (0, 5), (2, 7)]
    graph.add_edges_from((u, v, {"capacity": 1}) for u, v in ends)
    return network(graph)


@pytest.mark.slow
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
