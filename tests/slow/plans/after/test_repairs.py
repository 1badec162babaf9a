"""Repairs: the new schedule is right on what is left, nobody who still can be reached is lost, and what is said of it is true."""

import random

import pytest

import treecast
from tests.plans.after.test_repairs import KINDS


@pytest.mark.each(7)
@pytest.mark.parametrize(
    "spec", ["torus:4x4", "mesh:3x4", "petersen", "hypercube:4", "star:4", "random-regular:14,3,2"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_repaired_schedules_are_right(kind: str, spec: str) -> None:
    before = treecast.plan(kind, spec, messages=9)
    where, rng = before.network, random.Random(spec)
    for _ in range(3):
        nodes = rng.sample(range(1, where.nodes), rng.randint(0, 1))
        u = rng.randrange(where.nodes)
        link = f"{where.label(u)}-{where.label(rng.choice(where.neighbors(u)))}"
        found = treecast.repair(before, dead_nodes=nodes, cut_links=[link])
        assert treecast.verify(found.schedule)
        assert found.schedule.network.nodes + len(nodes) + len(found.unreached) == where.nodes
        assert set(found.told) <= set(found.schedule.network.labels(range(found.schedule.network.nodes)))
