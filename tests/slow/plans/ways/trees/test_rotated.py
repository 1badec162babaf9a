"""The trees of tori with equal sides that are rotations of one another."""

import pytest

from tests.plans.ways.trees.test_rotated import assert_as_deep_as_stated
from treecast.networks.grid import Torus
from treecast.plans import plan, program
from treecast.plans.ways.trees import rotated

QUICK = [(2, 16), (2, 17), (2, 31), (2, 64), (3, 9), (3, 10), (3, 16), (4, 8)]


@pytest.mark.parametrize(("axes", "side"), QUICK)
def test_trees_of_larger_tori(axes, side):
    assert_as_deep_as_stated(axes, side)


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


def test_program_is_the_nodes_part_of_the_plan():
    whole = plan("broadcast", "torus:8x8", root=2, messages=50)
    assert whole.builder == "disjoint-trees"
    for node in range(whole.network.nodes):
        assert sorted(program("broadcast", "torus:8x8", node, root=2, messages=50)) == sorted(whole.at(node))
