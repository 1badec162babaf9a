"""Scatter in several copies over trees by rule, on tori and meshes that look different over their ports."""

from itertools import product

import pytest

from treecast import bounds, network, plan, sweep, verify
from treecast.errors import PlanError


def test_as_many_faults_as_trees():
    schedule = plan("scatter", "torus:3x4", survive=3, builder="disjoint-trees")
    assert verify(schedule).holds
    assert sweep(schedule, 3, "nodes").holds
    with pytest.raises(PlanError):
        plan("scatter", "torus:3x4", survive=4)
    with pytest.raises(PlanError, match="3 copies, to survive 2 dead nodes, need 3 node-disjoint paths; 2,3 has 2"):
        plan("scatter", "mesh:3x4", survive=2, builder="disjoint-trees")


@pytest.mark.slow
@pytest.mark.each(2)
@pytest.mark.parametrize("spec", ["torus:3x4", "torus:2x5", "mesh:3x4", "mesh:2x3x3"])
def test_every_single_fault_is_survived_from_every_root(spec):
    where = network(spec)
    for root, kind in product(range(where.nodes), ("scatter", "gather")):
        schedule = plan(kind, where, root=root, messages=2, survive=1, builder="disjoint-trees")
        assert verify(schedule).holds
        assert verify(schedule, method="expanded").holds
        for what in ("nodes", "links"):
            found = sweep(schedule, 1, what)
            assert found.holds
            assert found.exhaustive


@pytest.mark.slow
@pytest.mark.parametrize(
    ("copies", "steps", "bound"),
    [(2, 2049, 2048), *(pytest.param(x, *(1024 * x - x // 4,) * 2, marks=pytest.mark.long) for x in (3, 4))],
)
def test_large_tori_are_near_the_bound(copies, steps, bound):
    schedule = plan("scatter", "torus:64x64", copies=copies)
    found = max(b.value for b in bounds("scatter", "torus:64x64", copies=copies) if b.of == "steps")
    assert (schedule.recipe.builder, schedule.steps, found) == ("disjoint-trees", steps, bound)
    assert verify(schedule).holds
