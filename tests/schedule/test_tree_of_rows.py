"""The trees that rows describe, against plain loops and networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.strategies import arbitrary, planned_of
from treecast.plans import plan
from treecast.schedule.tree_of_rows import first_controls, link_ends, outward, tree_of, trees_of_rows


@given(st.integers(1, 6), st.data())
def test_a_node_hangs_below_the_source_of_its_first_row_in_each_tree(nodes, data):
    node = st.integers(0, nodes - 1)
    rows = data.draw(st.lists(st.tuples(node, node, st.integers(-1, 2)), max_size=12))
    above, below, tree = np.array(rows, np.int32).reshape(-1, 3).T
    parent, first, clash = {}, {}, []
    for row, (u, v, t) in enumerate(rows):
        if t >= 0:
            parent.setdefault((t, v), u)
            first.setdefault((t, v), row)
        clash.append(t >= 0 and parent[t, v] != u)
    found = trees_of_rows(above, below, nodes, tree.astype(np.int16))
    trees = max((t for _, _, t in rows), default=-1) + 1
    assert found.parent.shape == found.row.shape == (trees, nodes)
    assert found.parent.tolist() == [[parent.get((t, v), -1) for v in range(nodes)] for t in range(trees)]
    assert found.row.tolist() == [[first.get((t, v), -1) for v in range(nodes)] for t in range(trees)]
    assert found.clash.tolist() == clash
    alone = trees_of_rows(above, below, nodes)
    assert alone.parent.shape == (1, nodes)
    assert alone.parent[0].tolist() == [next((u for u, w, _ in rows if w == v), -1) for v in range(nodes)]


@given(planned_of(kinds=("broadcast", "scatter", "gather", "reduce", "reduce-broadcast")))
def test_the_rows_of_a_right_schedule_describe_a_spanning_tree_for_each_tree(schedule):
    # the first names the tree of rows of the SPT, which lacks some nodes; the others send over ways that make no tree
    assume(schedule.builder not in ("spt", "flow-over-time", "priced-paths", "priced-trees"))
    rows, network = schedule.rows, schedule.network
    ends, out = link_ends(schedule), outward(schedule)
    if schedule.collective.kind == "gather":
        assert (ends[0] == rows.dst).all()
    for number in np.unique(rows.tree[out]).tolist():
        tree = tree_of(schedule, np.flatnonzero((rows.tree == number) & out), ends)
        assert tree.root == schedule.collective.root
        graph = tree.to_networkx()
        assert nx.is_arborescence(graph)
        mine = (rows.tree == number) & out
        assert set(graph.edges) == set(zip(*(nodes[mine].tolist() for nodes in ends), strict=True))
        assert all(network.distance(u, v) == 1 for u, v in graph.edges)


@given(arbitrary(kinds=("broadcast", "scatter", "gather")))
def test_the_rows_of_any_schedule_describe_the_tree_that_the_root_reaches(schedule):
    rows = np.arange(len(schedule.rows))
    above, below = ends = link_ends(schedule)
    root, first = schedule.part.root, {}
    for u, v in zip(above.tolist(), below.tolist(), strict=True):
        if v != root:
            first.setdefault(v, u)
    graph = nx.DiGraph((u, v) for v, u in first.items())
    graph.add_node(root)
    tree = tree_of(schedule, rows, ends)
    assert set(tree.order.tolist()) == {root} | nx.descendants(graph, root)
    assert all(tree.parent[v] == first[v] for v in tree.order[1:].tolist())
    walk = tree.preorder().tolist()
    assert sorted(walk) == sorted(tree.order.tolist())
    assert walk[0] == root
    for v in walk:  # a subtree is a run of the walk
        below = {v} | nx.descendants(tree.to_networkx(), v)
        assert set(walk[walk.index(v) : walk.index(v) + len(below)]) == below


@pytest.mark.parametrize("collect", ["slots", "walk"])
def test_control_flits_describe_the_tree_that_the_data_comes_up(collect):
    schedule = plan("gatherv", "tree:2,3", lengths=2, model="bufferless", collect=collect)
    rows = schedule.rows
    parent, row = first_controls(schedule)
    above, below = link_ends(schedule)
    assert parent[0] == -1
    assert (parent[1:] == (np.arange(1, 15) - 1) // 2).all()  # the network is its own only tree
    assert (rows.dst[row[1:]] == np.arange(1, 15)).all()
    assert rows.control[row[1:]].all()
    assert (parent[below] == above).all()
