"""Figures of networks that people have: trees of a broadcast, their depth, the steps of 600 messages, and of other collectives.

No depth can be less: it meets the bound, or a solver (OR-Tools) has ruled out all that are less.
An allgather, scatter and alltoall of one message takes the steps of its bound, but for one alltoall.
"""

import pytest

from tests.plans.whole.all_port.test_targets import RANDOM, assert_at_the_bound, assert_met, less_three_links, spelled

TARGETS = [
    ("torus:4x4x4", 6, 7, 106),
    ("torus:8x8x8", 6, 13, 112),
    (less_three_links("torus:4x4x4"), 5, 7, 126),
    ("torus:4x8", 4, 7, 156),
    ("torus:3x5x7", 6, 7, 106),
    ("mesh:4x4", 2, 6, 305),
    ("mesh:8x8", 2, 14, 313),
    ("mesh:4x4x4", 3, 9, 208),
    ("hypercube:6", 6, 7, 106),
    ("hypercube:8", 8, 9, 83),
    ("petersen", 3, 4, 203),
    (RANDOM, 4, 7, 156),
    ("star:4", 3, 6, 205),
    ("star:5", 4, 8, 157),
    ("dragonfly:8,4", 11, 5, 59),
    ("torus:5x5x5", 6, 7, 106),
    ("torus:5x5x5x5", 8, 9, 83),
]


@pytest.mark.each(7)
@pytest.mark.parametrize(("where", "trees", "depth", "steps"), TARGETS, ids=[spelled(row[0]) for row in TARGETS])
def test_trees_depth_and_steps(where, trees, depth, steps):
    assert_met(where, trees, depth, steps)


LESS_4 = "torus:4x4x4 without links 1,1,1-1,1,2 2,2,2-2,2,3 3,3,0-3,3,3"


STEPS = [
    ("torus:4x4", 4, None, None),
    ("torus:4x4x4", 11, 11, 32),
    (LESS_4, 13, 11, 35),
    ("torus:4x8", 8, 8, 32),
    ("torus:3x5x7", 18, 18, 90),
    ("mesh:4x4", 8, 8, 16),
    ("mesh:8x8", 32, 32, None),
    ("mesh:4x4x4", 21, 21, None),
    ("hypercube:6", 11, 11, 32),
    ("hypercube:8", 32, 32, None),
    ("petersen", 3, 3, 5),
    (RANDOM, 6, 6, None),
    ("star:4", 8, 8, 21),
    ("star:5", 30, 30, None),
    ("star:6", 144, 144, None),
    ("dragonfly:8,4", 24, 24, None),
    ("slim-fly:13", 18, 18, None),
]


@pytest.mark.each(7)
@pytest.mark.parametrize("row", STEPS, ids=lambda row: spelled(row[0]))
def test_steps_of_one_message(row):
    assert_at_the_bound(*row)
