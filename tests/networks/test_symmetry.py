"""Symmetries: each element moves nodes and arcs onto nodes and arcs, and only the unit keeps a rank."""

import networkx as nx
import numpy as np
import pytest

from treecast.networks import network
from treecast.networks.arcs import arcs_of
from treecast.networks.symmetry import AbelianSymmetry, Automorphism

WITH_TURNS = [
    "fat-tree:2",
    "fat-tree:4",
    "fat-tree:6",
    "leaf-spine:1,1,1",
    "leaf-spine:3,2,2",
    "leaf-spine:2,2,4",
    "leaf-spine:2,3,2",
    "leaf-spine:4,4,6",
    "dragonfly:2,1",
    "dragonfly:4,2",
    "dragonfly:2,2,3",
    "dragonfly:3,1,1",
    "slim-fly:3",
    "slim-fly:5,2",
    "slim-fly:9",
]
CAYLEY = ["ring:5", "torus:3x4", "hypercube:3", "star:4", "circulant:9,1,2"]


@pytest.mark.parametrize("spec", [*WITH_TURNS, *CAYLEY])
def test_elements_carry_ranks_to_ranks_and_arcs_to_arcs(spec):
    where = network(spec)
    symmetry, every, arcs = where.symmetry, np.arange(where.nodes), arcs_of(where)
    known = {
        (u, v): port for u, v, port in zip(arcs.tail.tolist(), arcs.head.tolist(), arcs.port.tolist(), strict=True)
    }
    for element in range(symmetry.order):
        moved = symmetry.carry(element, every)
        assert sorted(moved.tolist()) == every.tolist()
        assert sorted(moved[where.ranks].tolist()) == where.ranks.tolist()
        assert (moved[where.ranks] != where.ranks).all() or element == 0
        ports = symmetry.carry_port(element, arcs.tail.astype(np.int64), arcs.port.astype(np.int64))
        ends = zip(moved[arcs.tail].tolist(), moved[arcs.head].tolist(), strict=True)
        assert [known[end] for end in ends] == ports.tolist()


@pytest.mark.parametrize("spec", [*WITH_TURNS, *CAYLEY])
def test_orbits_are_what_the_elements_reach(spec):
    where = network(spec)
    symmetry, arcs = where.symmetry, arcs_of(where)
    carried = [set(symmetry.carry(np.arange(symmetry.order), r).tolist()) for r in symmetry.representatives.tolist()]
    assert sorted(u for orbit in carried for u in orbit) == where.ranks.tolist()
    assert [min(orbit) for orbit in carried] == symmetry.representatives.tolist()
    tail, port = arcs.tail.astype(np.int64), arcs.port.astype(np.int64)
    orbit = symmetry.orbit_of(tail, port)
    for a in range(0, len(tail), 7):
        elements = np.arange(symmetry.order)
        reached = arcs.number(symmetry.carry(elements, tail[a]), symmetry.carry_port(elements, tail[a], port[a]))
        assert set(np.flatnonzero(orbit == orbit[a]).tolist()) == set(reached.tolist())


@pytest.mark.parametrize("spec", [*WITH_TURNS, "torus:3x4", "star:4"])
def test_onto_has_all_elements_that_carry_there(spec):
    where = network(spec)
    symmetry, u = where.symmetry, np.arange(where.nodes)
    table = symmetry.carry(np.arange(symmetry.order)[:, None], u)
    for node in {0, where.nodes // 2, where.nodes - 1}:
        at, element = symmetry.onto(u, node)
        expected = [(v, g) for g, v in np.argwhere(table == node).tolist()]
        assert sorted(zip(at.tolist(), element.tolist(), strict=True)) == sorted(expected)


def test_parallel_cables_are_carried_to_cables():
    graph = nx.Graph([(u, (u + 1) % 4, {"capacity": 2}) for u in range(4)])
    where = network(graph)
    turn = AbelianSymmetry(where, [Automorphism("turn", 4, np.array([1, 2, 3, 0]))])
    arcs = arcs_of(where)
    tail, port = arcs.tail.astype(np.int64), arcs.port.astype(np.int64)
    assert np.bincount(turn.orbit_of(tail, port)).tolist() == [4, 4, 4, 4]  # each way, each cable
    moved = turn.carry_port(1, tail, port)
    assert where.neighbor(turn.carry(1, tail), moved).tolist() == turn.carry(1, arcs.head).tolist()
    assert where.cable(turn.carry(1, tail), moved).tolist() == where.cable(tail, port).tolist()
