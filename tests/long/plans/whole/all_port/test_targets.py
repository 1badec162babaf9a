"""Figures of networks that people have, larger ones: trees of a broadcast, their depth, the steps of 600 messages."""

import pytest

from tests.plans.whole.all_port.test_targets import assert_at_the_bound, assert_met, less_three_links, spelled
from treecast.lower_bounds.depths import least_depth
from treecast.networks import network
from treecast.networks.flows import fewest_ways
from treecast.plans.ways.trees.packed import packed_trees

LARGER = [
    (less_three_links("torus:8x8x8"), 5, 13, 132),
    ("star:6", 5, 9, 128),
    ("slim-fly:13", 19, 4, 35),
    ("torus:3x40x40", 6, 42, 141),
    ("torus:48x80", 4, 65, 214),
]


@pytest.mark.parametrize(("where", "trees", "depth", "steps"), LARGER, ids=[spelled(row[0]) for row in LARGER])
def test_trees_depth_and_steps_of_larger_networks(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


@pytest.mark.parametrize(
    ("spec", "depth", "least"), [("random-regular:100,6,1", 6, 5), ("random-regular:1000,4,1", 10, 9)]
)
def test_depths_that_are_open(spec, depth, least):
    where = network(spec)
    ways = fewest_ways(where, 0).ways
    assert (packed_trees(where, 0, ways).height, least_depth(where, 0, ways)) == (depth, least)


LESS_8 = "torus:8x8x8 without links 1,1,1-1,1,2 2,2,2-2,2,3 3,3,3-3,3,4"


LONG = [
    ("torus:8x8x8", 86, 86, None),
    (LESS_8, 103, 86, None),
    ("mesh:8x8", None, None, 128),
    ("mesh:4x4x4", None, None, 64),
]


@pytest.mark.parametrize("row", LONG, ids=lambda row: spelled(row[0]))
def test_steps_of_one_message_that_take_longer(row):
    assert_at_the_bound(*row)
