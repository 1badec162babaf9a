"""No bound is above the optimum: on all small networks, one step less than a bound says cannot be done, as a search finds."""

from functools import cache
from itertools import permutations, product

import networkx as nx
import pytest

from tests.oracles import plain
from tests.oracles.optimum import (
    CLASHES,
    Place,
    TooLong,
    allgathers_in,
    allreduces_in,
    broadcasts_in,
    copied_in,
    delivers_in,
    fewest_hops,
    fewest_sends,
    reduces_in,
)
from treecast import bounds
from treecast.errors import TreecastError
from treecast.lower_bounds import best
from treecast.networks import network

LOOKS = 20_000
MACHINES = tuple(CLASHES)
KINDS = ("broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "reduce-scatter", "allreduce")
ROOTED = ("broadcast", "scatter", "gather", "reduce")


@cache
def graphs(nodes):
    """All connected graphs of so many nodes, as sets of arcs both ways."""
    atlas = nx.graph_atlas_g()
    found = [graph for graph in atlas if len(graph) == nodes and nx.is_connected(graph)]
    return [frozenset((*graph.edges, *((v, u) for u, v in graph.edges))) for graph in found]


def pairs_of(kind, place, root):
    """Who sends personal data to whom; nobody in other kinds of collectives."""
    others = [v for v in place.nodes if v != root]
    known = {"scatter": [(root, v) for v in others], "gather": [(v, root) for v in others]}
    return list(permutations(place.nodes, 2)) if kind == "alltoall" else known.get(kind, [])


def possible(kind, place, root, messages, copies, steps):
    """Whether nothing that the search knows forbids a collective in so many steps. Raises TooLong."""
    place.looks = place.back.looks = LOOKS
    if pairs := pairs_of(kind, place, root):
        return delivers_in(place, pairs * messages, copies, steps)
    if copies > 1:
        return copied_in(place, [root] if kind == "broadcast" else list(place.nodes), steps)
    spread = {"broadcast": broadcasts_in, "reduce": reduces_in}
    if kind in spread:
        return spread[kind](place, root, messages, steps)
    if kind == "reduce-scatter":  # backwards, each contribution spreads from the owner of its sum
        return allgathers_in(place.back, messages, steps)
    return (allgathers_in if kind == "allgather" else allreduces_in)(place, messages, steps)


def fewest_sends_of(kind, place, root, messages, copies):
    """The fewest sends that do a collective, in any number of steps."""
    nodes = len(place.nodes)
    if pairs := pairs_of(kind, place, root):
        return messages * fewest_hops(place, pairs, copies)
    return (
        messages
        * copies
        * (1 if kind in ROOTED else nodes)
        * (fewest_sends(nodes) if kind == "allreduce" else nodes - 1)
    )


def held_against(where, place, kinds=KINDS, jobs=((1, 1), (2, 1), (1, 2))):
    """Hold the best bounds on a network against the search; return how often it told, and of which jobs it did not."""
    told, untold = 0, []
    for kind, (messages, copies) in product(kinds, jobs):
        for root in place.nodes if kind in ROOTED else (0,):
            asked = {"root": root} if kind in ROOTED else {}
            try:
                found = bounds(kind, where, messages=messages, copies=copies, model=place.machine, **asked)
            except TreecastError:  # not all are reached, or by so many ways; or a sum in copies
                continue
            bound = best(found, "steps")
            said = (kind, sorted(place.arcs), messages, copies, place.machine, root, str(bound))
            assert best(found, "transmissions").value <= fewest_sends_of(kind, place, root, messages, copies), said
            try:
                assert not possible(kind, place, root, messages, copies, bound.value - 1), said
                told += 1
            except TooLong:
                untold.append(said)
    return told, untold


def graph_of(nodes, arcs):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(arcs)
    return network(graph)


def all_of(shapes, nodes, machine):
    """Hold bounds on networks of some shapes against the search; return how often it told, and of which jobs it did not."""
    each = [held_against(graph_of(nodes, arcs), Place(nodes, arcs, machine)) for arcs in shapes]
    return sum(told for told, _ in each), [said for _, untold in each for said in untold]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("nodes", "jobs"), [(2, 24), (3, 76), (4, 288)])
def test_on_all_connected_graphs(nodes, jobs, machine):
    assert all_of(graphs(nodes), nodes, machine) == (jobs, [])


NAMED = [
    *("ring:3", "ring:4", "complete:4", "hypercube:2", "debruijn:2,2", "path:4"),
    *(pytest.param(spec, marks=pytest.mark.long) for spec in ("kautz:2,1", "ring:5", "complete:5")),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spec", NAMED)
def test_on_networks_that_have_proofs_of_their_own(spec, machine):
    graph = nx.DiGraph(plain.graph_of(network(spec)))
    told, untold = held_against(network(spec), Place(len(graph), set(graph.edges), machine))
    assert told >= 9
    assert len(untold) <= (spec == "ring:5")
