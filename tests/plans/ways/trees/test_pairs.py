"""Two copies over links of several cables: every pair's ways share nothing, and plans use what the cables carry."""

import random

import networkx as nx
import pytest

from tests.plans.ways.trees.test_numbered import ears
from treecast import bounds, plan, sweep, verify
from treecast.networks import network
from treecast.plans.ways.trees.pairs import priced_pairs


def wide(graph, cables):
    """The graph with so many cables in each link."""
    nx.set_edge_attributes(graph, cables, "capacity")
    return nx.convert_node_labels_to_integers(graph)


def two_dies():
    """Two grids of 16 nodes and wide links, which six thin ones join."""
    dies = nx.disjoint_union(*[wide(nx.grid_2d_graph(4, 4), 4)] * 2)
    dies.add_edges_from([(12 + y, 16 + y) for y in range(4)] + [(0, 28), (3, 31)], capacity=1)
    return dies


@pytest.mark.parametrize("against", ["nodes", "links"])
def test_the_ways_of_a_pair_share_nothing(against):
    for seed in range(12):
        graph, rng = ears(seed, 8 + seed % 5), random.Random(seed)
        nx.set_edge_attributes(graph, {edge: rng.choice([1, 2, 4]) for edge in graph.edges}, "capacity")
        for root, pair in zip((0, 0, 3), priced_pairs(network(graph), (0, 0, 3), against), strict=True):
            for node in set(graph) - {root}:
                one, other = (tree.way(node) for tree in pair)
                if against == "nodes":
                    assert set(one[1:-1]).isdisjoint(other[1:-1])
                links = [{frozenset(link) for link in nx.utils.pairwise(way)} for way in (one, other)]
                assert links[0].isdisjoint(links[1])
                assert all(graph.has_edge(*link) for link in links[0] | links[1])


def test_there_is_no_pair_where_one_node_cuts_others_off():
    assert priced_pairs(network(nx.barbell_graph(3, 0)), (0, 1), "nodes") is None


@pytest.mark.parametrize("cables", [1, 2, 4])
@pytest.mark.parametrize(
    ("graph", "far"),
    [
        (nx.cycle_graph(4), 1.1),
        (nx.complete_graph(4), 1.1),
        (nx.grid_2d_graph(3, 3), 1.1),
        (nx.grid_2d_graph(4, 4, periodic=True), 1.1),
    ],
)
def test_two_copies_take_all_cables(graph, far, cables):
    where = wide(graph.copy(), cables)
    for kind, messages in (("broadcast", 64), ("allgather", 8)):
        schedule = plan(kind, where, messages=messages, survive=1)
        least = max(each.value for each in bounds(kind, where, messages=messages, survive=1) if each.of == "steps")
        assert schedule.steps <= (far if kind == "broadcast" else 1.25) * least
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds


@pytest.mark.parametrize(("kind", "messages", "steps"), [("broadcast", 64, 34), ("allgather", 8, 75)])
def test_thin_links_are_in_few_trees(kind, messages, steps):
    schedule = plan(kind, two_dies(), messages=messages, survive=1)
    assert schedule.steps <= steps
    assert verify(schedule).holds
    assert sweep(schedule, 1, "nodes").holds


def test_the_steps_that_the_docs_tell():
    where = [wide(nx.cycle_graph(4), 1), wide(nx.cycle_graph(4), 4), two_dies()]
    assert [plan("broadcast", each, messages=64, survive=1).steps for each in where] == [66, 18, 33]


@pytest.mark.slow
@pytest.mark.parametrize("against", ["nodes", "links", "arcs"])
def test_random_lengths_and_cables(against):
    """Against arcs two ways to a node may take two cables of a link, so a chunk may not change its cable."""
    for seed in range(8):
        rng = random.Random(seed)
        graph = ears(seed, 7)
        nx.set_edge_attributes(graph, {edge: rng.choice([1, 3]) for edge in graph.edges}, "capacity")
        schedules = [
            plan("broadcast", graph, messages=rng.randint(1, 9), survive=1, against=against),
            plan("allgatherv", graph, lengths=[rng.randint(0, 5) for _ in graph], survive=1, against=against),
            plan("alltoall", graph, messages=rng.randint(1, 5), survive=1, against=against),
        ]
        for schedule in schedules:
            assert verify(schedule).holds
            assert verify(schedule, method="expanded").holds
