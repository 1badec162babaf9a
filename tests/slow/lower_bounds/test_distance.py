"""Bounds of the total distance of broadcasts off powers of two, against all broadcasts."""

import pytest

from treecast.lower_bounds import best, bounds
from treecast.models import model
from treecast.plans import plan

OPEN = {
    "ring:29": (48, 47), "ring:30": (51, 49), "ring:31": (54, 51), "ring:32": (57, 53), "ring:64": (135, 122),
    "path:31": (70, 62), "torus:5x5": (25, 24), "torus:3x7": (21, 20), "torus:7x9": (70, 67), "torus:9x12": (121, 107),
    "mesh:7x9": (79, 67),
}  # fmt: skip


@pytest.mark.each(2)
@pytest.mark.parametrize("spec", OPEN)
def test_distances_that_are_open(spec):
    """What docs/explanation/open.md lists: what is planned, and the bound."""
    schedule = plan("broadcast", spec, model="wormhole")
    reached = int(schedule.network.distance(schedule.rows.src, schedule.rows.dst).sum())
    found = bounds(schedule.collective, schedule.network, 1, model("wormhole"))
    assert (reached, best(found, "tcd").value) == OPEN[spec]
