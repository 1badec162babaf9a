"""Local search: it never makes a broadcast longer, what it finds holds under every order of the axes, and is symmetric."""

from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from tests.plans.wormhole.test_bisection import distances, least
from treecast.kernels.annealing import anneal
from treecast.networks import network
from treecast.plans import plan
from treecast.plans.wormhole import local_search
from treecast.plans.wormhole.bisection import minimum, sends
from treecast.plans.wormhole.eyes import total_distance
from treecast.verification.verifier import verify


def planned(mesh, root):
    return plan("broadcast", mesh, root=root, model="wormhole")


SHORTER = [
    ("mesh:5x5", "0,0", 28),
    ("mesh:5x5", "4,0", 28),
    ("mesh:5x1x5", "0,0,4", 28),
    ("mesh:2x3x5", "1,1,2", 29),
    ("mesh:5x11", "2,5", 59),
]


@pytest.mark.parametrize(("spec", "root", "length"), SHORTER)
def test_shorter_than_by_recursion(spec, root, length):
    mesh = network(spec)
    schedule = planned(mesh, root)
    assert total_distance(mesh, schedule.rows) == length < least(mesh.sides).reshape(-1)[mesh.node(root)]
    assert schedule.steps == (mesh.nodes - 1).bit_length()
    for under in ("wormhole", "wormhole-last", "wormhole,half", "wormhole-last,half"):
        for method in ("fast", "expanded"):
            report = verify(schedule, under, method=method)
            assert report.holds, report.violations


@pytest.mark.parametrize("spec", ["mesh:5x5", "mesh:3x3x3"])
def test_never_longer_than_by_recursion_and_the_same_from_images_of_a_source(spec):
    mesh = network(spec)
    made = np.array([total_distance(mesh, planned(mesh, root).rows) for root in range(mesh.nodes)]).reshape(mesh.sides)
    assert (made <= least(mesh.sides)).all()
    assert (made >= mesh.nodes - 1).all()
    for order in permutations(range(made.ndim)):
        if tuple(made.shape[a] for a in order) == made.shape:
            for flips in product((1, -1), repeat=made.ndim):
                turned = made.transpose(order)[tuple(slice(None, None, f) for f in flips)]
                assert turned.tolist() == made.tolist()


@pytest.mark.parametrize("sides", [(5, 5), (4, 5), (3, 3, 3), (3, 4, 3), (1, 6, 3)], ids=str)
def test_images_of_a_source_are_seen_as_one(sides):
    distance, firsts = distances(sides), set()
    for source in range(prod(sides)):
        first, node = local_search.seen_alike(sides, source)
        assert node[first] == source
        assert sorted(node.tolist()) == list(range(prod(sides)))
        assert (distance[node][:, node] == distance).all()  # a symmetry of the mesh
        assert local_search.seen_alike(sides, first)[0] == first
        firsts.add(first)
    assert len(firsts) == {(5, 5): 6, (4, 5): 6, (3, 3, 3): 4, (3, 4, 3): 6, (1, 6, 3): 6}[sides]


@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (2, 3, 5), (8, 8)], ids=str)
@pytest.mark.parametrize("heat", [0.2, 5.0])
def test_whatever_is_tried_it_stays_a_broadcast_and_counts_its_own_length_and_meetings(shape, heat):
    """Hot, nearly every change is taken; then what comes back is still right, and as long as it says."""
    mesh = network(f"mesh:{'x'.join(map(str, shape))}")
    for root, seed in ((0, 1), (prod(shape) // 2, 2)):
        step, src, dst = sends(*minimum(shape), root)
        parent, when, place = local_search._roles(root, (step, src, dst))
        place[1:] = place[1:][np.random.default_rng(seed).permutation(len(step))]  # much to make better
        axes, strides = np.array(list(permutations(range(len(shape))))), np.array(mesh.strides)
        steps = int(when.max()) + 1
        length = anneal(np.array(shape), strides, axes, parent, when, place, steps, 200_000, heat, heat / 2, 0.5, seed)
        assert length > 0 or heat > 1  # if it is not too hot, one is found in which nothing meets
        assert sorted(place.tolist()) == list(range(prod(shape)))
        assert place[0] == root
        assert (when[1:] > when[parent[1:]]).all()
        assert len(set(zip(parent.tolist(), when.tolist(), strict=True))) == prod(shape)  # nobody sends twice in a step
        assert when.max() < steps
        if length > 0:
            assert distances(shape)[place[1:], place[parent[1:]]].sum() == length
