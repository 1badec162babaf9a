"""Graphs that are a known network under other names, against networkx's test of isomorphism."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.networks import network
from treecast.networks.recognition import is_likeness, recognise

SAME = [
    "complete:2", "complete:7", "hypercube:2", "hypercube:3", "hypercube:5", "star:4", "star:5", "ring:5", "ring:12",
    "torus:3x3", "torus:3x4", "torus:2x7", "torus:4x8", "torus:3x5x7", "torus:5x5x5", "torus:3x3x3x3", "torus:2x3x6",
    "hyperx:3x4", "hyperx:4x4x4", "hyperx:2x3x5", "circulant:13,1,5", "circulant:20,2,5", "circulant:21,1,4,5",
    "path:2", "path:6", "mesh:2x3", "mesh:3x4", "mesh:4x4x4", "mesh:2x2x5",
]  # fmt: skip
OTHER_NAME = {"torus:4x4x4": "hypercube:6", "hyperx:3x3": "torus:3x3", "circulant:6,2,3": "torus:2x3", "star:3": "ring:6",
              "mesh:2x2": "hypercube:2", "circulant:9,2": "ring:9", "complete:5 without nodes 3": "complete:4",
              "torus:2x2x4": "hypercube:4", "circulant:16,1,5": "circulant:16,1,3", "hyperx:5": "complete:5"}  # fmt: skip
NONE = ["petersen", "slim-fly:5", "dragonfly:4,2", "random-regular:30,4,1", "kautz:2,3", "debruijn:2,4", "tree:2,3",
        "hypercube:4 without links 0-1", "torus:4x4 without nodes 0,0"]  # fmt: skip


def graph(spec):
    """The links, as a networkx graph of numbers."""
    where = network(spec)
    found = nx.Graph()
    found.add_nodes_from(range(where.nodes))
    found.add_edges_from(where.to_networkx().edges)
    return found


def shuffled(plain, seed):
    """The same graph: other names, nodes and links in another order."""
    chance = Random(seed)
    names = [f"host{u}" for u in plain]
    chance.shuffle(names)
    named = nx.relabel_nodes(plain, dict(zip(plain, names, strict=True)))
    nodes, links = list(named), list(named.edges)
    chance.shuffle(nodes)
    chance.shuffle(links)
    found = nx.Graph()
    found.add_nodes_from(nodes)
    found.add_edges_from(links)
    return network(found)


@given(st.sampled_from([*SAME, *OTHER_NAME]), st.integers(0, 2**30))
def test_members_of_families_are_recognised_under_any_names(spec, seed):
    where = shuffled(graph(spec), seed)
    found = recognise(where)
    assert found.known.spec == OTHER_NAME.get(spec, spec if spec != "path:2" else "complete:2")
    assert found.given is where
    assert np.array_equal(found.to[found.back], np.arange(where.nodes))
    links = {frozenset(found.to[list(link)].tolist()) for link in where.to_networkx().edges}
    assert links == set(map(frozenset, graph(found.known.spec).edges))


@pytest.mark.parametrize("spec", NONE)
def test_others_are_not(spec):
    assert recognise(network(spec)) is None
    if "kautz" not in spec and "debruijn" not in spec:
        assert recognise(shuffled(graph(spec), 1)) is None


@given(st.sampled_from([spec for spec in SAME if network(spec).nodes <= 16]), st.integers(0, 2**30))
def test_nothing_is_recognised_that_networkx_tells_apart(spec, seed):
    plain, chance = graph(spec), Random(seed)
    if plain.number_of_edges() < 2:
        return
    (a, b), (c, d) = chance.sample(list(plain.edges), 2)
    plain.remove_edges_from([(a, b), (c, d)])
    plain.add_edges_from([(a, c), (b, d)] if len({a, b, c, d}) == 4 else [(a, b), (c, d)])
    if not nx.is_connected(plain):
        return
    found = recognise(shuffled(plain, seed))
    alike = nx.vf2pp_is_isomorphic(plain, graph(spec))
    assert not alike or found is not None
    assert found is None or nx.vf2pp_is_isomorphic(plain, graph(found.known.spec))


def test_a_certificate_that_is_wrong_is_no_certificate():
    where = shuffled(graph("hypercube:4"), 3)
    found = recognise(where)
    assert is_likeness(where, found.known, found.to)
    for u in range(1, 16):
        wrong = found.to.copy()
        wrong[[0, u]] = wrong[[u, 0]]
        assert not is_likeness(where, found.known, wrong)
    assert not is_likeness(where, found.known, np.zeros(16, np.int64))
    assert not is_likeness(where, network("torus:4x5"), found.to)


def test_directed_and_known_networks_are_left_alone():
    assert recognise(network("hypercube:4")) is None
    assert recognise(network(nx.DiGraph([(0, 1), (1, 2), (2, 0)]))) is None
    assert recognise(network("complete:1")) is None
    assert repr(recognise(network(nx.cycle_graph(9)))) == "<Likeness: graph:9 is ring:9>"


@pytest.mark.parametrize(
    "spec", ["hypercube:10", "torus:16x16", "torus:8x8x8", "star:6", "hyperx:8x8", "circulant:500,1,31"]
)
def test_larger_ones(spec):
    plain = graph(spec)
    assert recognise(shuffled(plain, 5)).known.spec == spec
    (a, b), (c, d) = list(plain.edges)[3], list(plain.edges)[-7]
    plain.remove_edges_from([(a, b), (c, d)])
    plain.add_edges_from([(a, c), (b, d)])
    assert recognise(shuffled(plain, 5)) is None
