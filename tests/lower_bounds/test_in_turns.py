"""Who alone leads to several nodes tells one after the other: on trees that is all there is to say."""

from itertools import permutations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from treecast import bounds, plan
from treecast.lower_bounds.one_port import in_turns
from treecast.networks import network


def rounds_of_a_tree(graph, node, parent=None):
    """The fewest steps in which a node of a tree tells all below it, by all orders of its children."""
    below = [rounds_of_a_tree(graph, child, node) for child in graph[node] if child != parent]
    return min(max((t + more for t, more in enumerate(order, 1)), default=0) for order in permutations(below))


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(*(st.integers(0, v - 1) for v in range(1, n)))), st.data())
def test_one_message_on_a_tree_takes_as_long_as_the_best_order_of_children(parents, data):
    graph = nx.Graph([(f"n{v}", f"n{parent}") for v, parent in enumerate(parents, 1)])
    where, root = network(graph), data.draw(st.sampled_from(sorted(graph)))
    least = rounds_of_a_tree(graph, root)
    assert in_turns(where, where.node(root)) == least
    machine = data.draw(st.sampled_from(["one-port", "one-port,half", "whispering"]))
    assert plan("broadcast", where, root=root, model=machine).steps == least


def test_there_and_back_on_a_tree_takes_two_broadcasts():
    for kind in ("reduce-broadcast", "allreduce"):
        assert max(b.value for b in bounds(kind, "tree:2,3", model="whispering") if b.of == "steps") == 12
        assert plan(kind, "tree:2,3", model="whispering").steps == 12
