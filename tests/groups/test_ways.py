"""The graph of many ranks: so many disjoint ways as survive asks for, also when some are out, and trees that lead to any rank."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from treecast.running.groups.ways import ways_of


def graph_of(ways):
    found = nx.Graph()
    found.add_nodes_from(ways.living)
    found.add_edges_from((rank, other) for rank in ways.living for other in ways.neighbours(rank))
    return found


@examples(60)
@given(st.integers(65, 200), st.integers(0, 8), st.data())
def test_ways_are_disjoint_whoever_is_out(size, survive, data):
    out = data.draw(st.sets(st.integers(0, size - 1), max_size=min(30, size // 4)))
    ways = ways_of(tuple(v for v in range(size) if v not in out), size, survive)
    found = graph_of(ways)
    assert all(rank in ways.neighbours(other) for rank in ways.living for other in ways.neighbours(rank))
    assert nx.node_connectivity(found) >= survive + 1


@examples(60)
@given(st.integers(65, 300), st.integers(0, 4), st.data())
def test_a_tree_leads_to_any_rank_from_all_others(size, survive, data):
    out = data.draw(st.sets(st.integers(0, size - 1), max_size=size // 4))
    ways = ways_of(tuple(v for v in range(size) if v not in out), size, survive)
    root = data.draw(st.sampled_from(ways.living))
    assert sorted(ways.under(root, root)) == list(ways.living)
    for rank in ways.living:
        if rank != root:
            assert ways.above(rank, root) in ways.neighbours(rank)
            assert rank in ways.below(ways.above(rank, root), root)


@pytest.mark.parametrize(("size", "most"), [(65, 12), (128, 12), (1024, 12)])
def test_a_rank_of_many_has_twelve_neighbours(size, most):
    assert max(len(ways_of(tuple(range(size)), size).neighbours(rank)) for rank in range(size)) <= most


def test_few_ranks_are_all_neighbours():
    assert ways_of((0, 2, 3), 64).neighbours(2) == [0, 3]
