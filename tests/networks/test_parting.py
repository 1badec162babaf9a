"""Relays that part ranks, and how many a tree needs, against networkx on graphs with nodes taken out."""

from itertools import combinations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast import network
from treecast.networks.separators import parting_relays, relays_passed


@st.composite
def switched(draw, most=9):
    """A connected graph with some relays that may part it: a tree, and few links beside it."""
    nodes = draw(st.integers(2, most))
    graph = nx.Graph((draw(st.integers(0, v - 1)), v) for v in range(1, nodes))
    ends = st.integers(0, nodes - 1)
    graph.add_edges_from((u, v) for u, v in draw(st.lists(st.tuples(ends, ends), max_size=4)) if u != v)
    relays = draw(st.sets(ends, max_size=nodes - 1))
    nx.set_node_attributes(graph, dict.fromkeys(relays, True), "relay")
    return graph


@given(switched())
@examples(200)
def test_without_such_a_relay_ranks_are_cut_off(graph):
    where, parting = network(graph), set()
    ranks = {node for node, relay in graph.nodes(data="relay") if not relay}
    for relay in set(graph) - ranks:
        left = graph.copy()
        left.remove_node(relay)
        if sum(bool(part & ranks) for part in nx.connected_components(left)) > 1:
            parting.add(str(relay))
    assert set(where.labels(parting_relays(where))) == parting


@given(switched())
@examples(200)
def test_no_tree_over_all_ranks_has_fewer_relays(graph):
    ranks = [node for node, relay in graph.nodes(data="relay") if not relay]
    relays = sorted(set(graph) - set(ranks))
    sizes = (len(some) for k in range(len(relays) + 1) for some in combinations(relays, k)
             if nx.is_connected(graph.subgraph([*ranks, *some])))  # fmt: skip
    fewest, found = next(sizes), relays_passed(network(graph))
    assert found <= fewest
    if nx.is_tree(graph):
        assert found == fewest
