"""Scatter in several copies over trees by rule, on tori and meshes that look different over their ports."""

import pytest

from treecast import plan, sweep, verify
from treecast.errors import PlanError


def test_as_many_faults_as_trees():
    schedule = plan("scatter", "torus:3x4", survive=3, builder="disjoint-trees")
    assert verify(schedule).holds
    assert sweep(schedule, 3, "nodes").holds
    with pytest.raises(PlanError):
        plan("scatter", "torus:3x4", survive=4)
    with pytest.raises(PlanError, match="3 copies, to survive 2 dead nodes, need 3 node-disjoint paths; 2,3 has 2"):
        plan("scatter", "mesh:3x4", survive=2, builder="disjoint-trees")
