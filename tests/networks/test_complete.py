import networkx as nx
import numpy as np
import pytest

from tests.oracles.plain import graph_of
from treecast.errors import NetworkError, PlanError
from treecast.networks import Complete, network
from treecast.plans import disjoint_trees, plan
from treecast.plans.ways.trees import disjoint as rotational
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify

SIZES = range(1, 9)


@pytest.mark.parametrize("nodes", SIZES)
def test_it_is_the_complete_graph_of_networkx(nodes):
    where, graph = Complete(nodes), graph_of(Complete(nodes))
    assert set(graph.edges) == set(nx.complete_graph(nodes).to_directed().edges)
    assert (where.nodes, where.degree, where.arcs) == (nodes, nodes - 1, nodes * (nodes - 1))
    assert where.diameter == (nx.diameter(graph) if nodes > 1 else 0)
    for u, row in nx.all_pairs_shortest_path_length(graph):
        assert all(int(where.distance(u, v)) == distance for v, distance in row.items())


def test_translation_keeps_ports():
    where = Complete(7)
    h, u = np.arange(7)[:, None], np.arange(7)[None, :]
    assert (where.translate(h, 0) == h).all()
    assert (where.untranslate(h, where.translate(h, u)) == u).all()
    for port in range(6):
        assert (where.neighbor(where.translate(h, u), port) == where.translate(h, where.neighbor(u, port))).all()
        assert (where.port_between(u, where.neighbor(u, port)) == port).all()
    assert where.port_between(3, [3, -1, 7]).tolist() == [-1, -1, -1]
    assert where.neighbor([0, -1, 7, 0], [6, 0, 0, -1]).tolist() == [-1] * 4


@pytest.mark.parametrize("nodes", SIZES)
def test_its_trees_share_no_arc_and_their_ways_no_node(nodes):
    where = Complete(nodes)
    for root in range(nodes):
        trees = disjoint_trees(where, root)
        arcs = [(p, v) for parents in trees.parent.tolist() for v, p in enumerate(parents) if p >= 0]
        assert len(set(arcs)) == len(arcs) == (nodes - 1) ** 2
        for v in range(nodes):
            inner = [p for tree in range(nodes - 1) for p in ways(trees.parent[tree], v) if p not in (root, v)]
            assert len(set(inner)) == len(inner)
        known = rotational.trees_of(where)
        for tree in range(nodes - 1):
            for v in range(nodes):
                above = known.parent(where, v, tree, root)
                assert (-1, -1) if above is None else above == (trees.parent[tree][v], trees.port[tree][v])
                assert known.depth_of(where, v, tree, root) == len(ways(trees.parent[tree], v))
                below = {c for c, _ in known.children(where, v, tree, root)}
                assert below == set(np.flatnonzero(trees.parent[tree] == v).tolist())
        assert nodes == 1 or trees.height == known.depth(where)


def ways(parents, v):
    """The nodes above v."""
    found = []
    while (v := int(parents[v])) >= 0:
        found.append(v)
    return found


@pytest.mark.parametrize("nodes", [4, 5, 6])
@pytest.mark.parametrize("kind", ["broadcast", "scatter", "gather", "allgather", "alltoall"])
def test_n_minus_two_failures_do_no_harm(kind, nodes):
    for copies in range(2, nodes):
        schedule = plan(kind, f"complete:{nodes}", copies=copies, messages=2)
        assert verify(schedule).holds
        for what in ("nodes", "links") if nodes < 6 or copies < 4 else ("nodes",):
            assert sweep(schedule, copies - 1, what).failing == 0


@pytest.mark.parametrize("spec", ["complete:0", "complete:-1", "complete:x", "complete:", "complete:9999999"])
def test_what_is_none_is_refused(spec):
    with pytest.raises(NetworkError, match=r"^[^\n]+$"):
        network(spec)


def test_too_many_copies_are_refused():
    with pytest.raises(PlanError, match="5 copies, to survive 4 dead nodes, need 5 node-disjoint paths"):
        plan("scatter", "complete:5", copies=5)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [3, 8, pytest.param(24, marks=pytest.mark.long)])
def test_how_close_the_plans_are_to_the_bounds(nodes):
    for messages in (1, nodes, 50):
        for copies in (1, 2, nodes - 1):
            steps = {
                kind: plan(kind, f"complete:{nodes}", copies=copies, messages=messages).steps
                for kind in ("broadcast", "scatter", "gather", "allgather", "alltoall")
            }
            over_trees = -(-messages * copies // (nodes - 1)) + 1
            least = 1 + -(-(messages - 1) // (nodes - 1))  # one message in the first step, then one over each arc
            assert steps["broadcast"] == (least if copies == 1 else over_trees)
            assert steps["scatter"] == steps["gather"] == messages * copies
            assert steps["allgather"] == messages * copies
            least = messages * (2 * copies - 1)
            assert least <= steps["alltoall"] <= (1.34 * least if nodes > 3 else 1.5 * least)
            for kind in ("scatter", "gather"):
                report = verify(plan(kind, f"complete:{nodes}", copies=copies, messages=messages))
                assert report.holds
                assert report.steps == max(bound.value for bound in report.bounds if bound.of == "steps")
