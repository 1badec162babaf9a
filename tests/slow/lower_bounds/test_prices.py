"""Prices prove what they say: their certificates hold by other algorithms, and the cheapest trees and paths are cheapest."""

import networkx as nx
import pytest

from tests.oracles.prices import cheapest_steiner, cheapest_tree, most_sold
from treecast.collectives import COLLECTIVES, Collective
from treecast.errors import NetworkError
from treecast.lower_bounds.one_port import senders
from treecast.lower_bounds.prices import best_prices
from treecast.models import model
from treecast.networks import network
from treecast.networks.arcs import arcs_of

MACHINES = ("all-port", "all-port,half", "one-port", "one-port,half")


KINDS = [name for name, kind in COLLECTIVES.items() if not kind.lengths and not kind.targets]


SWITCHED = nx.Graph([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d"), ("a", "b")])


nx.set_node_attributes(SWITCHED, {"s": True, "t": True}, "relay")


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
