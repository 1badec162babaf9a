import networkx as nx
import numpy as np
import pytest

from tests.oracles.plain import graph_of
from treecast.errors import NetworkError
from treecast.networks import Hypercube, network


@pytest.mark.parametrize("d", range(7))
def test_it_is_the_hypercube_of_networkx(d):
    cube, oracle = Hypercube(d), nx.hypercube_graph(d) if d else nx.empty_graph([()])
    graph = graph_of(cube).to_undirected()

    def number(bits):
        return bits if isinstance(bits, int) else sum(bit << i for i, bit in enumerate(bits))

    assert {frozenset(map(number, edge)) for edge in oracle.edges} == {frozenset(edge) for edge in graph.edges}
    assert (cube.nodes, cube.degree, cube.arcs) == (2**d, d, d * 2**d)
    assert cube.diameter == (nx.diameter(graph) if d else 0)
    for u, row in nx.all_pairs_shortest_path_length(graph):
        assert all(int(cube.distance(u, v)) == distance for v, distance in row.items())


def test_translation_keeps_ports():
    cube = Hypercube(5)
    h, u = np.arange(32)[:, None], np.arange(32)[None, :]
    assert (cube.translate(h, 0) == h).all()
    assert (cube.untranslate(h, cube.translate(h, u)) == u).all()
    for port in range(5):
        assert (cube.neighbor(cube.translate(h, u), port) == cube.translate(h, cube.neighbor(u, port))).all()
        assert (cube.port_between(u, cube.neighbor(u, port)) == port).all()
    assert (cube.port_between(0, [0, 3, -1]) == -1).all()
    assert cube.neighbor([0, -1, 32, 0], [5, 0, 0, -1]).tolist() == [-1] * 4


def test_labels_both_ways():
    cube = network("hypercube:4")
    assert [cube.node(cube.label(u)) for u in range(16)] == list(range(16))
    assert (cube.label(5), cube.node("0b0101"), cube.node("5")) == ("0b0101", 5, 5)
    for text in ("0b", "0b2", "0b10000", "16", "x"):
        with pytest.raises(NetworkError, match=r"^[^\n]+$"):
            cube.node(text)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 10])
def test_d_binary_digits_are_a_label(d: int) -> None:
    cube = network(f"hypercube:{d}")
    for u in {0, 1, cube.nodes - 1, cube.nodes // 2}:
        assert cube.node(f"{u:0{d}b}") == cube.node(f"0b{u:b}") == u
    for text, says in (
        ("0" * (d + 1), "is no node"),
        ("0" * (d - 1) + "2", "is no node"),
        ("9" * (d + 3), "with labels"),
    ):
        if text != "2" or d == 1:
            with pytest.raises(NetworkError, match=says):
                cube.node(text)


def test_nodes_that_commas_join_are_told_apart() -> None:
    with pytest.raises(NetworkError, match="'2134,3214' is no node of star:4: put spaces between nodes"):
        network("star:4").node("2134,3214")


@pytest.mark.parametrize("spec", ["hypercube:-1", "hypercube:41", "hypercube:x", "hypercube:"])
def test_bad_dimensions_are_refused(spec):
    with pytest.raises(NetworkError, match=r"^[^\n]+$"):
        network(spec)
