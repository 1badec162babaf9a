"""What looks the same costs the same: from images of a source, with the sides in another order, on a torus, as a multicast."""

from itertools import permutations
from math import prod

import numpy as np
import pytest

from tests.papers.mesh.test_bisection import distances, shapes, symmetries
from treecast.networks import Mesh, Torus, network
from treecast.papers.mesh.builders import local_search, spreading
from treecast.papers.mesh.builders.bisection import is_contention_free, minimum
from treecast.papers.mesh.builders.eyes import total_distance
from treecast.plans import plan
from treecast.verification.verifier import verify

SIDES = [(5,), (1,), (5, 5), (5, 4), (3, 3, 3), (3, 4, 3), (6, 1, 3), (2, 2, 2, 2), (1, 1, 2)]


@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_images_are_those_by_all_reflections_and_exchanges(sides):
    shape = spreading.shape_of(sides)
    numbers = np.arange(prod(shape)).reshape(shape)
    turned = list(symmetries(numbers))
    for node in range(prod(shape)):
        alike = {int(t.reshape(-1)[node]) for t in turned if t.shape == shape}
        assert spreading.images(shape, node).tolist() == sorted(alike)


@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_nodes_are_carried_by_a_symmetry(sides):
    shape = spreading.shape_of(sides)
    there, here, nodes = distances(sides), distances(shape), np.arange(prod(sides))
    for root in range(prod(sides)):
        for image in spreading.images(shape, spreading.place_in_shape(sides, root)).tolist():
            moved = spreading.carry(sides, image, root, nodes)
            assert moved[image] == root
            assert sorted(moved.tolist()) == nodes.tolist()
            assert (there[moved][:, moved] == here).all()
    moved = spreading.nodes_of_shape(sides)[nodes]
    assert [spreading.place_in_shape(sides, v) for v in moved.tolist()] == nodes.tolist()


def assert_symmetric(shape):
    """From every source, with the sides in every order: equal cost from images, not less than on the torus, none meet."""
    torus, nodes = Torus(shape), prod(shape)
    step, src, dst = spreading.messages_on_torus(torus, nodes // 2)
    assert is_contention_free(torus, step, src, dst)
    assert sorted([nodes // 2, *dst.tolist()]) == list(range(nodes))
    round_it, costs = int(torus.distance(src, dst).sum()), {}
    for sides in sorted(set(permutations(shape))):
        mesh = Mesh(sides)
        for root in range(nodes):
            first = int(spreading.images(shape, spreading.place_in_shape(sides, root))[0])
            if first in costs and root > 1 and sides != shape:
                continue  # carried as those are that were looked at
            step, src, dst = spreading.messages_on_mesh(mesh, root)
            cost = int(mesh.distance(src, dst).sum())
            assert costs.setdefault(first, cost) == cost >= round_it, (sides, root)
            assert sorted([root, *dst.tolist()]) == list(range(nodes))
            assert is_contention_free(mesh, step, src, dst), (sides, root)


@pytest.mark.each(7)
@pytest.mark.parametrize("shape", [*shapes(12), (2, 9), (4, 5), (2, 2, 5), (2, 3, 5), (5, 6)], ids=str)
def test_all_sources_of_small_meshes(shape):
    assert_symmetric(spreading.shape_of(shape))


def cost(kind, spec, root=0, **more):
    schedule = plan(kind, spec, root=root, model="wormhole", **more)
    assert verify(schedule)
    return total_distance(schedule.network, schedule.rows)


def test_local_search_is_tried_from_few_of_the_best_sources():
    """So a torus of a hundred nodes is planned in two seconds, though each of its nodes is as good as the mesh's best."""
    tried = spreading._best_sources((3, 15))
    assert len(tried) == spreading._MOST_SOURCES
    least = minimum((3, 15))[1].least.reshape(-1)
    others = [v for v in np.flatnonzero(least == least.min()).tolist() if v not in tried]
    assert len({int(spreading.images((3, 15), v)[0]) for v in others}) > len(tried)
    assert local_search.fits((3, 15))
    assert not local_search.fits((45,))


@pytest.mark.parametrize("sides", [(4, 6), (6, 4), (7, 7), (11, 11)], ids=str)
def test_the_map_by_source_is_symmetric_and_never_above_the_table(sides):
    found = spreading.least_by_source(sides)
    for turned in symmetries(found):
        assert turned.shape != sides or turned.tolist() == found.tolist()
    assert found.min() == minimum(spreading.shape_of(sides))[1].least.min()


@pytest.mark.slow
def test_a_torus_takes_the_shortest_of_what_is_found_from_the_best_sources():
    """On 5x21 the first one that local search makes shorter has 119, another one 118."""
    assert cost("broadcast", "torus:5x21") == cost("broadcast", "mesh:5x21", 49) == 118


@pytest.mark.slow
def test_costs_that_once_differed():
    assert {cost("broadcast", "mesh:7x7x7", root) for root in ("0,0,0", "6,6,6", "6,0,6")} == {361}
    assert cost("broadcast", "mesh:9x12", "0,11") == cost("broadcast", "mesh:12x9", "0,0") == 131
    assert cost("broadcast", "mesh:9x12", "4,5") == cost("broadcast", "mesh:12x9", "6,4")
    assert (
        cost("broadcast", "torus:5x11")
        == cost("broadcast", "torus:11x5", 7)
        == cost("broadcast", "mesh:5x11", "2,5")
        == 59
    )
    assert cost("broadcast", "torus:2x3x5") == cost("broadcast", "torus:5x2x3", 11) == 29


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["torus:8x8", "torus:3x5", "mesh:4x5", "torus:6x4", "torus:5x5", "mesh:3x3x3"])
def test_a_multicast_to_all_is_a_broadcast(spec):
    where = network(spec)
    for root in (0, where.nodes // 3):
        everybody = [v for v in range(where.nodes) if v != root]
        assert cost("multicast", spec, root, targets=everybody) <= cost("broadcast", spec, root)
    assert cost("multicast", "torus:8x8", targets=list(range(1, 64))) == 69


@pytest.mark.long
@pytest.mark.parametrize(
    "shape", sorted({spreading.shape_of(shape) for shape in shapes(64, 13) if len(shape) < 4}), ids=str
)
def test_all_sources_of_meshes_up_to_64_nodes(shape):
    assert_symmetric(shape)
