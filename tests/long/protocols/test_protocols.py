"""Nodes that know only their neighbours say together the sends of the schedule."""

import numpy as np

from tests.tree_cases import TOLD, random_case, schedules
from treecast.papers.protocols import agrees


def test_many_trees():
    rng = np.random.default_rng(8)
    for _ in range(1_000):
        assert all(agrees(schedule) for schedule in schedules(random_case(rng), TOLD))
