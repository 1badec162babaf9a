"""Ways taken off schedules, and their timetables on any machine."""

import pytest

from tests.plans.ways.test_ways import cells, judged
from treecast import plan

REVIEWED = (
    "star:4",
    "hypercube:4",
    "torus:4x4",
    "mesh:4x4",
    "tree:2,3",
    "complete:8",
    "petersen",
    "debruijn:2,4",
    "fat-tree:4",
)


@pytest.mark.parametrize(("kind", "where", "machine"), cells(REVIEWED))
def test_every_collective_has_a_plan_on_every_machine_of_larger_networks(kind, where, machine):
    judged(plan(kind, where, model=machine))
