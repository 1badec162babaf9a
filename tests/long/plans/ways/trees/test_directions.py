"""The trees of tori that follow from labels: one for each port, and one for each axis of a mesh or torus."""

import numpy as np
import pytest

from treecast.networks import network
from treecast.plans import disjoint_trees
from treecast.plans.ways.trees import axes, directions
from treecast.schedule.trees import find_meeting_ways, find_shared_arc

LARGE = [
    "torus:5x5x5", "torus:6x6x6", "torus:4x6x8", "torus:8x8x8", "torus:9x9", "torus:8x8", "torus:6x10", "torus:3x4x5x6",
    "torus:4x4x4x4", "torus:3x3x3x3x3", "torus:16x16x16", "torus:64x64", "torus:2x2x2x2x2x2x2",
]  # fmt: skip


def check_fast(trees):
    """Assert by other means that many trees span, share no arc and meet nowhere."""
    assert trees.depths.min() >= 0
    port = trees.port.astype(np.int32)
    assert find_shared_arc(trees) is None
    assert find_meeting_ways(trees) is None
    assert (
        trees.network.neighbor(trees.parent, port) == np.where(trees.parent < 0, -1, np.arange(len(trees.parent[0])))
    ).all()


@pytest.mark.parametrize("spec", LARGE)
def test_trees_of_all_ports_on_larger_tori(spec):
    where = network(spec)
    trees = disjoint_trees(where)
    assert len(trees) == where.ports
    check_fast(trees)
    assert trees.height == directions.exact_depth(where)


@pytest.mark.parametrize("spec", ["mesh:4x4", "mesh:8x8", "mesh:4x4x4", "mesh:3x5x7"])
def test_trees_of_axes_are_no_deeper_than_the_eccentricity_at_every_root(spec):
    where = network(spec)
    for root in range(where.nodes):
        trees = axes.axis_trees(where, root)
        check_fast(trees)
        here = where.grid.coordinates(root)
        short = (
            np.maximum(here, np.array(where.sides) - 1 - here) < 2
        ).any()  # the root is in the middle of three nodes
        assert trees.height == max(axes.depths(where, root)) == where.eccentricity(root) + int(short)
