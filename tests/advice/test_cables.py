"""Machines without a switch: all graphs, and which is the best."""

from itertools import combinations_with_replacement, permutations

import networkx as nx
import pytest

import treecast
from treecast.advice.cables import switchless
from treecast.advice.saturated import saturated
from treecast.errors import PlanError
from treecast.plans.fastest import Amount
from treecast.schedule.costs import Costs

COSTS = Costs.of("1us", "5GB/s")


def test_regular_ones_are_as_many_as_is_known():
    """Cubic connected graphs without loops: A000421 with parallel cables, A002851 without."""
    regular = {
        parallel: [
            sum(all(sum(row) == 3 for row in table) for table in saturated(nodes, 3, parallel)) for nodes in (4, 6, 8)
        ]
        for parallel in (True, False)
    }
    assert regular == {True: [2, 6, 20], False: [1, 2, 5]}
    with pytest.raises(OverflowError, match="more than 100 graphs"):
        saturated(8, 3, most=100)


def test_a_ring_is_best_for_two_ports():
    found = switchless("allgather", 5, 2, Amount(1 << 20), COSTS)
    assert (found.looked_at, found.proved, len(found.wirings[0].cables)) == (1, True, 5)
    assert (found.wirings[0].dead_nodes, found.wirings[0].dead_cables) == (1, 1)


def test_the_best_is_what_its_plan_takes_and_no_other_is_better():
    found = switchless("broadcast", 4, 3, Amount(1 << 22), COSTS)
    best = found.wirings[0]
    assert all(each.option.seconds >= best.option.seconds for each in found.wirings)
    schedule = treecast.plan("broadcast", best.where, builder=best.option.builder, messages=best.option.sizes.messages)
    assert treecast.verify(schedule)
    assert schedule.steps == best.option.steps
    used = [end for cable in best.cables for end in (cable[:2], cable[2:])]
    assert len(set(used)) == len(used)  # no port has two cables
    assert {port for _, port in used} <= {1, 2, 3}


def test_more_than_ten_machines_are_searched_for():
    found = switchless("broadcast", 11, 2, Amount(1 << 16), COSTS)
    assert (found.every, found.proved) == ("", False)


def test_sizes_that_are_none_are_refused():
    for nodes, ports in ((1, 2), (65, 2), (4, 0)):
        with pytest.raises(PlanError, match="write 2 to 64 nodes of 1 to 16 ports"):
            switchless("broadcast", nodes, ports, Amount(1 << 16), COSTS)


def every_graph(nodes, ports):
    """Return all connected graphs to which no cable can be added, one of each kind, by brute force."""
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes)]
    found = set()
    for many in range(nodes * ports // 2 + 1):
        for chosen in combinations_with_replacement(pairs, many):
            degrees = [sum(u in pair for pair in chosen) for u in range(nodes)]
            if max(degrees) > ports or sum(degree < ports for degree in degrees) > 1:
                continue
            graph = nx.Graph(chosen)
            if len(graph) < nodes or not nx.is_connected(graph):
                continue
            table = [
                [sum(pair == (min(u, v), max(u, v)) for pair in chosen) for v in range(nodes)] for u in range(nodes)
            ]
            found.add(
                min(tuple(tuple(table[u][v] for v in order) for u in order) for order in permutations(range(nodes)))
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "ports"), [(2, 3), (3, 2), (3, 3), (3, 4), (4, 2), (4, 3), (5, 2), (5, 3)])
def test_every_graph_is_there_once(nodes, ports):
    found = saturated(nodes, ports)
    wanted = every_graph(nodes, ports)
    least = {
        min(tuple(tuple(table[u][v] for v in order) for u in order) for order in permutations(range(nodes)))
        for table in found
    }
    assert len(least) == len(found)
    assert least == wanted
