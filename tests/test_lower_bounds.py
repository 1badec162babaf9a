from itertools import combinations, product

import networkx as nx
import pytest

from tests.oracle import graph_of
from treecast.collectives import Collective
from treecast.errors import PlanError
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


@pytest.mark.parametrize("spec", ["ring:4", "ring:5", "star:3", "hypercube:2", "hypercube:3", "torus:3x3"])
def test_no_disjoint_ways_are_shorter_than_the_bound_of_copies(spec):
    """The x disjoint ways to some node take, at best, as many steps as the longest of them has arcs."""
    graph = graph_of(network(spec))
    for copies in range(1, network(spec).degree + 1):
        needed = 0
        for node in range(1, len(graph)):
            ways = sorted(nx.all_simple_paths(graph, 0, node, cutoff=6 if len(graph) > 8 else None), key=len)
            best_of = [
                len(some[-1]) - 1
                for some in combinations(ways[:40], copies)
                if len({v for way in some for v in way[1:-1]}) == sum(len(way) - 2 for way in some)
                and len([way for way in some if len(way) == 2]) <= 1
            ]
            needed = max(needed, min(best_of))
        assert best(found(spec, 1, copies), "steps").value <= needed
    with pytest.raises(PlanError, match="disjoint ways"):
        found(spec, 1, network(spec).degree + 1)


def test_where_messages_combine_only_distance_counts():
    assert best(found("star:4", 400, 1, "shouting"), "steps").value == 4
    assert best(found("path:3", 1000, 1, "shouting"), "steps").value == 2
    assert best(found("star:4", 400, 1, "whispering"), "steps").value == 5  # 24 nodes: five doublings


def test_one_node_needs_nothing():
    assert [b.value for b in found("mesh:1", 5, 1)] == [0, 0]


def test_no_plan_is_faster_than_the_bound():
    for spec in ("star:4", "mesh:3x4", "torus:3x3", "tree:2,2", "hypercube:3"):
        where = network(spec)
        for root, messages in product((0, where.nodes - 1), (1, 5, 100)):
            schedule = plan("broadcast", where, root=root, messages=messages)
            assert schedule.steps >= best(found(spec, messages, 1, root=root), "steps").value
