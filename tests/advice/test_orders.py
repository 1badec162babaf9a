"""Orders of hosts, against all orders there are."""

import random
from collections.abc import Sequence
from itertools import permutations

import networkx as nx
import pytest

import treecast
from tests.advice.test_failing import clos
from treecast.advice.orders import Loads, OrderSearch, Sends, groups_of, ring, tree
from treecast.errors import PlanError

SHAPES = {"ring": ring, "tree": tree, "mesh": lambda hosts: groups_of("tp2,dp3", hosts)}


def shuffled(seed: int) -> treecast.Network:
    """Return three leaves of two hosts that lack a cable, with their nodes in any order."""
    graph, chance = clos(3, 2, 2), random.Random(seed)
    graph.remove_edge(f"l{seed % 3}", "s0")
    names = list(graph)
    chance.shuffle(names)
    found = nx.Graph()
    found.add_nodes_from((name, graph.nodes[name]) for name in names)
    found.add_edges_from(graph.edges)
    return treecast.network(found)


def busiest(loads: Loads, sends: Sends, order: Sequence[int]) -> float:
    return float(loads.of(sends, order).max())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_found_is_the_best_of_all(shape: str, seed: int) -> None:
    network = shuffled(seed)
    loads, sends, nodes = Loads(network), SHAPES[shape](6), network.ranks.tolist()
    best = min(busiest(loads, sends, order) for order in permutations(nodes))
    found = OrderSearch(loads, sends, nodes).best
    assert sorted(found) == nodes
    assert busiest(loads, sends, found) == pytest.approx(best)


@pytest.mark.parametrize("places", [2, 3, 5, 6, 8, 13])
def test_trees_reach_all_and_no_place_is_inner_twice(places: int) -> None:
    sends = tree(places)
    trees = [sends[start::4] + sends[start + 1 :: 4] for start in (0, 2)]
    for some in trees:
        assert nx.is_tree(nx.Graph(some))
        assert nx.Graph(some).number_of_nodes() == places
    degrees = [dict(nx.Graph(some).degree()) for some in trees]
    assert all(min(degree[i] for degree in degrees) <= 2 for i in range(places))


def test_groups_within_a_host_load_no_cable() -> None:
    assert sorted(groups_of("tp4,dp3", 3)) == sorted(ring(3) * 4)
    assert groups_of("tp4", 1) == []
    with pytest.raises(PlanError, match="has 12 ranks, which 5 hosts do not share evenly"):
        groups_of("tp4,dp3", 5)
