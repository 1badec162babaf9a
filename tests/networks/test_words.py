"""De Bruijn and Kautz networks, whose arcs lead one way, against words as people write them and against networkx."""

from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest

from treecast.errors import NetworkError
from treecast.networks import network
from treecast.networks.core import Network

DE_BRUIJN = [(d, k) for d, most in ((2, 5), (3, 3), (4, 2), (11, 2)) for k in range(1, most + 1)]
KAUTZ = [(d, k) for d, most in ((2, 4), (3, 3), (10, 2)) for k in range(1, most + 1)]
SPECS = [f"debruijn:{d},{k}" for d, k in DE_BRUIJN] + [f"kautz:{d},{k}" for d, k in KAUTZ]


def words(spec):
    """All words of a network in order, and the arcs between them, from the definition."""
    family, _, numbers = spec.partition(":")
    d, k = map(int, numbers.split(","))
    letters = range(d + (family == "kautz"))
    found = list(product(letters, repeat=k))
    if family == "kautz":
        found = [word for word in found if all(a != b for a, b in pairwise(word))]
    known = set(found)
    shifted = [(word, (*word[1:], letter)) for word in found for letter in letters]
    between = "." if max(letters) > 9 else ""
    return found, [(u, v) for u, v in shifted if v in known and u != v], lambda word: between.join(map(str, word))


@pytest.mark.parametrize("spec", SPECS)
def test_against_the_definition(spec):
    where, (every, arcs, spelled) = network(spec), words(spec)
    number = {word: u for u, word in enumerate(every)}
    assert (where.spec, where.nodes, where.arcs) == (spec, len(every), len(arcs))
    assert where.labels(np.arange(len(every))) == [spelled(word) for word in every]
    assert [where.node(spelled(word)) for word in every] == list(range(len(every)))
    table = where.neighbor_table()
    ours = sorted((u, v) for u, row in enumerate(table.tolist()) for v in row if v >= 0)
    assert ours == sorted((number[u], number[v]) for u, v in arcs)
    for u, row in enumerate(table.tolist()):
        last = [every[v][-1] for v in row if v >= 0]
        assert last == sorted(last)
        assert where.degree_at(u) == sum(v >= 0 for v in row)
    assert where.degree == max((table >= 0).sum(axis=1)) <= where.ports
    graph = nx.DiGraph(arcs)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    distances = [[lengths[u][v] for v in every] for u in every]
    nodes = np.arange(len(every))
    assert where.distance(nodes[:, None], nodes).tolist() == distances
    assert where.diameter == np.max(distances)
    assert [where.eccentricity(u) for u in where] == np.max(distances, axis=1).tolist()
    assert [where.levels(u) for u in where] == [tuple(np.bincount(row).tolist()) for row in distances]
    ports = where.port_between(nodes[:, None], nodes)
    assert np.array_equal(ports, Network._port(where, *np.broadcast_arrays(nodes[:, None], nodes)))


@pytest.mark.each(3)
@pytest.mark.parametrize("spec", SPECS)
def test_with_arcs_reversed(spec):
    where = network(spec)
    back, nodes = where.reversed(), np.arange(where.nodes)
    assert where.both_ways == all((v, u) in where.to_networkx().edges for u, v in where.to_networkx().edges)
    assert back.reversed() == where
    if where.both_ways:
        assert back is where
        return
    assert back != where
    assert set(back.to_networkx().edges) == {(v, u) for u, v in where.to_networkx().edges}
    assert np.array_equal(back.distance(nodes[:, None], nodes), where.distance(nodes[:, None], nodes).T)
    assert (back.nodes, back.arcs, back.diameter) == (where.nodes, where.arcs, where.diameter)
    assert back.degree == max(where.to_networkx().in_degree(v) for v in nodes.tolist())
    assert back.labels(nodes) == where.labels(nodes)
    assert back.node(where.label(where.nodes - 1)) == where.nodes - 1
    assert (back.neighbor([-1, where.nodes, 0, 0], [0, 0, -1, back.ports]) == -1).all()
    assert [back.degree_at(v) for v in back] == [where.to_networkx().in_degree(v) for v in where]


def test_which_have_arcs_both_ways():
    assert [spec for spec in SPECS if network(spec).both_ways] == [spec for spec in SPECS if spec.endswith(",1")]
    for spec in ("star:4", "hypercube:3", "torus:3x4", "mesh:2x3", "tree:2,2", "complete:5", "path:1", "ring:2"):
        where = network(spec)
        assert where.both_ways
        assert Network.both_ways.func(where)  # what is known of them is what their arcs say
        assert where.reversed() is where
    assert not network(nx.DiGraph([(0, 1), (1, 2), (2, 0)])).both_ways
    assert network(nx.DiGraph([(0, 1), (1, 0)])).both_ways
    some = network(nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 0)]))
    assert not some.both_ways
    assert some.reversed().neighbors(0) == [1, 2]


@pytest.mark.parametrize(
    "spec",
    ["debruijn:1,3", "debruijn:2,0", "debruijn:2,41", "debruijn:1000000,9", "debruijn:2", "debruijn:2,3,4", "debruijn:x,2",
     "kautz:1,3", "kautz:2,0", "kautz:2,41", "kautz:1000000,9", "kautz:2", "kautz:-2,3"],
)  # fmt: skip
def test_what_is_no_network(spec):
    with pytest.raises(NetworkError, match=r"debruijn:D,K|kautz:D,K|at most 2\^40 nodes") as caught:
        network(spec)
    assert "\n" not in str(caught.value)


def test_what_is_no_word():
    where = network("kautz:2,3")
    for text in ("0a1", "٣12", "0.1.2", "", "-1"):
        with pytest.raises(NetworkError, match="is no node of kautz:2,3: write a label like 212"):
            where.node(text)
    assert [text in where for text in ("012", "11", "12", "011", "112")] == [True, True, False, False, False]
    assert where.node("11") == 11
    assert where.node("010") == 0
    assert where.node("012") == 1


def test_large_ones():
    for spec in ("debruijn:2,40", "kautz:2,39"):
        where = network(spec)
        last = where.nodes - 1
        assert where.node(where.label(last)) == last
        assert int(where.distance(0, last)) == where.diameter
        assert where.neighbor(last, [0, 1]).min() >= -1
