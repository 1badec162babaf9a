"""Figures of networks that people have: trees of a broadcast, their depth, the steps of 600 messages, and of other collectives.

No depth can be less: it meets the bound, or a solver (OR-Tools) has ruled out all that are less.
An allgather, scatter and alltoall of one message takes the steps of its bound, but for one alltoall.
"""

import networkx as nx

from treecast.lower_bounds import best
from treecast.networks import network
from treecast.plans import facts, plan
from treecast.verification.verifier import verify

RANDOM = nx.random_regular_graph(4, 23, seed=1)
RANDOM.name = "a random graph of 23 nodes"


def less_three_links(spec):
    """A torus less three links that share no node."""
    graph = nx.Graph(network(spec).to_networkx())
    links = [(0, 1), (graph.number_of_nodes() // 2, graph.number_of_nodes() // 2 + 1)]
    last = graph.number_of_nodes() - 1
    graph.remove_edges_from([*links, (last, last - 1)])
    graph.graph["name"] = f"{spec} less three links"
    return graph


def spelled(where):
    return where if isinstance(where, str) else where.name


def assert_met(where, trees, depth, steps, **options):
    schedule = plan("broadcast", where, messages=600, **options)
    report = verify(schedule)
    assert report.holds, report.violations
    found = facts(schedule, report.depth)
    assert (schedule.trees, report.depth, report.steps, schedule.claims.steps) == (trees, depth, steps, steps)
    assert found.figures["ways"] == trees
    assert found.figures["depth_lower_bound"] <= depth


"""Networks, and the steps of an allgather, a scatter and an alltoall of one message."""


def assert_at_the_bound(where, *steps):
    for kind, fewest in zip(("allgather", "scatter", "alltoall"), steps, strict=True):
        if fewest is not None:
            schedule = plan(kind, where)
            report = verify(schedule)
            assert report.holds, report.violations
            assert report.steps == schedule.claims.steps == best(list(report.bounds), "steps").value == fewest


def test_the_alltoall_that_is_above_its_bound():
    report = verify(plan("alltoall", RANDOM))
    assert report.holds
    assert best(list(report.bounds), "steps").value == 21 <= report.steps <= 23


def test_allreduce_on_a_torus():
    report = verify(plan("allreduce", "torus:4x4x4"))
    assert report.holds
    assert best(list(report.bounds), "steps").value == 21 <= report.steps <= 22
