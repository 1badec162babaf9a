"""Allgather, reduce-scatter and allreduce over relays and parallel arcs, down balanced trees of every rank."""

from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lower_bounds.test_cuts import boxes
from tests.networks.test_relays import multigraphs
from tests.strategies import examples
from treecast import bounds, network, plan, run, simulate, verify
from treecast.compiled import policy
from treecast.lower_bounds.cuts import optimum
from treecast.plans.ways.trees.balanced import balanced_trees, grown

PAGE = Path(__file__).parents[4] / "docs/explanation/capacities.md"
KINDS = ["allgather", "reduce-scatter", "allreduce"]


def least(kind, where, messages=1):
    return max(bound.value for bound in bounds(kind, where, messages=messages) if bound.of == "steps")


def fat_tree(links=1):
    """16 hosts below 20 switches of four ports; with two links each host hangs below both edge switches of its pod."""
    graph = nx.Graph()
    for pod in range(4):
        for edge in range(2):
            for host in range(2):
                for link in range(links):
                    graph.add_edge(f"h{pod}.{edge}.{host}", f"e{pod}.{(edge + link) % 2}")
            for up in range(2):
                graph.add_edge(f"e{pod}.{edge}", f"a{pod}.{up}")
                graph.add_edge(f"a{pod}.{up}", f"c{up}.{edge}")
    for name in graph:
        graph.nodes[name]["relay"] = not name.startswith("h")
    return graph


def weak_torus():
    """A torus of 4 x 4 whose links have capacity 2, but one that has 1."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4, periodic=True))
    nx.set_edge_attributes(graph, 2, "capacity")
    graph.edges[0, 1]["capacity"] = 1
    return graph


@given(multigraphs(most=9, whole=True), st.integers(1, 6), st.sampled_from(KINDS))
@examples(20)
def test_every_multigraph_with_relays_has_a_plan(graph, messages, kind):
    where = network(graph).adding()
    schedule = plan(kind, where, messages=messages, builder="priced-trees")
    for report in (verify(schedule), verify(schedule, method="expanded")):
        assert report.holds, report.violations
    assert least(kind, where, messages) <= schedule.steps
    assert simulate(schedule).holds
    assert run(schedule, bytes(range(99))).holds


@pytest.mark.each(2)
@pytest.mark.parametrize("graph", [boxes(2, 4, 9, 1), fat_tree(2)], ids=["boxes", "dual-homed"])
def test_sums_go_backwards(graph):
    where = network(graph).adding()
    steps = plan("allgather", where, messages=3).steps
    for kind, times in (("reduce-scatter", 1), ("allreduce", 2)):
        schedule = plan(kind, where, messages=3, builder="priced-trees")
        assert verify(schedule).holds
        assert schedule.steps <= times * steps


@pytest.mark.parametrize("sizes", [(2, 4, 9, 1), (2, 8, 12, 1)])
def test_no_arc_is_in_more_trees_than_the_optimum_has(sizes):
    """So many trees of each rank as the optimum in lowest terms has messages, so many in an arc as it has steps."""
    where = network(boxes(*sizes))
    rate = optimum(where)
    load = dict[tuple[int, int], int]()
    for trees in balanced_trees(where, where.ranks.tolist(), rate.numerator, rate.denominator):
        for parent, port in zip(trees.parent.ravel().tolist(), trees.port.ravel().tolist(), strict=True):
            if parent >= 0:
                load[parent, port] = load.get((parent, port), 0) + 1
    assert max(load.values()) == rate.denominator


def test_relays_may_have_more_arcs_in_than_out():
    graph = nx.MultiDiGraph([(0, "w"), (0, "w"), (1, "w"), ("w", 0), ("w", 1), (1, 0)])
    graph.nodes["w"]["relay"] = True
    schedule = plan("allgather", network(graph), messages=5)
    assert verify(schedule).holds
    assert schedule.steps == least("allgather", network(graph), 5)


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


@pytest.mark.slow
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


def test_ways_that_get_cheaper_again_and_again_fit_in_the_heap():
    """Each rank of a chain has a shorter way than the last to a relay, behind which many ranks share a dear cable.

    So each puts a key for all of these, and none is taken before the chain ends: more keys than twice the arcs and nodes.
    """
    chain, many, relay, arcs = 10, 400, [False] * 11 + [True], list[tuple[int, int]]()
    hub = chain + 1
    for rank in range(chain):
        for goal, length in ((rank + 1, chain), (hub, chain - 1 - rank)):
            way = [rank, *range(len(relay), len(relay) + length), goal]
            relay += [True] * length
            arcs += pairwise(way)
    dear = len(arcs)
    arcs += [(hub, len(relay) + each) for each in range(many)]
    relay += [False] * many
    tail, head = np.array(arcs).T
    order = np.argsort(tail, kind="stable")
    first = np.searchsorted(tail[order], np.arange(len(relay) + 1))
    columns = first, head[order], tail[order], np.minimum(order, dear)
    with policy("interpret"):  # where a place that the heap lacks is an error
        heard = grown(columns, np.array(relay), np.array([0, 0]), 1)[:, ~np.array(relay)]
    assert (heard[:, 0] == -1).all()
    assert (heard[:, 1:] >= 0).all()
