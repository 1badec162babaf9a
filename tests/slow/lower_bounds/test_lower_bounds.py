from itertools import product

import pytest

from tests.lower_bounds.test_lower_bounds import COLLECTIVES, shortest_personal, steps
from tests.oracles.plain import graph_of
from treecast.models import MODELS
from treecast.networks import network


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", ["ring:3", "path:3", "path:4", "star:3", "hypercube:2", "tree:2,1", "tree:3,1"])
@pytest.mark.parametrize("one_port", [False, True])
def test_no_scatter_beats_the_bound(spec, one_port):
    graph, under = graph_of(network(spec)), "one-port" if one_port else "all-port"
    for root in range(1 if spec == "star:3" else 2):
        if one_port and spec == "star:3":
            continue  # too many states
        to = [(root, v) for v in graph if v != root]
        least = shortest_personal(graph, to, one_port)
        assert steps("scatter", spec, under=under, root=root) <= least
        back = shortest_personal(graph, [(v, u) for u, v in to], one_port)
        assert steps("gather", spec, under=under, root=root) <= back == least


def shortest_allgather(graph, one_port):
    """The least number of steps until all hold all, one chunk each, by breadth-first search."""
    nodes, arcs = len(graph), list(graph.edges)
    front, steps = {tuple(1 << v for v in range(nodes))}, 0
    while not any(all(held == (1 << nodes) - 1 for held in state) for state in front):
        following = set()
        for state in front:
            choices = [[c for c in range(nodes) if state[u] & ~state[v] & 1 << c] for u, v in arcs]
            choices = [[*some, *([None] if one_port or not some else [])] for some in choices]
            for picked in product(*choices):
                used = [arc for arc, c in zip(arcs, picked, strict=True) if c is not None]
                if one_port and (len({u for u, _ in used}) < len(used) or len({v for _, v in used}) < len(used)):
                    continue
                after = list(state)
                for (_, v), c in zip(arcs, picked, strict=True):
                    after[v] |= 0 if c is None else 1 << c
                following.add(tuple(after))
        front = following
        steps += 1
    return steps


@pytest.mark.parametrize(
    ("spec", "tight"), [("ring:3", 1), ("path:3", 2), ("hypercube:2", 2), ("tree:2,1", 2), ("ring:4", 2)]
)
@pytest.mark.parametrize("one_port", [False, True])
def test_no_allgather_beats_the_bound(spec, tight, one_port):
    least = shortest_allgather(graph_of(network(spec)), one_port)
    for kind in ("allgather", "reduce-scatter"):
        assert steps(kind, spec, under="one-port" if one_port else "all-port") <= least
        assert one_port or least == tight == steps(kind, spec)


@pytest.mark.parametrize("kind", COLLECTIVES)
def test_less_room_never_lowers_a_bound(kind):
    for spec in ("star:4", "hypercube:3", "mesh:2x3", "ring:5"):
        for messages in (1, 4):
            full = steps(kind, spec, messages)
            assert full <= steps(kind, spec, messages, under="all-port,half")
            assert full <= steps(kind, spec, messages, under="one-port")
            assert steps(kind, spec, messages, under="shouting") <= full
        assert all(steps(kind, spec, under=name) <= steps(kind, spec, under=f"{name},half") for name in MODELS)
    assert steps("allgather", "ring:5", under="whispering") == 4  # 5 nodes: one has no partner, then three doublings
