"""Prices prove what they say: their certificates hold by other algorithms, and the cheapest trees and paths are cheapest."""

import networkx as nx
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles.prices import cheapest_steiner, cheapest_tree
from treecast import bounds, plan
from treecast.lower_bounds import schedule_bounds
from treecast.lower_bounds.kernels.prices import paths, trees
from treecast.networks.arcs import sorted_arcs


@st.composite
def priced_arcs(draw):
    """A few nodes, arcs between them with whole prices, and which nodes are wanted."""
    nodes = draw(st.integers(2, 6))
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    arcs = draw(st.lists(st.tuples(st.sampled_from(pairs), st.integers(0, 6)), min_size=1, max_size=24))
    wanted = draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    return nodes, [(u, v, price) for (u, v), price in arcs], [0, *(v for v in range(1, nodes) if wanted[v])]


def columns(nodes, arcs):
    tail, head, price = (np.array(column) for column in zip(*sorted(arcs), strict=True))
    return sorted_arcs(tail.astype(np.int32), head.astype(np.int32), tail.astype(np.int32), nodes), price.astype(float)


@given(priced_arcs())
def test_a_cheapest_tree_costs_what_edmonds_recursion_says(case):
    nodes, arcs, _ = case
    table, price = columns(nodes, arcs)
    use = np.zeros(len(arcs))
    paid = trees(
        table.tail,
        table.head,
        table.into,
        table.entering,
        price,
        np.array([0]),
        np.ones(1),
        np.ones(nodes, np.int8),
        use,
    )
    least = cheapest_tree(0, arcs, set(range(nodes)))
    assert paid == (-1 if least is None else least)
    if least is not None:
        chosen = use.nonzero()[0]
        assert use @ price == least
        assert sorted(table.head[chosen].tolist()) == list(range(1, nodes))


@given(priced_arcs())
@example((5, [(0, 1, 1), (4, 1, 0), (4, 3, 0)], [0, 1, 3]))  # 4 leads to both, and nothing leads to 4
def test_no_tree_to_some_nodes_costs_less_than_it_is_said_to(case):
    nodes, arcs, wanted = case
    table, price = columns(nodes, arcs)
    asked = np.zeros(nodes, np.int8)
    asked[wanted] = 1
    paid = trees(
        table.tail, table.head, table.into, table.entering, price, np.array([0]), np.ones(1), asked, np.zeros(len(arcs))
    )
    least = cheapest_steiner(0, arcs, range(nodes), wanted)
    assert (paid < 0) == (least == float("inf"))
    assert paid <= least


@given(priced_arcs())
def test_cheapest_paths_cost_what_networkx_says(case):
    nodes, arcs, wanted = case
    table, price = columns(nodes, arcs)
    need = np.zeros((1, nodes))
    need[0, wanted] = np.arange(1, len(wanted) + 1)
    need[0, 0] = 0
    use, leaving = np.zeros(len(arcs)), np.arange(len(arcs), dtype=np.int32)
    paid = paths(table.tail, table.head, table.first, leaving, price, np.array([0]), need, use)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(arcs)
    far = nx.single_source_dijkstra_path_length(graph, 0)
    if any(v not in far for v in wanted):
        assert paid == -1
    else:
        assert paid == use @ price == sum(need[0, v] * far[v] for v in wanted)


def test_sums_with_other_owners_are_bounded_alike():
    """An allreduce whose sums are completed by one node has the bounds of any allreduce."""
    through_one = plan("allreduce", "fat-tree:2", messages=3, builder="through-one-node")
    assert through_one.collective.owners
    assert schedule_bounds(through_one) == bounds("allreduce", "fat-tree:2", messages=3)
