"""Allgather, reduce-scatter and allreduce over relays and parallel arcs, down balanced trees of every rank."""

import networkx as nx
import pytest

from tests.lower_bounds.test_cuts import boxes
from tests.plans.whole.all_port.test_balanced_trees import PAGE, fat_tree, least, weak_torus
from treecast import network, plan, verify
from treecast.lower_bounds.cuts import optimum


def dragonfly():
    """Two hosts at each router of a dragonfly of 9 groups of four routers."""
    graph = nx.Graph(network("dragonfly:4,2").to_networkx())
    for router in list(graph):
        graph.nodes[router]["relay"] = True
        graph.add_edges_from((router, f"{router}.{host}") for host in range(2))
    return nx.relabel_nodes(graph, str)


FIGURES = {
    "two boxes of 4": (boxes(2, 4, 9, 1), "1 | 4 | 4 | 603 | 601"),
    "two boxes of 8": (boxes(2, 8, 12, 1), "13/15 | 5 | 3 | 696 | 694"),
    "a fat tree": (fat_tree(), "1/15 | 17 | 17 | 9001 | 9001"),
    "two switches": (fat_tree(2), "2/15 | 12 | 11 | 4501 | 4501"),
    "a dragonfly": (dragonfly(), "1/71 | 72 | 72 | 42601 | 42601"),
    "one of 1": (weak_torus(), "7/15 | 4 | 4 | 1286 | 1286"),
}


@pytest.mark.each(4)
@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_the_page(name):
    """As many steps as the page says, for one message and for 600, beside the bounds."""
    graph, row = FIGURES[name]
    where, found = network(graph), list[object]()
    for messages in (1, 600):
        schedule = plan("allgather", where, messages=messages)
        assert verify(schedule).holds
        if messages > 1:
            assert schedule.recipe.builder in ("priced-trees", "packed-trees")
        found += [schedule.steps, least("allgather", where, messages)]
    assert " | ".join(map(str, [optimum(where), *found])) == row
    assert any(name in line and line.endswith(f"| {row} |") for line in PAGE.read_text().splitlines())
