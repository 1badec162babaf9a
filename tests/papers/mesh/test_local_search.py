"""Local search: it never makes a broadcast longer, what it finds holds under every order of the axes, and is symmetric."""

from itertools import permutations, product
from math import prod

import numpy as np
import pytest

from tests.papers.mesh.test_bisection import distances, least
from treecast.networks import network
from treecast.papers.kernels.annealing import anneal
from treecast.papers.mesh.builders import local_search
from treecast.papers.mesh.builders.bisection import is_contention_free, minimum, sends
from treecast.papers.mesh.builders.eyes import total_distance
from treecast.plans import plan
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


@pytest.mark.each(5)
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


@pytest.mark.each(2)
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


@pytest.mark.each(7)
@pytest.mark.parametrize("shape", [(5, 5), (3, 6), (2, 3, 5), (8, 8)], ids=str)
@pytest.mark.parametrize("heat", [0.2, 5.0])
def test_whatever_is_tried_it_stays_a_broadcast_and_counts_its_own_length(shape, heat, monkeypatch):
    """Hot, nearly every change is taken that lets no messages meet; then what is best is still right, and as long as it says."""
    monkeypatch.setattr(local_search, "_HEAT", heat)
    mesh, distance = network(f"mesh:{'x'.join(map(str, shape))}"), distances(shape)
    axes, coordinate = np.array(list(permutations(range(len(shape))))), np.indices(shape).reshape(len(shape), -1)
    for root, seed in ((0, 1), (prod(shape) // 2, 2)):
        messages = sends(*minimum(shape), root)
        begin = local_search._roles(root, messages)
        now, best = tuple(column.copy() for column in begin), tuple(np.empty_like(column) for column in begin)
        steps = int(messages[0].max()) + 1
        changes = local_search._changes(distance, seed)
        length = anneal(changes, distance, (coordinate, np.array(mesh.strides), axes), now, best, steps, 0)
        assert length <= distance[messages[1], messages[2]].sum()
        assert any((a != b).any() for a, b in zip(begin, now, strict=True))
        for parent, when, place in (now, best):
            assert sorted(place.tolist()) == list(range(prod(shape)))
            assert place[0] == root
            assert (when[1:] > when[parent[1:]]).all()
            assert len(set(zip(parent.tolist(), when.tolist(), strict=True))) == prod(
                shape
            )  # nobody sends twice in a step
            assert when.max() < steps
            assert is_contention_free(mesh, when[1:], place[parent[1:]], place[1:], ("first", "last"))
        parent, _, place = best
        assert distance[place[1:], place[parent[1:]]].sum() == length


def test_nothing_is_tried_where_messages_meet():
    sides, step, src, dst = (4,), np.array([0, 1, 1]), np.array([0, 0, 3]), np.array([3, 2, 1])
    assert local_search.shorten(sides, 0, (step, src, dst), 0)[2] is dst
