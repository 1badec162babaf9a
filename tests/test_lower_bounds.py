from itertools import product

import networkx as nx
import pytest

from tests.oracle import graph_of
from treecast.collectives import Collective
from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.networks import network
from treecast.plans import plan


def found(spec, messages, copies, under="all-port", root=0):
    where = network(spec)
    return bounds(where, Collective("broadcast", where.nodes, messages, root), copies, model(under))


@pytest.mark.parametrize("n", range(3, 10))
def test_the_table_of_the_paper(n):
    for messages, copies in ((1, 1), (400, 1), (400, n - 1), (7, 2)):
        lower = found(f"star:{n}", messages, copies)
        nodes = network(f"star:{n}").nodes
        assert best(lower, "steps").value == -(-messages * copies // (n - 1)) + 3 * (n - 1) // 2 - 1
        assert best(lower, "transmissions").value == messages * copies * (nodes - 1)
        assert all(b.formula and b.source for b in lower)


def shortest_broadcast(graph, root, messages, one_port):
    """The least number of all-port (or one-port) steps of a broadcast, by breadth-first search over what everybody holds."""
    full = (1 << messages) - 1
    start = tuple(full if v == root else 0 for v in graph)
    arcs = list(graph.edges)
    front, seen, steps = {start}, {start}, 0
    while not any(all(held == full for held in state) for state in front):
        following = set()
        for state in front:
            choices = [
                [None, *(c for c in range(messages) if state[u] >> c & 1 and not state[v] >> c & 1)] for u, v in arcs
            ]
            for picked in product(*choices):
                used = [arc for arc, c in zip(arcs, picked, strict=True) if c is not None]
                if one_port and (len({u for u, _ in used}) < len(used) or len({v for _, v in used}) < len(used)):
                    continue
                after = list(state)
                for (_, v), c in zip(arcs, picked, strict=True):
                    if c is not None:
                        after[v] |= 1 << c
                following.add(tuple(after))
        front = following - seen
        seen |= following
        steps += 1
    return steps


@pytest.mark.parametrize(
    ("spec", "messages"), [("ring:4", 1), ("path:3", 2), ("path:4", 1), ("mesh:2x2", 1), ("tree:2,1", 2), ("ring:3", 2)]
)
@pytest.mark.parametrize("one_port", [False, True])
def test_no_schedule_beats_the_bound(spec, messages, one_port):
    graph = graph_of(network(spec))
    for root in range(min(2, len(graph))):
        bound = best(found(spec, messages, 1, "one-port" if one_port else "all-port", root), "steps").value
        assert bound <= shortest_broadcast(graph, root, messages, one_port)


def test_the_bound_of_copies_against_networkx():
    """With x copies of one message, the farthest of x disjoint shortest ways is at least the eccentricity away."""
    for spec in ("star:3", "star:4", "hypercube:3"):
        graph = graph_of(network(spec))
        far = nx.eccentricity(graph, 0)
        assert best(found(spec, 1, 1), "steps").value == far


def test_one_node_needs_nothing():
    assert [b.value for b in found("mesh:1", 5, 1)] == [0, 0]


def test_no_plan_is_faster_than_the_bound():
    for spec in ("star:4", "mesh:3x4", "torus:3x3", "tree:2,2", "hypercube:3"):
        where = network(spec)
        for root, messages in product((0, where.nodes - 1), (1, 5, 100)):
            schedule = plan("broadcast", where, root=root, messages=messages)
            assert schedule.steps >= best(found(spec, messages, 1, root=root), "steps").value
