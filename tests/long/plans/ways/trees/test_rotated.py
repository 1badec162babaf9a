"""The trees of tori with equal sides that are rotations of one another."""

import pytest

from tests.plans.ways.trees.test_rotated import ALL, assert_as_deep_as_stated
from treecast.networks.grid import Torus
from treecast.plans.ways.trees import rotated


@pytest.mark.parametrize(("axes", "side"), ALL)
def test_trees_of_every_size_for_which_a_depth_is_stated(axes, side):
    assert not rotated.lacks_equal_sides(Torus((side,) * axes))
    assert_as_deep_as_stated(axes, side)
