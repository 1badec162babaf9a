"""Prices of steps prove what they say: by windows that another program finds, and beside plans that need no fewer steps."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.prices import most_sold
from treecast import bounds, plan
from treecast.lower_bounds import Bound
from treecast.models import model
from treecast.networks import network
from treecast.networks.arcs import arcs_of

pytestmark = pytest.mark.slow

LOLLIPOP = nx.lollipop_graph(4, 3)
SWITCHED = nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d"), ("d", "e")])
for switch in ("s", "t"):
    SWITCHED.nodes[switch]["relay"] = True
ONE_WAY = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (5, 4)])


def steps_of(kind, where, machine, messages=1):
    """The bound by prices of steps, if there is one, and the greatest of the others."""
    found = [each for each in bounds(kind, where, model=machine, messages=messages) if each.of == "steps"]
    mine = [each for each in found if each.source == "prices of steps"]
    return (*mine, None)[0], max(each.value for each in found if each not in mine)


@pytest.mark.parametrize(
    ("kind", "where", "machine", "messages", "before", "least"),
    [
        ("allgather", "path:9", "one-port", 1, 10, 13),
        ("allgather", "path:9", "one-port", 4, 40, 43),
        ("allgather", "path:9", "one-port,half", 1, 18, 21),
        ("allreduce", "path:9", "one-port,half", 1, 36, 42),
        ("reduce-broadcast", "path:9", "one-port,half", 4, 19, 28),
        ("reduce-scatter", "path:5", "one-port", 1, 6, 7),
    ],
)
def test_plans_on_long_networks_take_the_fewest_steps_there_can_be(kind, where, machine, messages, before, least):
    found, others = steps_of(kind, where, machine, messages)
    assert (others, found.value) == (before, least)
    assert plan(kind, where, model=machine, messages=messages).steps == least


@pytest.mark.parametrize(
    ("kind", "where", "least", "steps"),
    [
        ("allgather", "tree:2,3", 32, 33),
        pytest.param("allreduce", "path:9", 25, 26, marks=pytest.mark.long),
        pytest.param("allreduce", "tree:2,3", 49, 53, marks=pytest.mark.long),
    ],
)
def test_where_a_gap_is_left(kind, where, least, steps):
    assert steps_of(kind, where, "one-port")[0].value == least
    assert plan(kind, where, model="one-port").steps <= steps


@pytest.mark.parametrize("machine", ["one-port", "one-port,half", "all-port,half"])
@pytest.mark.parametrize(
    "where", ["path:6", "tree:2,2", LOLLIPOP, SWITCHED, ONE_WAY], ids=["path", "tree", "lollipop", "relays", "one-way"]
)
def test_every_certificate_holds_by_windows_that_are_found_in_another_way(where, machine):
    place = network(where)
    for kind in ("broadcast", "reduce", "allgather", "reduce-scatter", "reduce-broadcast", "allreduce"):
        for messages in (1, 3):
            found, others = steps_of(kind, where, machine, messages)
            if found is None:
                continue
            assert found.value > others
            assert cost(place, kind, found, messages) > sold(place, found, machine)


def sold(place, found: Bound, machine):
    """The most that the sends of all steps but the last one of the bound cost together."""
    arcs, chosen = arcs_of(place), model(machine)
    ends = list(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    prices = np.array(found.certificate).reshape(found.value - 1, len(ends)).tolist()
    each = [[(u, v, frozenset({u, v}), p) for (u, v), p in zip(ends, some, strict=True)] for some in prices]
    return sum(most_sold(some, chosen.ports, chosen.duplex == "half") for some in each)


def cost(place, kind, found: Bound, messages):
    """What all data pays at the prices of a certificate."""
    arcs, ranks, count = arcs_of(place), place.ranks.tolist(), found.value - 1
    ends = list(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True))
    price = {
        (end, step): p
        for step in range(count)
        for end, p in zip(ends, found.certificate[step * len(ends) :], strict=False)
    }
    out = nx.DiGraph(ends)
    far = dict(nx.all_pairs_shortest_path_length(out))

    def one_way(graph, root, wait, price_of):
        """The least price of what goes from a root to all ranks, or by a reversed graph and clock from them to it."""
        paid, near = 0, nx.single_source_shortest_path_length(graph, root)
        for v in set(graph) - {root}:
            rest = graph.subgraph(set(graph) - {v})
            reached = nx.descendants(rest, root) | {root}
            late = [nx.shortest_path_length(graph, v, z) for z in ranks if z not in reached]
            if late:
                window = [
                    (u, t) for u in reached if graph.has_edge(u, v) for t in range(wait + near[u], count - max(late))
                ]
                paid += min(price_of(u, v, t) for u, t in window)
        return paid

    def into(root, wait):
        return one_way(out, root, wait, lambda u, v, t: price[(u, v), t])

    def out_of(root, left):
        return one_way(out.reverse(), root, left, lambda u, v, t: price[(v, u), count - 1 - t])

    def both(root):
        there, back = max(far[z][root] for z in ranks), max(far[root][z] for z in ranks)
        return out_of(root, back) + into(root, there)

    ways = {
        "broadcast": lambda: into(ranks[0], 0),
        "reduce": lambda: out_of(ranks[0], 0),
        "allgather": lambda: sum(into(root, 0) for root in ranks),
        "reduce-scatter": lambda: sum(out_of(root, 0) for root in ranks),
        "reduce-broadcast": lambda: both(ranks[0]),
        "allreduce": lambda: len(ranks) * min(both(root) for root in out),
    }
    return messages * ways[kind]()


@given(st.integers(3, 8).flatmap(lambda n: st.tuples(*(st.integers(0, v - 1) for v in range(1, n)))), st.data())
def test_no_plan_on_a_tree_beats_the_bound(parents, data):
    graph = nx.Graph([(v, parent) for v, parent in enumerate(parents, 1)])
    kind = data.draw(st.sampled_from(["broadcast", "allgather", "reduce-scatter", "reduce-broadcast", "allreduce"]))
    machine = data.draw(st.sampled_from(["one-port", "one-port,half", "all-port", "all-port,half"]))
    found, _ = steps_of(kind, graph, machine, messages := data.draw(st.integers(1, 3)))
    assert found is None or found.value <= plan(kind, graph, model=machine, messages=messages).steps
