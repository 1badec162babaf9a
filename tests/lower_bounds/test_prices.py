"""Prices prove what they say: their certificates hold by other algorithms, and the cheapest trees and paths are cheapest."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles.prices import cheapest_steiner, cheapest_tree, most_sold
from treecast import bounds, plan, verify
from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import NetworkError
from treecast.lower_bounds import best, schedule_bounds
from treecast.lower_bounds.kernels.prices import paths, trees
from treecast.lower_bounds.one_port import senders
from treecast.lower_bounds.prices import best_prices
from treecast.lower_bounds.proof import of_bounds
from treecast.models import model
from treecast.networks import network
from treecast.networks.arcs import arcs_of, sorted_arcs


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


MACHINES = ("all-port", "all-port,half", "one-port", "one-port,half")


KINDS = [name for name, kind in COLLECTIVES.items() if not kind.lengths and not kind.targets]


SWITCHED = nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d"), ("a", "b")])


nx.set_node_attributes(SWITCHED, {"s": True, "t": True}, "relay")


@pytest.mark.slow
@pytest.mark.each(3)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("where", ["path:5", "mesh:3x3", "petersen", "debruijn:2,3", "fat-tree:2", SWITCHED], ids=str)
def test_every_certificate_holds_by_other_algorithms(where, machine):
    place, chosen = network(where), model(machine)
    arcs, ranks = arcs_of(place), place.ranks.tolist()
    for kind in KINDS:
        row, found = COLLECTIVES[kind], best_prices(place, Collective.over(place, kind, 1, root=ranks[0]), chosen)
        assert found is not None
        price = found.of_arcs
        link = [frozenset({u, v}) for u, v in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True)]
        table = list(zip(arcs.tail.tolist(), arcs.head.tolist(), price.tolist(), strict=True))
        sold = most_sold(
            [(u, v, both, p) for (u, v, p), both in zip(table, link, strict=True)],
            chosen.ports,
            chosen.duplex == "half",
        )
        assert sold <= found.room
        back = [(v, u, p) for u, v, p in table]
        costs = []
        chosen_owner = row.results and row.all_source  # a sum may be completed by any node
        for root in range(place.nodes) if chosen_owner else ranks if row.all_source else ranks[:1]:
            if row.personal:
                graph = nx.MultiDiGraph()
                graph.add_weighted_edges_from(back if row.direction == "to" else table)
                far = nx.single_source_dijkstra_path_length(graph, root)
                costs.append(sum(far[v] for v in ranks))
            else:
                ways = [back] * row.adds + [table] * (row.results or not row.adds)
                if place.relays is None:
                    costs.append(sum(cheapest_tree(root, way, set(ranks)) for way in ways))
                else:
                    costs.append(sum(cheapest_steiner(root, way, range(place.nodes), ranks) for way in ways))
        paid = len(ranks) * min(costs) if chosen_owner else sum(costs)
        assert found.ways == paid if place.relays is None else found.ways <= paid


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["path:5", "mesh:2x3", "petersen", "star:3", "debruijn:2,3", "tree:2,2", "complete:5"])
def test_no_more_nodes_can_hold_anything_than_senders_says(spec):
    """By all sets of nodes that can be informed, one send a node and step."""
    place = network(spec)
    for root in {0, place.nodes - 1}:
        try:
            most = senders(place, root)
        except NetworkError:
            continue
        known = {frozenset([root])}
        for step in range(place.eccentricity(root) + 2):
            assert max(map(len, known)) <= most[min(step, len(most) - 1)]
            grown = set()
            for held in known:
                grown |= _grown(place, held)
            known = {held for held in grown if len(held) == max(map(len, grown))} if len(grown) > 500 else grown


def _grown(place, held):
    """All sets that hold something after a step from ``held``, of the greatest sizes."""
    found = {held}
    for u in held:
        found = {some | {int(v)} for some in found for v in place.neighbors(u)} | found
    return found


@pytest.mark.parametrize(
    ("kind", "spec", "more", "least"), [("scatter", "tree:2,3", {"root": 3}, 23), ("allgather", "debruijn:2,3", {}, 14)]
)
def test_both_nodes_of_a_link_are_paid_where_each_has_one_partner(kind, spec, more, least):
    schedule = plan(kind, spec, model="one-port,partner", **more)
    found = verify(schedule)
    assert found.holds
    assert best(list(found.bounds), "steps").value == least <= schedule.steps
    proof = of_bounds(found.bounds, schedule.collective, schedule.network, 1, schedule.model)
    assert proof is not None
    assert proof.steps == least
