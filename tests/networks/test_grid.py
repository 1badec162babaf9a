"""Meshes and tori against networkx, and what makes a torus a Cayley network."""

from dataclasses import FrozenInstanceError
from itertools import product
from math import prod
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.errors import NetworkError
from treecast.networks import network as spelled
from treecast.networks.grid import Mesh, Torus

LEAST, MOST = -(2**63), 2**63 - 1
"""The extreme node and port numbers that an array can hold."""

SHAPES = [
    [*product(range(1, 14))],
    [*product(range(1, 6), repeat=2)],
    [*product(range(1, 5), repeat=3)],
    [(2, 1, 3, 2), (1, 1, 1, 1), (2, 2, 2, 2, 2)],
]
"""Sides of grids of one, two, three and more axes."""


def arcs_of(network: Any) -> list[tuple[int, int]]:
    table = network.neighbor_table()
    return [(u, int(v)) for u, row in enumerate(table) for v in row if v >= 0]


@pytest.mark.parametrize("shapes", SHAPES, ids=["one axis", "two axes", "three axes", "more axes"])
def test_ports_of_a_mesh(shapes: list[tuple[int, ...]]) -> None:
    for sides in shapes:
        mesh = Mesh(sides)
        assert mesh.ports == 2 * len(sides)
        for u, port in product(range(mesh.nodes), range(mesh.ports)):
            there = list(np.unravel_index(u, sides))
            there[port // 2] += 1 if port % 2 == 0 else -1
            inside = all(0 <= at < side for at, side in zip(there, sides, strict=True))
            assert mesh.neighbor(u, port) == (np.ravel_multi_index(there, sides) if inside else -1)


@pytest.mark.parametrize("shapes", SHAPES, ids=["one axis", "two axes", "three axes", "more axes"])
def test_ports_of_a_torus(shapes: list[tuple[int, ...]]) -> None:
    for sides in shapes:
        torus = Torus(sides)
        moves = [(axis, way) for axis, side in enumerate(sides) for way in ([], [1], [1, -1])[min(side, 3) - 1]]
        assert torus.ports == torus.degree == len(moves)
        assert [torus.port_name(port) for port in range(torus.ports)] == [f"{'- +'[way + 1]}{a}" for a, way in moves]
        for u, (port, (axis, way)) in product(range(torus.nodes), enumerate(moves)):
            there = list(np.unravel_index(u, sides))
            there[axis] = (there[axis] + way) % sides[axis]
            assert torus.neighbor(u, port) == np.ravel_multi_index(there, sides)


@pytest.mark.parametrize("shapes", SHAPES, ids=["one axis", "two axes", "three axes", "more axes"])
def test_translation_keeps_ports_and_distances(shapes: list[tuple[int, ...]]) -> None:
    for sides in shapes:
        torus = Torus(sides)
        nodes = np.arange(torus.nodes)
        moved = torus.translate(nodes[:, None], nodes)
        at = np.array(np.unravel_index(nodes, sides))
        wanted = (at[:, :, None] + at[:, None, :]) % np.array(sides)[:, None, None]
        assert np.array_equal(moved, np.ravel_multi_index(tuple(wanted), sides))
        assert np.array_equal(moved[:, 0], nodes)
        assert np.array_equal(torus.untranslate(nodes[:, None], moved), np.broadcast_to(nodes, moved.shape))
        for port in range(torus.ports):
            there = torus.translate(nodes[:, None], torus.neighbor(nodes, port))
            assert np.array_equal(torus.neighbor(moved, port), there)
        for h in nodes:
            image = torus.translate(h, nodes)
            assert np.array_equal(torus.distance(image[:, None], image), torus.distance(nodes[:, None], nodes))


@pytest.mark.parametrize("network", [Mesh((3, 4)), Torus((3, 4)), Torus((1, 1)), spelled("path:5")])
def test_there_is_no_arc_outside(network: Mesh | Torus) -> None:
    nodes, ports = np.array([LEAST, -1, 0, network.nodes, MOST]), np.array([LEAST, -1, MOST])
    assert (network.neighbor(nodes[:, None], ports) == -1).all()
    assert (network.neighbor(nodes[[0, 1, 3, 4], None], np.arange(network.ports)) == -1).all()
    assert network.neighbor(0, network.ports) == -1
    for u, port in product((LEAST, -1, network.nodes, MOST), (LEAST, -1, 0, network.ports, MOST)):
        assert network.neighbor(u, port) == -1


@given(
    st.sampled_from([Mesh, Torus]),
    st.lists(st.integers(1, 40), min_size=1, max_size=6).filter(lambda sides: prod(sides) <= 2**40),
    st.data(),
)
def test_at_any_size(kind: type[Mesh] | type[Torus], sides: list[int], data: st.DataObject) -> None:
    network = kind(tuple(sides))
    node = st.integers(0, network.nodes - 1)
    u, v = data.draw(node), data.draw(node)
    there = network.neighbor(u, np.arange(network.ports))
    arcs = there[there >= 0]
    assert len(set(arcs.tolist())) == arcs.size <= network.degree
    assert (network.distance(u, arcs) == 1).all()
    distance = int(network.distance(u, v))
    assert distance == network.distance(v, u) <= min(network.diameter, network.eccentricity(u))
    if u != v:
        assert network.distance(arcs, v).min() == distance - 1
    label = network.label(u)
    assert label == ",".join(map(str, map(int, np.unravel_index(u, sides))))
    assert [network.node(text) for text in (label, f"({label})", f" ( {label.replace(',', ' , ')} ) ")] == [u] * 3
    assert network.node(u) == u
    assert spelled(network.spec) == network
    if isinstance(network, Torus):
        assert network.distance(network.untranslate(u, v), 0) == distance
        assert network.translate(u, network.untranslate(u, v)) == v


def test_shapes_and_types() -> None:
    for network in (Mesh((2, 3, 4)), Torus((2, 3, 4))):
        some, others = np.arange(6, dtype=np.int32).reshape(6, 1), np.arange(4)
        for made in (network.neighbor(some, others), network.distance(some, others)):
            assert (made.shape, made.dtype) == ((6, 4), np.int64)
        for made in (network.neighbor(1, 2), network.distance(1, 2)):
            assert (made.shape, made.dtype) == ((), np.int64)
        assert network.coordinates(some).shape == (3, 6, 1)
        assert network.distance([], 0).shape == (0,)
        x, y, z = network.coordinates(23)
        assert (x, y, z) == (1, 2, 3)
    assert Torus((2, 3)).translate([[1], [2]], [0, 1, 2]).shape == (2, 3)


@pytest.mark.parametrize(
    ("network", "spec", "text"),
    [
        (spelled("mesh:8x8x8"), "mesh:8x8x8", "7,7,7"),
        (spelled("torus:4x1x2"), "torus:4x1x2", "3,0,1"),
        (spelled("path:9"), "path:9", "8"),
        (spelled("ring:8"), "ring:8", "7"),
        (spelled("torus:08"), "torus:8", "7"),
    ],
)
def test_spelling(network: Mesh | Torus, spec: str, text: str) -> None:
    assert network.spec == spec
    assert repr(network) == f"network({spec!r})"
    assert network.label(network.nodes - 1) == text
    assert network.node(text) == network.node(str(network.nodes - 1)) == network.nodes - 1


def test_one_network_goes_by_two_names() -> None:
    ring, torus = Torus((8,), "ring"), Torus((8,))
    assert arcs_of(ring) == arcs_of(torus)
    assert ring != torus
    assert ring == Torus([8], "ring")
    assert len({ring, Torus((8,), "ring"), torus, Mesh((8,))}) == 3
    assert Torus((2, 1, 3)).port_name(2) == "-2"
    assert [Mesh((9, 1)).port_name(port) for port in range(4)] == ["+0", "-0", "+1", "-1"]


def test_nothing_can_be_changed() -> None:
    for network in (Mesh((2, 3)), Torus((2, 3))):
        before = network.neighbor_table().tolist()
        for name in ("sides", "family", "arbitrary"):
            with pytest.raises(FrozenInstanceError):
                setattr(network, name, 1)
        assert network.neighbor_table().tolist() == before
        sides = list(network.sides)
        sides[0] = 9
        assert network.sides == (2, 3)


def test_as_large_as_it_may_be() -> None:
    for network in (Mesh((2**20, 2**20)), Torus((2**20, 2**20))):
        last = network.nodes - 1
        assert network.nodes == 2**40
        assert network.label(last) == "1048575,1048575"
        assert network.distance(0, last) == (2 if isinstance(network, Torus) else network.diameter)
        assert network.eccentricity(0) == network.diameter
    assert Mesh((2**20, 2**20)).arcs == 4 * (2**20 - 1) * 2**20
    assert Torus((2**40,), "ring").neighbor(0, 1) == 2**40 - 1


@pytest.mark.parametrize("text", ["", "8xx", "x8", "8x", "8x8\n", "8 x 8", "-3", "+3", "3.0", "8X8", "٣", "9" * 20])
@pytest.mark.parametrize(
    ("name", "right"),
    [("mesh", "mesh:8x8x8"), ("torus", "torus:4x4x4"), ("path", "path:9"), ("ring", "ring:8")],
)
def test_misspelt(name: str, right: str, text: str) -> None:
    with pytest.raises(NetworkError) as caught:
        spelled(f"{name}:{text}")
    message = str(caught.value)
    assert repr(f"{name}:{text}") in message
    meant = f"; did you mean '{name}:8x8'?" if text in ("8X8", "8x8\n") and "x" in right.partition(":")[2] else ""
    assert message.endswith(right + meant)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: spelled("mesh:0x3"), "no mesh has such sides: .* as in mesh:8x8x8"),
        (lambda: spelled("path:0"), "no path has such sides: .* as in path:9"),
        (lambda: spelled("path:3x3"), "write path:N, as in path:9"),
        (lambda: spelled("ring:3x3"), "write ring:N, as in ring:8"),
        (lambda: Mesh((3, 3), "path"), "no path has such sides: .* as in path:9"),
        (lambda: Torus((3, 3), "ring"), "no ring has such sides: .* as in ring:9"),
        (lambda: Torus(()), "no torus has such sides"),
        (lambda: Torus((3, -1)), "no torus has such sides"),
        (lambda: Mesh((2.5,)), "no mesh has such sides"),
        (lambda: Mesh(8), "no mesh has such sides"),
        (lambda: Mesh("88"), "no mesh has such sides"),
        (lambda: Mesh((3,), "ring"), "write mesh or path"),
        (lambda: Torus((3,), "new\nline"), "write torus or ring"),
        (lambda: Mesh((2**20, 2**20 + 1)), "2\\^40"),
        (lambda: Torus((10**5000,)), "2\\^40"),
        (lambda: Mesh((8, 8)).node("8,0"), "coordinates go from 0,0 to 7,7"),
        (lambda: Mesh((8, 8)).node("1,2,3"), "a label like 7,7"),
        (lambda: Mesh((8, 8)).node("1,-2"), "a label like 7,7"),
        (lambda: Mesh((8, 8)).node("(1,2"), "a label like 7,7"),
        (lambda: Mesh((8, 8)).node("64"), "nodes go from 0 to 63"),
        (lambda: Mesh((9,), "path").node("9"), "nodes go from 0 to 8"),
        (lambda: Torus((8, 8)).label(-1), "nodes go from 0 to 63"),
        (lambda: Mesh((8, 8)).eccentricity(64), "nodes go from 0 to 63"),
        (lambda: Torus((8, 8)).port_name(4), "4 ports"),
        (lambda: Mesh((8, 8)).port_name(-1), "4 ports"),
    ],
)
def test_what_does_not_exist(make: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def oracle(sides: tuple[int, ...], periodic: bool) -> Any:
    """Networkx's grid, its nodes (the reversed coordinates) renumbered, without a ring of one node's loop."""
    grid = nx.grid_graph(dim=list(sides), periodic=periodic)
    if len(sides) == 1:
        grid = nx.relabel_nodes(grid, {u: (u,) for u in grid})
    grid.remove_edges_from(list(nx.selfloop_edges(grid)))
    return nx.relabel_nodes(grid, lambda at: int(np.ravel_multi_index(at[::-1], sides)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mesh, Torus])
@pytest.mark.parametrize("shapes", SHAPES, ids=["one axis", "two axes", "three axes", "more axes"])
def test_closed_forms(kind: type[Mesh] | type[Torus], shapes: list[tuple[int, ...]]) -> None:
    for sides in shapes:
        network = kind(sides)
        truth = oracle(sides, kind is Torus)
        nodes = np.arange(network.nodes)
        arcs = arcs_of(network)
        assert network.nodes == len(truth)
        assert len(arcs) == len(set(arcs)) == network.arcs  # never two arcs between the same two nodes
        assert set(arcs) == set(truth.to_directed().edges())
        assert network.degree == max(degree for _, degree in truth.degree())
        assert network.diameter == nx.diameter(truth)
        distances = network.distance(nodes[:, None], nodes)
        lengths = dict(nx.all_pairs_shortest_path_length(truth))
        assert distances.tolist() == [[lengths[u][v] for v in nodes] for u in nodes]
        assert [network.eccentricity(u) for u in nodes] == distances.max(axis=1).tolist()
        assert np.array_equal(network.coordinates(nodes), np.unravel_index(nodes, sides))
