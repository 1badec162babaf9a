"""No bound is above the optimum: on all small networks, one step less than a bound says cannot be done, as a search finds."""

from functools import cache

import networkx as nx
import pytest

from tests.oracles import plain
from tests.oracles.optimum import Place, allgathers_in, allreduces_in, broadcasts_in, copied_in, delivers_in, reduces_in
from treecast import bounds
from treecast.errors import TreecastError
from treecast.lower_bounds import best
from treecast.networks import network

KINDS = ("broadcast", "scatter", "allgather", "alltoall", "reduce", "allreduce")
ROOTED = ("broadcast", "scatter", "reduce")


@cache
def graphs(nodes):
    """All connected graphs of so many nodes, as sets of arcs both ways."""
    atlas = nx.graph_atlas_g()
    found = [graph for graph in atlas if len(graph) == nodes and nx.is_connected(graph)]
    return [frozenset((*graph.edges, *((v, u) for u, v in graph.edges))) for graph in found]


def possible(kind, place, root, messages, copies, steps):
    """Whether nothing that the search knows forbids a collective in so many steps."""
    others = [v for v in place.nodes if v != root]
    if kind == "scatter":
        return delivers_in(place, [(root, v) for v in others] * messages, copies, steps)
    if kind == "alltoall":
        return delivers_in(
            place, [(u, v) for u in place.nodes for v in place.nodes if u != v] * messages, copies, steps
        )
    if copies > 1:
        return copied_in(place, [root] if kind == "broadcast" else list(place.nodes), steps)
    spread = {"broadcast": broadcasts_in, "reduce": reduces_in}
    if kind in spread:
        return spread[kind](place, root, messages, steps)
    return (allgathers_in if kind == "allgather" else allreduces_in)(place, messages, steps)


def held_against(where, place, kinds=KINDS, jobs=((1, 1), (2, 1), (1, 2))):
    """Hold all bounds of steps on a network against the search; return how many there were.

    With one port two messages of every node take too long to search: of one root they are.
    """
    counted = 0
    for kind in kinds:
        for messages, copies in jobs:
            if messages > 1 and place.one_port and kind not in ROOTED:
                continue
            for root in place.nodes if kind in ROOTED else (0,):
                model = "one-port" if place.one_port else "all-port"
                asked = {"root": root} if kind in ROOTED else {}
                try:
                    found = bounds(kind, where, messages=messages, copies=copies, model=model, **asked)
                except TreecastError:  # not all are reached, or by so many ways; or a sum in copies
                    continue
                bound = best(found, "steps")
                said = (kind, sorted(place.arcs), messages, copies, model, root, str(bound))
                assert not possible(kind, place, root, messages, copies, bound.value - 1), said
                counted += 1
    return counted


def graph_of(nodes, arcs):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(arcs)
    return network(graph)


def all_of(shapes, nodes, one_port, **more):
    return sum(held_against(graph_of(nodes, arcs), Place(nodes, arcs, one_port), **more) for arcs in shapes)


NAMED = [
    *("ring:3", "ring:4", "complete:4", "hypercube:2", "debruijn:2,2", "path:4"),
    *(pytest.param(spec, marks=pytest.mark.long) for spec in ("kautz:2,1", "ring:5", "complete:5")),
]


@pytest.mark.parametrize("one_port", [False, True])
@pytest.mark.parametrize("spec", NAMED)
def test_on_networks_that_have_proofs_of_their_own(spec, one_port):
    graph = nx.DiGraph(plain.graph_of(network(spec)))
    assert held_against(network(spec), Place(len(graph), set(graph.edges), one_port)) >= 9
