"""Allgather on tori of two axes: four disjoint trees, and label sets at the lower bound."""

import networkx as nx
import pytest

from tests.oracles.allgather import check_rows, least
from tests.oracles.plain import graph_of
from treecast.networks import network
from treecast.plans import builders, plan
from treecast.plans.ways.trees.directions import disjoint_trees
from treecast.simulation.sweeps import sweep
from treecast.verification.verifier import verify


@pytest.mark.parametrize("rows", range(3, 10))
def test_the_trees_are_disjoint(rows):
    """Each spans the torus, begins by its own port, and the four ways to each node share no other node."""
    for columns in range(3, 10):
        torus = network(f"torus:{rows}x{columns}")
        trees, graph = disjoint_trees(torus), graph_of(torus)
        ways = [[set[int](), *({-1} for _ in range(torus.nodes - 1))] for _ in trees]
        for tree, found in zip(trees, ways, strict=True):
            arcs = tree.to_networkx()
            assert nx.is_arborescence(arcs)
            assert len(arcs) == torus.nodes
            assert all(graph.edges[u, v]["port"] == port for u, v, port in arcs.edges(data="port"))
            for u, v in nx.bfs_edges(arcs, 0):
                found[v] = found[u] | {v}
        assert sorted(int(tree.port[tree.children(0)[0]]) for tree in trees) == [0, 1, 2, 3]
        for v in range(1, torus.nodes):
            inner = [found[v] - {v} for found in ways]
            assert sum(map(len, inner)) == len(set[int]().union(*inner)), (columns, v)


def test_both_verifiers_and_all_dead_nodes_and_links():
    for copies in (2, 3, 4):
        schedule = plan("allgather", "torus:3x3", copies=copies)
        assert verify(schedule, method="expanded").holds
        for what in ("nodes", "links"):
            found = sweep(schedule, copies - 1, what)
            assert (found.exhaustive, found.failing) == (True, 0)


@pytest.mark.parametrize("spec", ["torus:2x3", "torus:3x3x3", "ring:7"])
def test_other_tori_have_no_such_sets(spec):
    assert "label-sets" not in [entry.name for entry in builders("allgather", spec)]


SPECS = ["torus:3x3", "torus:3x4", "torus:4x4", "torus:5x4", "torus:5x5", "torus:3x7", "torus:1x3x5"]


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_tori_meet_the_bound(spec):
    torus = network(spec)
    for copies in range(2, 5):
        schedule = plan("allgather", torus, copies=copies)
        assert schedule.recipe.builder == "label-sets"
        assert schedule.steps == least(torus, 1, copies)
        check_rows(torus, schedule)
        for messages in (2, 3, 7):
            schedule = plan("allgather", torus, copies=copies, messages=messages)
            assert schedule.steps == schedule.claims.steps == least(torus, messages, copies)
            assert verify(schedule).holds
        assert plan("allgather", torus, copies=copies, messages=7).rows == schedule.rows


@pytest.mark.long
@pytest.mark.parametrize("rows", range(3, 13))
def test_larger_tori_meet_the_bound(rows):
    for columns in range(3, 13):
        torus = network(f"torus:{rows}x{columns}")
        for copies in range(2, 5):
            schedule = plan("allgather", torus, copies=copies)
            assert schedule.steps == least(torus, 1, copies), (columns, copies)
            check_rows(torus, schedule)
