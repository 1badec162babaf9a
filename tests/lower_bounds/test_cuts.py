"""What no allgather can beat where arcs are parallel and some nodes are relays: the worst of all cuts."""

from fractions import Fraction
from itertools import combinations, product
from math import ceil

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.networks.test_relays import capacities, flows_from, multigraphs
from tests.strategies import examples
from treecast import bounds, network, plan, verify
from treecast.lower_bounds.cuts import optimum
from treecast.lower_bounds.distances import channels_at


def boxes(count, size, inside, outside):
    """Boxes of so many ranks, each joined to its box's switch and, over fewer cables, to a spine."""
    graph = nx.Graph()
    for box in range(count):
        for rank in range(size):
            graph.add_edge(f"r{box}.{rank}", f"sw{box}", capacity=inside)
            graph.add_edge(f"r{box}.{rank}", "spine", capacity=outside)
    for name in graph:
        graph.nodes[name]["relay"] = not name.startswith("r")
    return graph


def worst_of_all(graph):
    """The most ranks outside some nodes for each arc that leads there, over all sets of nodes, by counting."""
    worst, arcs = Fraction(0), capacities(graph)
    ranks = {v for v, relay in graph.nodes(data="relay") if not relay}
    for size in range(1, len(graph)):
        for inside in map(set, combinations(graph, size)):
            if inside & ranks and ranks - inside:
                into = sum(many for (u, v), many in arcs.items() if u not in inside and v in inside)
                worst = max(worst, Fraction(len(ranks - inside), into))
    return worst


@given(multigraphs(most=8, whole=True))
@examples(40)
def test_the_optimum_is_that_of_all_cuts(graph):
    where, messages = network(graph).adding(), 10**6
    if where.rank_count == 1:
        return
    worst = worst_of_all(graph)
    assert optimum(where) == 1 / worst
    for kind in ("allgather", "reduce-scatter"):
        some = where if kind == "allgather" else where.reversed()
        least = max(bound.value for bound in bounds(kind, where, messages=messages) if bound.of == "steps")
        assert 0 <= least - ceil(messages / optimum(some)) <= where.nodes


@pytest.mark.parametrize(
    ("sizes", "rate", "cut"),
    [
        ((2, 4, 9, 1), 1, ", 2 arcs away or more, enter 4 ranks over 4 arcs"),
        ((2, 8, 12, 1), Fraction(13, 15), "enter 1 ranks over 13 arcs"),
    ],
)
def test_boxes_on_switches(sizes, rate, cut):
    where = network(boxes(*sizes))
    assert optimum(where) == rate
    found = max((b for b in bounds("allgather", where, messages=3900) if b.of == "steps"), key=lambda b: b.value)
    assert 0 <= found.value - 3900 / rate <= 4
    assert any(cut in b.source for b in bounds("allgather", where, messages=3900))


@given(multigraphs(most=8, whole=True), st.data())
@examples(40)
def test_no_broadcast_beats_the_least_cut_before_a_rank(graph, data):
    """The bound of many messages is that of the least flow to any rank; no plan beats the bound."""
    where = network(graph)
    if where.rank_count == 1:
        return
    root = data.draw(st.sampled_from(where.ranks.tolist()))
    flows = flows_from(graph, root)
    for kind in ("broadcast", "reduce"):
        for messages in (3, 10**6):
            schedule = plan(kind, where, root=root, messages=messages)
            least = max(b.value for b in bounds(kind, where, root=root, messages=messages) if b.of == "steps")
            assert least <= schedule.steps
            assert verify(schedule).holds
            if kind == "broadcast":
                assert 0 <= least - ceil(messages / min(flows)) <= where.nodes


def unlike_hops():
    """A graph in which three sends reach rank 0 in a step: two over arcs of its own, and one past a relay."""
    graph = nx.MultiGraph([(0, 1), (0, 1), (0, 3), (1, 2), (2, 3), (2, 3)])
    graph.nodes[1]["relay"] = True
    return graph


@example(unlike_hops())
@given(multigraphs(most=7))
@examples(60)
def test_no_more_sends_at_a_node_are_counted_out_than_can_go_at_once(graph):
    """Of routes past relays those go at once that share no arc. The most of them are found by a search for a largest clique."""
    where = network(graph).past_relays()
    first, target, port = where.arc_lists()
    tail = np.repeat(np.arange(where.nodes), np.diff(first)).tolist()
    taken = [
        {(u, int(p))} if where.past_routes is None else {*where.route(u, int(p))}
        for u, p in zip(tail, port, strict=True)
    ]
    for inwards, ends in ((True, target.tolist()), (False, tail)):
        counted = channels_at(where, inwards=inwards).tolist()
        for node in range(where.nodes):
            at = nx.Graph()
            at.add_nodes_from(arc for arc, end in enumerate(ends) if end == node)
            at.add_edges_from((a, b) for a, b in combinations(at, 2) if taken[a].isdisjoint(taken[b]))
            most = nx.max_weight_clique(at, weight=None)[1]
            assert most <= counted[node] <= len(at)


def test_bounds_count_routes_of_unlike_numbers_of_hops_one_by_one():
    for root, messages in product("023", range(1, 8)):
        schedule = plan("reduce", unlike_hops(), root=root, messages=messages)
        asked = bounds("reduce", unlike_hops(), root=root, messages=messages)
        assert all(bound.value <= schedule.steps for bound in asked if bound.of == "steps")
