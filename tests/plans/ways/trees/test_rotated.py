"""The trees of tori with equal sides that are rotations of one another."""

from itertools import product

import numpy as np
import pytest

from tests.plans.ways.trees.test_packed import check
from treecast.errors import NetworkError
from treecast.networks import network
from treecast.networks.grid import Torus
from treecast.plans import plan, program
from treecast.plans.ways.trees import directions, rotated
from treecast.schedule.trees import find_shared_arc
from treecast.verification.verifier import verify

SMALL = [(2, 8), (2, 9), (2, 11), (2, 14), (3, 7), (3, 8)]
ALL = [
    *((2, side) for side in range(8, 1025, 2)),
    *((2, side) for side in range(9, 402, 2)),
    *((3, side) for side in range(8, 129, 2)),
    *((3, side) for side in range(7, 64, 2)),
    *((4, side) for side in range(8, 33, 2)),
    *((5, side) for side in range(8, 19, 2)),
    *((6, side) for side in range(8, 13, 2)),
    (7, 8),
]


def assert_as_deep_as_stated(axes, side):
    where = Torus((side,) * axes)
    trees = rotated.rotated_trees(where)
    assert trees.height == rotated.exact_depth(where)
    port = trees.port.astype(np.int32)
    assert find_shared_arc(trees) is None
    every = np.arange(where.nodes)
    for tree in range(where.ports):
        above = np.where(trees.parent[tree] < 0, every, trees.parent[tree])
        there = where.neighbor(above, np.maximum(port[tree], 0))
        assert (there[1:] == every[1:]).all()
        assert trees.parent[tree, 0] == -1


@pytest.mark.parametrize(("axes", "side"), SMALL)
def test_trees_span_share_no_arc_and_are_as_deep_as_stated(axes, side):
    where = Torus((side,) * axes)
    for root in (0, where.nodes // 3):
        trees = rotated.rotated_trees(where, root)
        check(trees, 2 * axes)
        assert [tree.height for tree in trees] == [rotated.exact_depth(where)] * len(trees)


def test_no_other_size_has_such_trees():
    tori = [(n, a) for n, a in product(range(1, 8), range(1, 1100)) if a**n < 2**40]
    known = {(n, a) for n, a in tori if not rotated.lacks_equal_sides(Torus((a,) * n))}
    assert known == set(ALL)
    for spec in ("torus:8x9", "torus:8x8x7", "mesh:8x8", "ring:9", "star:4"):
        assert "equal sides" in rotated.lacks_equal_sides(network(spec))
    with pytest.raises(NetworkError, match="no torus with equal sides"):
        rotated.exact_depth(network("torus:8x9"))


@pytest.mark.parametrize(("axes", "side"), [(2, 8), (2, 9), (3, 7), (3, 8)])
def test_tree_s_is_tree_0_turned_s_times(axes, side):
    """The rotation (x_1 … x_n) -> (-x_n, x_1 …) carries the arcs of each tree to those of the next."""
    where = Torus((side,) * axes)
    trees = rotated.rotated_trees(where)
    x = where.coordinates(np.arange(where.nodes))
    turned = np.ravel_multi_index(
        tuple(np.roll(x, 1, axis=0) * np.r_[-1, [1] * (axes - 1)][:, None] % side), where.sides
    )
    for s in range(2 * axes):
        then = trees.parent[(s + 1) % (2 * axes)]
        assert (then[turned[1:]] == turned[trees.parent[s][1:]]).all()


@pytest.mark.parametrize(
    ("spec", "messages", "steps"),
    [("torus:8x8x8", 600, 112), ("torus:16x16x16", 600, 124), ("torus:9x9", 60, 23), ("torus:64x64", 600, 214)],
)
def test_steps_and_claims(spec, messages, steps):
    schedule = plan("broadcast", spec, messages=messages)
    report = verify(schedule)
    assert report.holds, report.violations
    assert (schedule.builder, schedule.steps, schedule.claims.steps) == ("disjoint-trees", steps, steps)
    assert report.transmissions == schedule.claims.transmissions


def test_backwards_and_expanded():
    for kind in ("broadcast", "reduce", "reduce-broadcast"):
        schedule = plan(kind, "torus:8x8", root=9, messages=20, builder="disjoint-trees")
        for method in ("fast", "expanded"):
            assert verify(schedule, method=method).holds


def test_several_copies_take_the_trees_whose_ways_do_not_meet():
    schedule = plan("broadcast", "torus:8x8", messages=40, copies=4)
    assert schedule.builder != "disjoint-trees"
    assert verify(schedule).holds
    assert directions.exact_depth(schedule.network) > rotated.exact_depth(schedule.network)


QUICK = [(2, 16), (2, 17), (2, 31), (2, 64), (3, 9), (3, 10), (3, 16), (4, 8)]


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "side"), QUICK)
def test_trees_of_larger_tori(axes, side):
    assert_as_deep_as_stated(axes, side)


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "side", "root"), [(2, 8, 5), (2, 9, 0), (3, 7, 0)])
def test_a_node_tells_its_own_place_in_the_trees(axes, side, root):
    where = Torus((side,) * axes)
    trees = rotated.rotated_trees(where, root)
    for node in range(0, where.nodes, 1 if axes == 2 else 7):
        for number, tree in enumerate(trees):
            above = rotated.parent(where, node, number, root)
            assert above == (None if node == root else (tree.parent[node], tree.port[node]))
            assert [v for v, _ in rotated.children(where, node, number, root)] == tree.children(node)
            assert rotated.depth_of(where, node, number, root) == tree.depth[node]


@pytest.mark.slow
def test_program_is_the_nodes_part_of_the_plan():
    whole = plan("broadcast", "torus:8x8", root=2, messages=50)
    assert whole.builder == "disjoint-trees"
    for node in range(whole.network.nodes):
        assert sorted(program("broadcast", "torus:8x8", node, root=2, messages=50)) == sorted(whole.at(node))


@pytest.mark.long
@pytest.mark.parametrize(("axes", "side"), ALL)
def test_trees_of_every_size_for_which_a_depth_is_stated(axes, side):
    assert not rotated.lacks_equal_sides(Torus((side,) * axes))
    assert_as_deep_as_stated(axes, side)
